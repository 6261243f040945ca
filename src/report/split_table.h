// How each operator of a graph is split, as rows of text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn::report {

// `operators`: name and split of each. Where there are more than `most` rows, operators of one split share a row, and so
// many rows are shown; none: no limit.
std::string split_table(const std::vector<std::pair<std::string, std::string>>& operators, std::string_view split,
                        std::optional<std::size_t> most);

// What was found against another cost of the same unit: "2.1 times less than", "4 % less than", "as much as", "1.3 times
// as much as"; words: "less", "as much as".
std::string against(double found, double other, std::string_view less, std::string_view equal);

}  // namespace cairn::report
