// The checker finds every hole, overlap and overhang, and knows nothing of what was found.
#include "cairn/search/certificate.h"

#include "catch.h"

#include <algorithm>

#include "cairn/core/random.h"

using namespace cairn::search;

namespace {

std::vector<Cell> ten_points() {
  return {{.first = 0, .count = 3, .kind = CellKind::pruned, .bound = 50},
          {.first = 3, .count = 1, .kind = CellKind::evaluated, .bound = 40},
          {.first = 4, .count = 2, .kind = CellKind::unfit},
          {.first = 6, .count = 4, .kind = CellKind::excluded}};
}

}  // namespace

TEST_CASE("the bound is the least of what was evaluated or pruned") {
  const Verdict verdict = check(ten_points(), 10);
  CHECK(verdict.defect.empty());
  CHECK(verdict.lower_bound == 40);
}

TEST_CASE("a pruned cell below the best is the bound, whatever was found") {
  auto cells = ten_points();
  cells[0].bound = 30;
  CHECK(check(cells, 10).lower_bound == 30);
}

TEST_CASE("without a plan there is no bound") {
  CHECK_FALSE(check({{.first = 0, .count = 10, .kind = CellKind::illegal}}, 10).lower_bound.has_value());
}

TEST_CASE("cells in any order are as good") {
  auto cells = ten_points();
  std::reverse(cells.begin(), cells.end());
  CHECK(check(cells, 10).lower_bound == 40);
}

TEST_CASE("holes, overlaps and overhangs are found") {
  CHECK(check(ten_points(), 11).defect == "points 10 to 10 are in no cell");
  CHECK(check(ten_points(), 9).defect == "the cell at point 6 ends beyond the 9 points");
  auto cells = ten_points();
  cells.erase(cells.begin() + 1);
  CHECK(check(cells, 10).defect == "points 3 to 3 are in no cell");
  CHECK_FALSE(check(cells, 10).lower_bound.has_value());
  cells = ten_points();
  cells[0].count = 4;
  CHECK(check(cells, 10).defect == "point 3 is in two cells");
  cells = ten_points();
  cells[2].count = 0;
  CHECK(check(cells, 10).defect == "the cell at point 4 is empty");
  CHECK(check({}, 1).defect == "points 0 to 0 are in no cell");
}

TEST_CASE("whatever cell is taken out of a random tiling, the hole is found, and merging keeps the rest") {
  cairn::core::Random random(7);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<Cell> cells;
    std::uint64_t next = 0;
    while (next < 60) {
      const std::uint64_t count = 1 + random.below(7);
      cells.push_back({.first = next,
                       .count = count,
                       .kind = static_cast<CellKind>(random.below(k_cell_kinds)),
                       .bound = static_cast<cairn::core::Picoseconds>(random.below(1000))});
      next += count;
    }
    const Verdict whole = check(cells, next);
    REQUIRE(whole.defect.empty());
    const Verdict joined = check(merged(cells), next);
    CHECK(joined.defect.empty());
    CHECK(joined.lower_bound == whole.lower_bound);
    auto holed = cells;
    holed.erase(holed.begin() + static_cast<std::ptrdiff_t>(random.below(holed.size())));
    CHECK_FALSE(check(holed, next).defect.empty());
  }
}
