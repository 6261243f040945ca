// The part of TOML 1.0 that configuration files of trainers are written in: tables, keys, texts in one line, numbers,
// booleans, arrays of these, comments. Dates, tables in a line, arrays of tables and texts over several lines are errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "table.h"

namespace cairn::launch {

// Each key with its table, as in parallelism.tensor_parallel_degree; an array has a value for each item. Throws
// core::ConfigurationError with line and column.
std::vector<Argument> read_toml(std::string_view text, const std::string& file_name);

}  // namespace cairn::launch
