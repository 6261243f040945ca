// The words of proofs and plays, for readers who do not know the literature.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/bound/answer.h"

namespace cairn::report {

struct BoundWord {
  std::string_view word;
  std::string_view meaning;
};

// Those of the words that `methods` use, in a fixed order.
std::vector<BoundWord> bound_words(std::span<const std::string_view> methods);

// Which way the words of several devices go.
const char* counted(const bound::DevicesRow& row);
// What bounds of layers take for granted.
const std::vector<std::string>& assumptions_of_layers();

}  // namespace cairn::report
