#pragma once

#include <string>
#include <vector>

namespace cairn::numerics {

// What parse_format() knows.
std::vector<std::string> format_names();
// Those that values and gradients may have: no integers and no masks.
std::vector<std::string> floating_format_names();

}  // namespace cairn::numerics
