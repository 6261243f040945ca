// Orders of dimensions, by hand.
#include "cairn/cost/layout.h"

#include "catch.h"
#include "support/two_products.h"

using namespace cairn;
using namespace cairn::testing;
using namespace cairn::testing::small_models;

namespace {

constexpr loopnest::Sizes k_sizes{.batch = 3, .sequence = 5};

// Probabilities [batch, head, query, key] times values [batch, key, head, channel], a copy to [batch, query, head,
// channel] and a projection: 2 heads of 4 channels, 6 wide.
ir::Graph attention_end() {
  const loopnest::Extent sequence = loopnest::Extent::of(loopnest::Symbol::sequence);
  using Dim = std::pair<const char*, loopnest::Extent>;
  const Dim b{"batch", batch()}, s{"sequence", sequence}, n{"heads", extent(2)}, d{"channels", extent(4)},
      h{"hidden", extent(6)}, k{"key", sequence};
  ir::Graph graph;
  const auto add = [&](const char* name, Dims of, ir::Role role = ir::Role::activation) {
    return tensor(graph, name, of, role, numerics::Format::bf16);
  };
  const ir::TensorId p = add("probabilities", {b, n, s, k}), v = add("values", {b, s, n, d});
  graph.set_inputs({p, v});
  const ir::TensorId by_head = add("by_head", {b, n, s, d}), context = add("context", {b, s, n, d});
  append(graph, operation("context", ir::Kind::contraction, {b, n, s, d, k}, 2.0),
         {read(p, {at(0), at(1), at(2), at(4)}), read(v, {at(0), at(4), at(1), at(3)}),
          accumulate(by_head, {at(0), at(1), at(2), at(3)})});
  append(graph, operation("transpose", ir::Kind::pointwise, {b, n, s, d}, 0.0),
         {read(by_head, {at(0), at(1), at(2), at(3)}), write(context, {at(0), at(2), at(1), at(3)})});
  const ir::TensorId w = add("weight", {n, d, h}, ir::Role::parameter), y = add("y", {b, s, h});
  append(graph, operation("proj", ir::Kind::contraction, {b, s, h, n, d}, 2.0),
         {read(context, {at(0), at(1), at(3), at(4)}), read(w, {at(3), at(4), at(2)}),
          accumulate(y, {at(0), at(1), at(2)})});
  graph.set_outputs({y});
  return graph;
}

}  // namespace

TEST_CASE("layout: two plain products need no copies") {
  const ir::Model model = two_products({});
  const ir::Graph& graph = model.classes[0].graph;
  CHECK(cost::written_layouts(graph, k_sizes, graph.operators().size()).copied_bytes == 0.0);
  CHECK(cost::chosen_layouts(graph, k_sizes, graph.operators().size()).copied_bytes == 0.0);
}

TEST_CASE("layout: the end of attention") {
  // As written, batch and head of the values have no one stride, since tokens lie between them: the values are copied,
  // and so are the results for the projection. Each is 3 x 5 x 2 x 4 elements of two bytes, read and written.
  const ir::Graph graph = attention_end();
  const double bytes = 3 * 5 * 2 * 4 * 2;
  CHECK(cost::written_layouts(graph, k_sizes, 3).copied_bytes == 2 * 2 * bytes);
  const cost::Layouts chosen = cost::chosen_layouts(graph, k_sizes, 3);
  CHECK(chosen.copied_bytes == 0.0);
  // by_head [batch, heads, sequence, channels] and context [batch, sequence, heads, channels] lie alike: positions 1
  // and 2 of the one are 2 and 1 of the other.
  const auto& by_head = chosen.orders[2];
  const auto& context = chosen.orders[3];
  REQUIRE(by_head.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    const int same = context[i] == 1 ? 2 : context[i] == 2 ? 1 : context[i];
    CHECK(static_cast<int>(by_head[i]) == same);
  }
}
