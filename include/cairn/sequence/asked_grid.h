// A grid as it is asked for: what is left open takes every value.
#pragma once

#include <cstdint>
#include <optional>

#include "cairn/sequence/scheme.h"

namespace cairn::sequence {

// Ranks of a 2-d scheme.
struct Sides {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
};

struct AskedGrid {
  std::optional<Sides> sides = {};
  std::optional<std::int64_t> head_ranks = {};   // that split heads
  std::optional<std::int64_t> token_ranks = {};  // that share tokens: rows x columns
  std::optional<std::int64_t> window = {};       // of an inner ring
  std::optional<bool> heads_inner = {};          // whether neighbours split heads

  bool agrees(const Grid& grid) const {
    const auto is = [](const auto& wanted, auto value) { return !wanted || *wanted == value; };
    return is(head_ranks, grid.head_ranks) && is(token_ranks, grid.token_ranks()) && is(window, grid.window) &&
           is(heads_inner, grid.heads_inner) &&
           (!sides || (sides->rows == grid.rows && sides->columns == grid.columns));
  }
};

}  // namespace cairn::sequence
