// torchtitan's configuration in TOML. Names, meanings and defaults: pytorch/torchtitan at 238fa99 (2026-02), the last
// commit that reads TOML: torchtitan/config/job_config.py, models/llama3/__init__.py and model/model.py,
// models/llama3/infra/parallelize.py, distributed/pipeline_parallel.py, distributed/activation_checkpoint.py.
#pragma once

#include <string>
#include <string_view>

#include "table.h"

namespace cairn::launch {

const Table& torchtitan();
Import read_torchtitan(std::string_view text, const std::string& file_name, const Given& given);
std::string torchtitan_text(const Export& exported);

// Parts of the table.
std::vector<Rule> torchtitan_model_rules();
std::vector<Rule> torchtitan_strategy_rules();

}  // namespace cairn::launch
