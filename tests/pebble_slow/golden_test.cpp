#include "pebble/golden.h"

#include "cairn/pebble/exact.h"
#include "catch.h"

using namespace cairn::pebble;
using cairn::pebble::testing::golden_rows;

TEST_CASE("golden: every row solved, its play verified") {
  const auto rows = golden_rows();
  if (rows.empty()) {
    WARN("skipped: CAIRN_DATA is not set");
    return;
  }
  for (const auto& row : rows) {
    INFO(row.text);
    const Cdag graph = generate(row.graph, row.parameters);
    const ExactResult result = solve_exactly(graph, row.game, row.fast);
    REQUIRE(result.cost.has_value());
    REQUIRE(result.cost->loads == row.loads);
    REQUIRE(result.cost->stores == row.stores);
    REQUIRE(result.lower == row.optimal);
    const Verdict verdict = verify(graph, row.game, row.fast, result.play);
    REQUIRE(verdict.cost.has_value());
    REQUIRE(verdict.cost->loads == row.loads);
    REQUIRE(verdict.cost->stores == row.stores);
  }
}
