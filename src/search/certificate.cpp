#include "cairn/search/certificate.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace cairn::search {
namespace {

void sort(std::vector<Cell>& cells) {
  std::sort(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) { return a.first < b.first; });
}

// Where a defect is found nothing is proved.
Verdict defective(std::string defect) { return {.defect = std::move(defect), .lower_bound = std::nullopt}; }

}  // namespace

std::string_view name(CellKind kind) {
  constexpr std::array<std::string_view, k_cell_kinds> k_names{"evaluated", "pruned", "unfit", "illegal", "excluded"};
  return k_names[static_cast<std::size_t>(kind)];
}

Verdict check(std::vector<Cell> cells, std::uint64_t points) {
  sort(cells);
  Verdict verdict;
  std::uint64_t next = 0;
  for (const Cell& cell : cells) {
    if (cell.count == 0) return defective(fmt::format("the cell at point {} is empty", cell.first));
    if (cell.first > next) return defective(fmt::format("points {} to {} are in no cell", next, cell.first - 1));
    if (cell.first < next) return defective(fmt::format("point {} is in two cells", cell.first));
    if (cell.count > points - cell.first)
      return defective(fmt::format("the cell at point {} ends beyond the {} points", cell.first, points));
    next = cell.first + cell.count;
    if (cell.kind != CellKind::evaluated && cell.kind != CellKind::pruned) continue;
    verdict.lower_bound = std::min(verdict.lower_bound.value_or(cell.bound), cell.bound);
  }
  if (next != points) return defective(fmt::format("points {} to {} are in no cell", next, points - 1));
  return verdict;
}

namespace {

// Whether `cell` goes into the last of `cells`, if it may be joined with another of its kind.
bool joined(const Cell& cell, std::vector<Cell>& cells, bool with_any) {
  if (cells.empty()) return false;
  Cell& last = cells.back();
  if (last.kind != cell.kind || last.first + last.count != cell.first || !(with_any || last.bound == cell.bound))
    return false;
  last.count += cell.count;
  last.bound = std::min(last.bound, cell.bound);
  return true;
}

}  // namespace

void append(const Cell& cell, std::vector<Cell>& cells) {
  if (!joined(cell, cells, cell.kind == CellKind::evaluated)) cells.push_back(cell);
}

std::vector<Cell> merged(std::vector<Cell> cells) {
  sort(cells);
  std::vector<Cell> result;
  for (const Cell& cell : cells)
    if (!joined(cell, result, true)) result.push_back(cell);
  return result;
}

}  // namespace cairn::search
