// Least movement of a layer's operators, by hand.
#include "cairn/cost/layer_floor.h"

#include <cmath>

#include "catch.h"
#include "support/spine_models.h"
#include "support/two_products.h"

using namespace cairn;
using namespace cairn::testing;
using namespace cairn::testing::small_models;

namespace {

// z = g(f(x)), element by element over (batch, sequence, hidden 8), in bf16.
ir::Graph two_steps() {
  const loopnest::Extent sequence = loopnest::Extent::of(loopnest::Symbol::sequence);
  const Dims stream{{"batch", batch()}, {"sequence", sequence}, {"hidden", extent(8)}};
  ir::Graph graph;
  const auto add = [&](const char* name) {
    return tensor(graph, name, stream, ir::Role::activation, numerics::Format::bf16);
  };
  const ir::TensorId x = add("x");
  graph.set_inputs({x});
  const ir::TensorId y = add("y");
  append(graph, operation("f", ir::Kind::pointwise, stream, 1.0),
         {read(x, {at(0), at(1), at(2)}), write(y, {at(0), at(1), at(2)})});
  const ir::TensorId z = add("z");
  append(graph, operation("g", ir::Kind::pointwise, stream, 1.0),
         {read(y, {at(0), at(1), at(2)}), write(z, {at(0), at(1), at(2)})});
  graph.set_outputs({z});
  return graph;
}

}  // namespace

TEST_CASE("layer floor: two steps fuse into one when a row fits") {
  // 2 x 4 x 8 elements of two bytes: 128 bytes a tensor. Two elements are at hand at a time: what a step reads and what
  // it writes.
  const ir::Graph graph = two_steps();
  const loopnest::Sizes sizes{.batch = 2, .sequence = 4};
  const cost::LayerFloor floor = cost::layer_floor(graph, sizes, 1000.0, false);
  CHECK(floor.separate == 4 * 128);
  CHECK(floor.fused == 2 * 128);
  CHECK(floor.border == 2 * 128);
  CHECK(floor.lower_bytes == 2 * 128);
  REQUIRE(floor.groups.size() == 1);
  CHECK(floor.groups[0].chip_bytes == 4.0);
  CHECK(floor.unfused == 4 * 128);
  CHECK(floor.flops[static_cast<std::size_t>(cost::OperatorClass::elementwise)] == 2 * 64);

  const cost::LayerFloor tight = cost::layer_floor(graph, sizes, 3.0, false);
  CHECK(tight.groups.size() == 2);
  CHECK(tight.fused == tight.unfused);
  CHECK(tight.lower_bytes == 2 * 128);
}

TEST_CASE("layer floor: a product beyond the chip moves what its loop nest says") {
  // 4,096 tokens, 4,096 x 4,096 weights, 32,768 words on the chip, one more for the zero of a new sum.
  const ir::Model model = two_products({.hidden = 4096, .ffn = 4096});
  const double words = 32768.0, n = 4096.0;
  const cost::LayerFloor floor =
      cost::layer_floor(model.classes[0].graph, {.batch = 1, .sequence = 4096}, 2.0 * words, false);
  const double closed_form = 2.0 * n * n * n / std::sqrt(words + 1.0) - 2.0 * (words + 1.0);
  REQUIRE(floor.operators.size() == 2);
  for (const cost::OperatorFloor& op : floor.operators) {
    CHECK(op.alone_bytes == 3 * 2 * n * n);
    CHECK(op.lower_bytes >= 2.0 * (closed_form - 1.0));
    CHECK(op.lower_bytes <= 2.0 * 1.05 * closed_form);
  }
  // The tensor between the two costs nothing in either: at most its words are missing, twice.
  CHECK(floor.border == 4 * 2 * n * n);
  CHECK(floor.lower_bytes > floor.border);
  CHECK(floor.lower_bytes <= floor.separate);
  CHECK(floor.lower_bytes >= floor.separate - 2.0 * (2 * n * n) - 4.0 * words * 2.0);
}

TEST_CASE("layer floor: at least <= fused <= one by one, and the passes are not fused together") {
  const ir::Model models[] = {two_products({.layers = 1, .bias = true}), small_transformer({}),
                              small_transformer({.tied = true})};
  for (const ir::Model& model : models)
    for (const ir::LayerClass& layer : model.classes)
      for (double chip : {64.0, 1e3, 1e5})
        for (bool backward : {false, true}) {
          const cost::LayerFloor floor = cost::layer_floor(layer.graph, {.batch = 2, .sequence = 8}, chip, backward);
          INFO(model.name << " " << layer.name << " " << chip << (backward ? " backward" : ""));
          CHECK(floor.lower_bytes <= floor.fused);
          CHECK(floor.fused <= floor.fused_rows);
          CHECK(floor.fused_rows <= floor.unfused);
          CHECK(floor.operators.size() == (backward ? layer.graph.operators().size() : layer.graph.forward_count()));
          for (const cost::FusedGroup& group : floor.groups)
            for (const std::size_t i : group.operators)
              CHECK(floor.operators[i].phase == floor.operators[group.operators.front()].phase);
        }
}
