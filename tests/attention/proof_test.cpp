#include "attention/small_request.h"
#include "catch.h"

using namespace cairn;
using testing::small_request;

TEST_CASE("attention: what is shown is proved", "[attention]") {
  attention::Request request = small_request();
  request.heads = request.kv_heads = 8;
  attention::Comparison comparison = attention::compare(request);
  attention::prove(comparison);
  std::size_t proved = 0;
  for (const attention::Way& way : comparison.ways) {
    if (!way.proof) continue;
    ++proved;
    INFO(way.scheme->name << ": " << way.proof->fault.value_or(""));
    CHECK(way.proof->holds());
    CHECK(way.proof->grid == way.grid);
    // 4 tokens a rank: 32 x 33 / 2 pairs of each head.
    CHECK(way.proof->pairs == 528 * way.proof->problem.heads);
    CHECK(way.proof->largest_error < 1e-5);
  }
  CHECK(proved == comparison.shown().size());
}

TEST_CASE("attention: large grids are proved in small", "[attention]") {
  const sequence::Scheme& scheme = sequence::scheme("ulysses-2d");
  const sequence::Grid grid{.head_ranks = 4, .rows = 16, .columns = 16, .layout = sequence::Layout::striped};
  const attention::Proof proof =
      attention::prove(scheme, grid, {.tokens = 4096, .heads = 8, .kv_heads = 4, .head_dim = 64}, true);
  CHECK(proof.grid.ranks() == 64);
  CHECK(proof.grid.head_ranks == 4);
  CHECK(proof.grid.rows == 4);
  CHECK(proof.grid.columns == 4);
  CHECK(proof.problem.group() == 2);
  INFO(proof.fault.value_or(""));
  CHECK(proof.holds());
}
