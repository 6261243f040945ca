// Megatron-LM's arguments. Names, meanings and defaults: NVIDIA/Megatron-LM at d98e8a6 (2026-08-22),
// megatron/training/arguments.py, argument_utils.py (a field of a dataclass is an argument, true ones with --no- or
// --disable-), training/config/*.py, core/transformer/transformer_config.py, core/model_parallel_config.py,
// core/optimizer/optimizer_config.py.
#pragma once

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

}  // namespace cairn::launch
