// Sub-layers that read the stream without the result of the one before: its all-reduce runs beside them.
#include "cairn/models/transformer.h"
#include "cairn/plan/lowering.h"
#include "cairn/predict/evaluate/analytic.h"
#include "catch.h"
#include "support/prices.h"

using namespace cairn;

TEST_CASE("Ladder residual: an all-reduce is hidden behind the next sub-layer, up to the larger of the two") {
  models::TransformerConfig config;
  config.layers = 3;
  config.hidden = 16;
  config.heads = 4;
  config.ffn = 32;
  config.vocab = 64;
  config.position = models::PositionEncoding::rope;
  config.bias = false;
  config.residual = models::Residual::ladder;
  const ir::Model model = models::build_transformer(config, {});
  REQUIRE(model.classes.size() == 4);  // embedding, first block, block, head
  plan::Lowering lowering(model, 8, {});
  plan::Strategy s;
  s.tensor = 2;
  s.stage_layers = {3};
  // Each sub-layer computes 100, all of it in one operator; each all-reduce takes m.
  const auto block = [&](core::Picoseconds m, bool asynchronous) {
    s.asynchronous_tensor = asynchronous;
    testing::StatedPricer pricer;
    pricer.of_shard = [](const ir::Shard& shard) {
      return shard.op->name == "qkv" || shard.op->name == "fc1" ? 100 : 0;
    };
    pricer.of_transfer = [m](const program::Transfer&) { return m; };
    predict::PriceTable prices(pricer);
    return predict::Analytic(prices).alone(lowering.forward_block(s, 2));
  };
  // Attention 100, MLP 100 beside the first all-reduce; the second is left to the next block.
  REQUIRE(block(60, true) == 100 + 100 + 60);
  // Attention 100, then transfers one after the other.
  REQUIRE(block(150, true) == 100 + 150 + 150);
  // Awaited at once, nothing is hidden.
  REQUIRE(block(60, false) == 100 + 60 + 100 + 60);
}
