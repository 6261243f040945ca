// Patterns of layers, as Megatron-LM writes them: "[0]*3+[1]*58", "([1]*3+[0])*8", or a period.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::launch {

// The list that a Python expression of lists, + and * means; nothing where it is none, or has more than 2^16 items.
std::optional<std::vector<std::int64_t>> layer_pattern(std::string_view text);
// The shortest run-length expression of a list.
std::string pattern_text(const std::vector<std::int64_t>& pattern);

}  // namespace cairn::launch
