// nanotron's configuration in YAML. Names, meanings and defaults: huggingface/nanotron at 2411b02 (2026-04),
// src/nanotron/config/{config,parallelism_config,models_config}.py, helpers.py, parallel/context.py.
#pragma once

#include <string>
#include <string_view>

#include "table.h"

namespace cairn::launch {

const Table& nanotron();
Import read_nanotron(std::string_view text, const std::string& file_name, const Given& given);
std::string nanotron_text(const Export& exported);

}  // namespace cairn::launch
