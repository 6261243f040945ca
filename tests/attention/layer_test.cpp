#include "cairn/attention/layer.h"

#include "catch.h"

using namespace cairn;

namespace {

const ir::LayerClass& layer() {
  static const ir::LayerClass made = attention::attention_layer({.heads = 4, .kv_heads = 2, .head_dim = 8});
  return made;
}

ir::Shard whole(const ir::LayerClass& layer, ir::OperatorId op, const loopnest::Sizes& sizes) {
  return {.op = &layer.graph.op(op), .graph = &layer.graph, .box = layer.graph.op(op).domain.box(sizes)};
}

}  // namespace

TEST_CASE("attention layer: one operator and its derivative", "[attention]") {
  const ir::Graph& graph = layer().graph;
  REQUIRE(graph.operators().size() == 2);
  CHECK(graph.forward_count() == 1);
  CHECK(graph.inputs().size() == 3);   // queries, keys, values
  CHECK(graph.outputs().size() == 1);  // the context; log-sum-exp stays
  CHECK(graph.op(1).phase == ir::Phase::backward);
  for (const ir::TensorId input : graph.inputs()) CHECK(graph.gradient(input) != ir::k_no_tensor);
}

TEST_CASE("attention layer: FLOPs of unmasked pairs", "[attention]") {
  // 6 tokens: 21 pairs a head and sequence; 4 heads of 8, 2 sequences; 4 FLOP forward and 10 backward for each element.
  const loopnest::Sizes sizes{.batch = 2, .sequence = 6};
  const double pairs = 21.0 * 4.0 * 2.0 * 8.0;
  CHECK(ir::flops(whole(layer(), 0, sizes)) == 4.0 * pairs);
  CHECK(ir::flops(whole(layer(), 1, sizes)) == 10.0 * pairs);
  const ir::LayerClass full = attention::attention_layer({.heads = 4, .kv_heads = 2, .head_dim = 8, .causal = false});
  CHECK(ir::flops(whole(full, 0, sizes)) == 4.0 * 36.0 * 4.0 * 2.0 * 8.0);
}
