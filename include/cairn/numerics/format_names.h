#pragma once

#include <string>
#include <vector>

namespace cairn::numerics {

// What parse_format() knows.
std::vector<std::string> format_names();

}  // namespace cairn::numerics
