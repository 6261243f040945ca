#include "pebble/golden.h"

#include "cairn/pebble/exact.h"
#include "catch.h"
#include "support/share.h"

using namespace cairn::pebble;
using cairn::pebble::testing::golden_rows;

namespace {

constexpr std::size_t k_fast_budget = 30'000;      // states; the rows beyond it are solved in the slow tests
constexpr std::size_t k_rows_within_budget = 800;  // of 921

}  // namespace

TEST_CASE("golden: generators have the tabulated sizes") {
  const auto rows = golden_rows();
  if (rows.empty()) WARN("skipped: CAIRN_DATA is not set");
  for (const auto& row : rows) {
    INFO(row.text);
    const Cdag graph = generate(row.graph, row.parameters);
    REQUIRE(graph.size() == row.vertices);
    REQUIRE(graph.input_count() == row.inputs);
    REQUIRE(graph.output_count() == row.outputs);
    REQUIRE(graph.max_in_degree() == row.max_in_degree);
    REQUIRE(graph.input_words() + graph.stored_output_words() == row.compulsory);
  }
}

TEST_CASE("golden: exact optima, or a lower bound where the budget ends") {
  const auto rows = golden_rows();
  if (rows.empty()) {
    WARN("skipped: CAIRN_DATA is not set");
    return;
  }
  std::size_t solved = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!cairn::test::taken(i)) continue;
    const auto& row = rows[i];
    INFO(row.text);
    const Cdag graph = generate(row.graph, row.parameters);
    const ExactResult result = solve_exactly(graph, row.game, row.fast, k_fast_budget);
    REQUIRE(result.lower <= row.optimal);
    if (!result.cost) continue;
    ++solved;
    REQUIRE(result.cost->loads == row.loads);
    REQUIRE(result.cost->stores == row.stores);
    REQUIRE(result.lower == row.optimal);
    REQUIRE(verify(graph, row.game, row.fast, result.play).cost->total() == row.optimal);
  }
  CHECK(solved >= 9 * k_rows_within_budget / (10 * cairn::test::k_share));
}
