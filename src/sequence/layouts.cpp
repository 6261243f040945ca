#include "layouts.h"

namespace cairn::sequence {
namespace {

TokenRun chunk(std::int64_t tokens, std::int64_t chunks, std::int64_t index) {
  const std::int64_t length = tokens / chunks;
  return {.first = index * length, .count = length};
}

}  // namespace

std::string_view name(Layout layout) {
  switch (layout) {
    case Layout::contiguous:
      return "contiguous";
    case Layout::striped:
      return "striped";
    default:
      return "zigzag";
  }
}

std::int64_t chunks_of_rank(Layout layout) { return layout == Layout::zigzag ? 2 : 1; }

Tokens tokens_of(Layout layout, std::int64_t tokens, std::int64_t ranks, std::int64_t rank) {
  switch (layout) {
    case Layout::contiguous:
      return {chunk(tokens, ranks, rank)};
    case Layout::striped:
      return {{.first = rank, .count = tokens / ranks, .stride = ranks}};
    default:
      break;
  }
  const TokenRun low = chunk(tokens, 2 * ranks, rank), high = chunk(tokens, 2 * ranks, 2 * ranks - 1 - rank);
  if (rank + 1 == ranks) return {{.first = low.first, .count = low.count + high.count}};  // high continues low
  return {low, high};
}

}  // namespace cairn::sequence
