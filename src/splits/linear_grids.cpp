#include "cairn/splits/linear_grids.h"

#include <array>

#include "cairn/core/assert.h"

namespace cairn::splits {
namespace {

// Every device of a line of q ends with, or adds up, the blocks of all.
GridMove along_line(LinearOperand operand, bool gradient, bool reduced, bool backward, std::int64_t ranks,
                    double block) {
  return {.operand = operand,
          .gradient = gradient,
          .reduced = reduced,
          .backward = backward,
          .ranks = ranks,
          .received = static_cast<double>(ranks - 1) * block,
          .messages = ranks - 1};
}

}  // namespace

std::string_view name(GridKind kind) {
  constexpr std::array<std::string_view, 4> k_names{"1D", "2D", "2.5D", "3D"};
  return k_names[static_cast<std::size_t>(kind)];
}

std::int64_t LinearGrid::devices() const {
  switch (kind) {
    case GridKind::one:
      return side;
    case GridKind::two:
    case GridKind::two_and_half:
      return depth * side * side;
    case GridKind::three:
      return side * side * side;
  }
  return 0;
}

std::vector<GridMove> moves(const LinearGrid& grid) {
  CAIRN_ASSERT(grid.side >= 1 && grid.depth >= 1 && (grid.kind == GridKind::two_and_half || grid.depth == 1));
  using enum LinearOperand;
  const GridShares kept = [&] {
    const auto devices = static_cast<double>(grid.devices());
    const double layers = static_cast<double>(grid.depth);
    return GridShares{.weight = layers / devices, .activations = 1.0 / devices};
  }();
  const std::int64_t q = grid.side;
  if (grid.kind == GridKind::one) {
    // An all-reduce: a reduce-scatter and an all-gather of parts.
    const double part = 1.0 / static_cast<double>(q);
    return {along_line(output, false, true, false, q, part), along_line(output, false, false, false, q, part)};
  }
  if (grid.kind == GridKind::three)
    return {along_line(input, false, false, false, q, kept.activations),
            along_line(weight, false, false, false, q, kept.weight),
            along_line(output, false, true, false, q, kept.activations),
            along_line(output, true, false, true, q, kept.activations),
            along_line(input, true, true, true, q, kept.activations),
            along_line(weight, true, true, true, q, kept.weight)};
  return {along_line(input, false, false, false, q, kept.activations),
          along_line(weight, false, false, false, q, kept.weight),
          along_line(weight, false, false, true, q, kept.weight),
          along_line(input, true, true, true, q, kept.activations),
          along_line(input, false, false, true, q, kept.activations),
          along_line(weight, true, true, true, q, kept.weight)};
}

GridShares shares(const LinearGrid& grid) {
  const auto devices = static_cast<double>(grid.devices());
  GridShares result{.compute = 1.0 / devices,
                    .weight = static_cast<double>(grid.depth) / devices,
                    .activations = grid.kind == GridKind::one ? 1.0 : 1.0 / devices};
  for (const GridMove& move : moves(grid)) {
    result.received += move.received;
    result.messages += move.messages;
  }
  return result;
}

double published_bandwidth(const LinearGrid& grid) {
  const bool of_line = grid.kind == GridKind::two || grid.kind == GridKind::two_and_half;
  return shares(grid).received * static_cast<double>(of_line ? grid.side : 1);
}

std::vector<LinearGrid> grids_of(std::int64_t devices) {
  std::vector<LinearGrid> result{{.kind = GridKind::one, .side = devices}};
  for (std::int64_t side = 2; side * side <= devices; ++side) {
    if (devices % (side * side) != 0) continue;
    const std::int64_t depth = devices / (side * side);
    result.push_back(depth == 1 ? LinearGrid{.kind = GridKind::two, .side = side}
                                : LinearGrid{.kind = GridKind::two_and_half, .side = side, .depth = depth});
    if (depth == side) result.push_back({.kind = GridKind::three, .side = side});
  }
  return result;
}

}  // namespace cairn::splits
