#include "cairn/sequence/grid_choice.h"

#include <cmath>
#include <string>

#include "cairn/core/diagnostics.h"

namespace cairn::sequence {

namespace {

// Tensors of query heads and of key heads of which a token's share passes.
struct PassedTensors {
  std::int64_t query_heads, key_heads;
};

PassedTensors passed_tensors(GridUse use) {
  constexpr PassedTensors k_forward = {.query_heads = 2, .key_heads = 2};   // Q, O; K, V
  constexpr PassedTensors k_backward = {.query_heads = 3, .key_heads = 4};  // Q, dO, dQ; K, V, dK, dV
  if (use == GridUse::forward) return k_forward;
  return {.query_heads = k_forward.query_heads + k_backward.query_heads,
          .key_heads = k_forward.key_heads + k_backward.key_heads};
}

void check_grid_choice(std::int64_t ranks, std::int64_t group) {
  if (ranks < 1) throw core::ConfigurationError("ranks", std::to_string(ranks) + " ranks", "give at least 1");
  if (group < 1)
    throw core::ConfigurationError("group", std::to_string(group) + " query heads to a key head", "give at least 1");
}

}  // namespace

RealGrid best_real_grid(std::int64_t ranks, std::int64_t group, GridUse use) {
  check_grid_choice(ranks, group);
  const PassedTensors passed = passed_tensors(use);
  const auto p = static_cast<double>(ranks);
  const double columns =
      std::sqrt(static_cast<double>(passed.key_heads) * p / static_cast<double>(passed.query_heads * group));
  return {.rows = p / columns, .columns = columns};
}

// Of neighbouring divisors c < c' the lesser is as near to columns* or nearer where c c' >= columns*^2; these products
// rise along the divisors, and they are compared in whole numbers, so that equal grids are told from better ones.
WholeGrid best_grid(std::int64_t ranks, std::int64_t group, GridUse use) {
  check_grid_choice(ranks, group);
  const PassedTensors passed = passed_tensors(use);
  std::int64_t columns = 1;
  for (std::int64_t next = 2; next <= ranks; ++next) {
    if (ranks % next != 0) continue;
    if (columns * next * passed.query_heads * group >= passed.key_heads * ranks) break;
    columns = next;
  }
  return {.rows = ranks / columns, .columns = columns};
}

}  // namespace cairn::sequence
