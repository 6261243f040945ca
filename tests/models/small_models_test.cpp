// Models unlike a transformer go through the same graph code: counts derived by hand from their layer formulas.
#include <string>

#include "catch.h"

#include "support/small_models.h"

namespace cairn::testing {
namespace {

constexpr loopnest::Sizes k_sizes{.batch = 5};

double saved_elements(const ir::Graph& graph) {
  double total = 0.0;
  for (const ir::TensorId id : graph.saved()) total += static_cast<double>(graph.tensor(id).elements(k_sizes));
  return total;
}

double backward_contraction_flops(const ir::Graph& graph) {
  double total = 0.0;
  for (std::size_t id = graph.forward_count(); id < graph.operators().size(); ++id) {
    const ir::Operator& op = graph.operators()[id];
    if (op.kind == ir::Kind::contraction)
      total += ir::flops({.op = &op, .graph = &graph, .box = op.domain.box(k_sizes)});
  }
  return total;
}

}  // namespace

TEST_CASE("a multilayer perceptron", "[models][small]") {
  const ir::Model model = multilayer_perceptron(7, 16, 4, {.body_layers = 3});
  CHECK(model.parameters() == 8 * 16 + 3 * 17 * 16 + 17 * 4);
  CHECK(model.body_layers() == 3);
  // 2 FLOPs per weight and sample; a body layer needs the input's gradient and the weight's, the entry only the
  // weight's.
  CHECK(model.forward_flops(k_sizes, true) == 2.0 * 5 * (7 * 16 + 3 * 16 * 16 + 16 * 4));
  CHECK(backward_contraction_flops(model.classes[0].graph) == 2.0 * 5 * 7 * 16);
  CHECK(backward_contraction_flops(model.classes[1].graph) == 2.0 * 2.0 * 5 * 16 * 16);
  // A body layer keeps its input for the weights and its output for the rectifier.
  CHECK(saved_elements(model.classes[1].graph) == 5.0 * (16 + 16));
}

TEST_CASE("a convolutional network", "[models][small]") {
  const ir::Model model = convolutional_network(6, 8, 10, {.body_layers = 2});
  CHECK(model.parameters() == 27 * 8 + 2 * 9 * 8 * 8 + (8 * 9 + 1) * 10);
  CHECK(model.forward_flops(k_sizes, true) == 2.0 * 5 * (36 * 27 * 8 + 2 * 36 * 9 * 8 * 8 + 8 * 9 * 10));
  const ir::Graph& entry = model.classes[0].graph;
  const ir::Operator& conv = entry.op(0);
  // Stride 2, window 3: 6 outputs read 2 * 5 + 3 = 13 rows and columns, all of the image; half of them read 7 rows.
  loopnest::Box box = conv.domain.box(k_sizes);
  CHECK(ir::bytes({.op = &conv, .graph = &entry, .box = box}, conv.accesses[0]) == 4.0 * 5 * 3 * 13 * 13);
  box[2] = {.begin = 0, .end = 3};
  CHECK(ir::bytes({.op = &conv, .graph = &entry, .box = box}, conv.accesses[0]) == 4.0 * 5 * 3 * 7 * 13);
  // The exit keeps the pooled maps twice over (for the maximum and for the weights: one tensor), its input and the
  // scores.
  CHECK(saved_elements(model.classes[2].graph) == 5.0 * (8 * 8 * 8 + 8 * 9 + 10));
}

TEST_CASE("a recurrent network shares its weights between steps", "[models][small]") {
  const ir::Model model = recurrent_network(7, 16, 4, {.body_layers = 12});
  CHECK(model.parameters() == 2 * 16 + 4 * 16 * (7 + 16 + 1) + 17 * 4);
  CHECK(model.forward_flops(k_sizes, true) == 2.0 * 5 * (12 * 4 * 16 * (7 + 16) + 16 * 4));
  // A step keeps x and h for the weights, the gates, c and the new c for the cell.
  CHECK(saved_elements(model.classes[1].graph) == 5.0 * (7 + 16 + 4 * 16 + 16 + 16));
}

}  // namespace cairn::testing
