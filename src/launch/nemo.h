// NeMo 1's configuration in YAML, of NeMo's examples and of NeMo-Framework-Launcher. Names, meanings and defaults:
// NVIDIA/NeMo at aa00e9d (2025-05), the last commit that interleaves pipelines: nemo/collections/nlp,
// models/language_modeling/megatron_base_model.py and megatron_gpt_model.py, parts/megatron_trainer_builder.py and
// nlp_overrides.py; nemo/core/optim. A key that is absent has the default of that code, or of Megatron-Core's
// configuration, which the keys are handed on to, never the value of an example file. NeMo trains with Megatron-Core:
// an experiment has the profile `megatron`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "table.h"

namespace cairn::launch {

const Table& nemo();
Import read_nemo(std::string_view text, const std::string& file_name, const Given& given);
std::string nemo_text(const Export& exported);

// Parts of the table.
std::vector<Row> nemo_model_rows();
std::vector<Rule> nemo_model_rules();
std::vector<Fixed> nemo_model_fixed();
std::vector<Rule> nemo_dispatcher_rules();
std::vector<Rule> nemo_data_rules();  // what data-parallel ranks hold, in which formats, and when they exchange it

// A key that is true or false, as YAML or Python writes it; `otherwise` where it is absent.
bool nemo_truth(Import& import, std::string_view name, bool otherwise);
const std::vector<Pair>& nemo_yes_no();
// Megatron-Core's layers, not those of NeMo's own.
inline constexpr const char* k_nemo_core = "model.mcore_gpt";
inline constexpr const char* k_nemo_half_weights = "model.megatron_amp_O2";
inline constexpr const char* k_nemo_fsdp = "model.fsdp";

}  // namespace cairn::launch
