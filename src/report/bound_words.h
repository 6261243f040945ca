// The words of proofs and plays, for readers who do not know the literature.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace cairn::report {

struct BoundWord {
  std::string_view word;
  std::string_view meaning;
};

// Those of the words that `methods` use, in a fixed order.
std::vector<BoundWord> bound_words(std::span<const std::string_view> methods);

}  // namespace cairn::report
