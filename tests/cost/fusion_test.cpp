// Fused groups and their tiles, by hand.
#include "cairn/cost/fusion.h"

#include "catch.h"
#include "support/two_products.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

std::vector<cost::FusedGroup> fused(const ir::Graph& graph, std::int64_t tokens, double chip, cost::Fusion fusion) {
  std::vector<char> kept(graph.tensors().size(), 0);
  for (const ir::TensorId id : graph.outputs()) kept[static_cast<std::size_t>(id)] = 1;
  return cost::fuse(graph, {.batch = 1, .sequence = tokens}, chip, graph.forward_count(), kept, fusion);
}

}  // namespace

TEST_CASE("fusion: two products of 64 rows, widths 8, 16, 8") {
  // A tile of b rows holds, in the second product, b x 16 inner values, b x 8 sums and 8 weights that pass by: 200
  // words for b = 8. Rows in and out once, both weights in each of the 8 tiles: 512 + 512 + (128 + 128) x 8 = 3,072
  // words. One by one a matrix of weights stays: 512 + 128 + 1,024 words and 1,024 + 128 + 512, 3,328 in all.
  const ir::Model model = two_products({});
  const ir::Graph& graph = model.classes[0].graph;
  const auto together = fused(graph, 64, 400.0, cost::Fusion::any);
  REQUIRE(together.size() == 1);
  CHECK(together[0].operators == std::vector<std::size_t>{0, 1});
  CHECK(together[0].bytes == 2 * 3072);
  CHECK(together[0].chip_bytes == 2 * 200);
  REQUIRE(together[0].tiles.size() == 1);
  CHECK(together[0].tiles[0] == std::pair<std::string, std::int64_t>("sequence", 8));
  CHECK(cost::moved_bytes(fused(graph, 64, 400.0, cost::Fusion::none)) == 2 * 3328);
  CHECK(cost::moved_bytes(fused(graph, 64, 400.0, cost::Fusion::without_contractions)) == 2 * 3328);

  // One word less and a tile has 4 rows: the weights 16 times are dearer than the inner values.
  CHECK(fused(graph, 64, 398.0, cost::Fusion::any).size() == 2);
  // Room for all weights beside a row (16 inner sums, one of its 8 values, 16 weights): everything once.
  CHECK(cost::moved_bytes(fused(graph, 64, 2.0 * (256 + 33), cost::Fusion::any)) == 2 * (512 + 256 + 512));
}

TEST_CASE("fusion: more room never moves more, and more that may be fused never does") {
  for (std::int64_t tokens : {16, 100})
    for (bool bias : {false, true}) {
      const ir::Model model = two_products({.hidden = 12, .ffn = 20, .bias = bias});
      const ir::Graph& graph = model.classes[0].graph;
      double before = 1e300;
      for (double chip = 64.0; chip < 1e5; chip *= 1.5) {
        const double any = cost::moved_bytes(fused(graph, tokens, chip, cost::Fusion::any));
        CHECK(any <= cost::moved_bytes(fused(graph, tokens, chip, cost::Fusion::none)));
        CHECK(any <= before);
        before = any;
        for (const cost::FusedGroup& group : fused(graph, tokens, chip, cost::Fusion::any))
          CHECK(group.chip_bytes <= chip);
      }
    }
}
