// Megatron-LM's arguments. Names, meanings and defaults: NVIDIA/Megatron-LM at d98e8a6 (2026-08-22),
// megatron/training/arguments.py, argument_utils.py (a field of a dataclass is an argument, true ones with --no- or
// --disable-), training/config/*.py, core/transformer/transformer_config.py, core/model_parallel_config.py,
// core/optimizer/optimizer_config.py.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "table.h"

namespace cairn::launch {

const Table& megatron();

// Parts of the table.
std::vector<Row> megatron_model_rows();
std::vector<Rule> megatron_model_rules();
std::vector<Fixed> megatron_model_fixed();
std::vector<Row> megatron_training_rows();
std::vector<Rule> megatron_training_rules();
std::vector<Fixed> megatron_training_fixed();
std::vector<Row> megatron_strategy_rows();
std::vector<Rule> megatron_strategy_rules();
std::vector<Fixed> megatron_strategy_fixed();
std::vector<Rule> megatron_stage_rules();
std::vector<Rule> megatron_dispatcher_rules();

// Megatron-Core's stages where the ends of the pipeline have fewer layers (core/transformer/transformer_block.py,
// get_num_layers_to_build): those layers are said, or the embedding and the loss stand for a layer each.
struct PipelineEnds {
  bool embedding = false;
  bool loss = false;
  std::optional<std::int64_t> first = {};  // layers of the first device
  std::optional<std::int64_t> last = {};

  bool said() const { return embedding || loss || first || last; }
};
struct PipelineCut {
  std::int64_t layers = 0;
  std::int64_t stages = 1;  // devices
  std::int64_t chunks = 1;  // of each
};
// What a framework calls them, for errors.
struct EndNames {
  const char* embedding = "";
  const char* first = "";
  const char* last = "";
};
// Layers of each of stages x chunks, in the order of the model; empty where the cut leaves a rest.
std::vector<std::int64_t> uneven_stages(const PipelineEnds& ends, const PipelineCut& cut);
// Sets strategy.stages to them, or says why these ends do not go.
void put_uneven_stages(Import& import, const PipelineEnds& ends, const EndNames& names, const config::Place& place,
                       const PipelineCut& cut);

}  // namespace cairn::launch
