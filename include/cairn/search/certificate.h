// Why no plan of a space is better than the one found: the space in cells, each with a number that no plan in it is
// below. Points are numbered (space.h), and a cell is a range of them.
//
//   evaluated   plans whose times were computed, and which fit: the least of them
//   pruned      a time that no plan in the cell is below, whether it fits or not
//   unfit       plans that need more memory than there is
//   illegal     settings that contradict one another, the model or the machine
//   excluded    points that a condition of the space leaves out
//
// The least number of evaluated and pruned cells bounds every plan of the space. check() is told nothing of what the
// search has found: it sees cells and the number of points alone. It proves that every point lies in exactly one cell,
// and so that no legal plan that fits is below the least number, if the numbers and kinds of the cells are true. That
// they are, it does not prove: a pruned cell rests on the bounds of window_bound.h, the others on the conditions of the
// space and on the memory and time that were computed for their plans.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cairn/core/time.h"

namespace cairn::search {

enum class CellKind : std::uint8_t { evaluated, pruned, unfit, illegal, excluded };
inline constexpr std::size_t k_cell_kinds = 5;
std::string_view name(CellKind kind);

struct Cell {
  std::uint64_t first = 0;
  std::uint64_t count = 1;
  CellKind kind = CellKind::pruned;
  core::Picoseconds bound = 0;  // of evaluated and pruned cells
  friend bool operator==(const Cell&, const Cell&) = default;
};

struct Verdict {
  std::string defect = {};                            // empty: the cells are the whole space, no point twice
  std::optional<core::Picoseconds> lower_bound = {};  // none: no plan is legal and fits
};

// `cells` in any order; of a space of so many points.
Verdict check(std::vector<Cell> cells, std::uint64_t points);

// Adds a cell behind those there are. One that begins where the last ends and is of its kind goes into it, where nothing
// is lost: both are evaluated, or both have the same bound.
void append(const Cell& cell, std::vector<Cell>& cells);
// Neighbours of one kind as one cell with the least bound of both. Sorted.
std::vector<Cell> merged(std::vector<Cell> cells);

}  // namespace cairn::search
