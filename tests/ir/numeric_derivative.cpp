// Derivatives against exact differences. Every graph here is a polynomial of degree at most 4 in each tensor, so that
//   f'(0) = ( f(-2) - 8 f(-1) + 8 f(1) - f(2) ) / 12
// holds without remainder, in integers.
#include <fmt/format.h>

#include "cairn/core/random.h"
#include "catch.h"
#include "ir/interpreter.h"
#include "support/small_models.h"

using namespace cairn;
using namespace cairn::testing;
using namespace cairn::testing::small_models;
using testing::Interpreter;

namespace {

constexpr auto k_format = numerics::Format::fp32;

ir::TensorId named(ir::Graph& graph, const std::string& name, ir::Role role, std::vector<std::int64_t> extents) {
  ir::Tensor result;
  result.name = name;
  for (const std::int64_t size : extents)
    result.dims.push_back({fmt::format("{}{}", name, result.dims.size()), extent(size)});
  result.role = role;
  result.format = k_format;
  return graph.add_tensor(std::move(result));
}

class Check {
 public:
  explicit Check(const ir::Graph& graph, loopnest::Sizes sizes = {}) : graph_(graph), sizes_(sizes), random_(7) {
    Interpreter shapes(graph, sizes);
    for (std::size_t id = 0; id < graph.tensors().size(); ++id) {
      start_.push_back(shapes.of(static_cast<ir::TensorId>(id)));
      const ir::Tensor& tensor = graph.tensors()[id];
      const bool given = tensor.role != ir::Role::gradient && graph.producer(static_cast<ir::TensorId>(id)) < 0;
      const bool seed = tensor.role == ir::Role::gradient && graph.producer(static_cast<ir::TensorId>(id)) < 0;
      if (given || seed)
        for (std::int64_t& value : start_.back()) value = static_cast<std::int64_t>(random_.below(7)) - 3;
    }
  }

  void run() {
    Interpreter whole = fresh();
    whole.run(0, graph_.operators().size());
    int compared = 0;
    for (std::size_t id = 0; id < graph_.tensors().size(); ++id) {
      const auto tensor = static_cast<ir::TensorId>(id);
      const ir::TensorId gradient = graph_.gradient(tensor);
      if (graph_.producer(tensor) >= 0 || graph_.tensors()[id].role == ir::Role::gradient ||
          gradient == ir::k_no_tensor)
        continue;
      for (std::size_t element = 0; element < start_[id].size(); ++element) {
        INFO(graph_.tensors()[id].name << " element " << element);
        const std::int64_t twelfth =
            value(id, element, -2) - 8 * value(id, element, -1) + 8 * value(id, element, 1) - value(id, element, 2);
        REQUIRE(twelfth % 12 == 0);
        REQUIRE(whole.of(gradient)[element] == twelfth / 12);
        ++compared;
      }
    }
    REQUIRE(compared > 0);
  }

 private:
  Interpreter fresh() const {
    Interpreter result(graph_, sizes_);
    for (std::size_t id = 0; id < start_.size(); ++id) result.of(static_cast<ir::TensorId>(id)) = start_[id];
    return result;
  }
  // <g, outputs> with one input element moved.
  std::int64_t value(std::size_t tensor, std::size_t element, std::int64_t by) const {
    Interpreter moved = fresh();
    moved.of(static_cast<ir::TensorId>(tensor))[element] += by;
    moved.run(0, graph_.forward_count());
    std::int64_t sum = 0;
    for (const ir::TensorId output : graph_.outputs()) {
      const auto& g = start_[static_cast<std::size_t>(graph_.border_gradient(output))];
      const auto& y = moved.of(output);
      for (std::size_t i = 0; i < y.size(); ++i) sum += g[i] * y[i];
    }
    return sum;
  }

  const ir::Graph& graph_;
  loopnest::Sizes sizes_;
  core::Random random_;
  std::vector<Interpreter::Values> start_;
};

// y[t, n] += x[t, k] w[n, k] (+ v[n])
ir::TensorId product(ir::Graph& graph, ir::TensorId x, ir::TensorId w, const std::string& name, std::int64_t t,
                     std::int64_t n, std::int64_t k, ir::TensorId v = ir::k_no_tensor) {
  const ir::TensorId y = named(graph, name, ir::Role::activation, {t, n});
  ir::Operator op = operation(name, ir::Kind::contraction, {{"t", extent(t)}, {"n", extent(n)}, {"k", extent(k)}}, 2.0);
  op.accesses = {read(x, {at(0), at(2)}), read(w, {at(1), at(2)}), accumulate(y, {at(0), at(1)})};
  if (v != ir::k_no_tensor) op.accesses.push_back(bias(v, {at(1)}));
  graph.add_operator(std::move(op));
  return y;
}

ir::TensorId sum_of(ir::Graph& graph, ir::TensorId a, ir::TensorId b, const std::string& name, std::int64_t t,
                    std::int64_t n) {
  const ir::TensorId y = named(graph, name, ir::Role::activation, {t, n});
  append(graph, operation(name, ir::Kind::pointwise, {{"t", extent(t)}, {"n", extent(n)}}, 1.0),
         {read(a, {at(0), at(1)}, ir::InputGradient::passed), read(b, {at(0), at(1)}, ir::InputGradient::passed),
          write(y, {at(0), at(1)})});
  return y;
}

}  // namespace

TEST_CASE("A chain of products with bias has the gradients its differences show") {
  for (const bool fused : {true, false}) {
    ir::Graph graph;
    const ir::TensorId x = named(graph, "x", ir::Role::activation, {3, 4});
    graph.set_inputs({x});
    const ir::TensorId w = named(graph, "w", ir::Role::parameter, {5, 4});
    const ir::TensorId v = named(graph, "v", ir::Role::parameter, {5});
    const ir::TensorId u = named(graph, "u", ir::Role::parameter, {2, 5});
    const ir::TensorId y = product(graph, x, w, "y", 3, 5, 4, v);
    graph.set_outputs({product(graph, y, u, "z", 3, 2, 5)});
    graph.differentiate({.parameter_gradient = k_format, .fused_accumulation = fused});
    Check(graph).run();
  }
}

TEST_CASE("Residual connections and shared weights sum their gradients") {
  ir::Graph graph;
  const ir::TensorId x = named(graph, "x", ir::Role::activation, {3, 4});
  graph.set_inputs({x});
  const ir::TensorId w = named(graph, "w", ir::Role::parameter, {4, 4});
  const ir::TensorId y = product(graph, x, w, "y", 3, 4, 4);
  const ir::TensorId r = sum_of(graph, y, x, "r", 3, 4);
  const ir::TensorId z = product(graph, r, w, "z", 3, 4, 4);  // the same weights again
  const ir::TensorId q = sum_of(graph, z, r, "q", 3, 4);
  graph.set_outputs({q, r});  // r leaves the layer and is read inside it
  graph.differentiate({.parameter_gradient = k_format});
  Check(graph).run();
}

TEST_CASE("A product of two activations that share an ancestor") {
  ir::Graph graph;
  const ir::TensorId x = named(graph, "x", ir::Role::activation, {3, 4});
  graph.set_inputs({x});
  const ir::TensorId wq = named(graph, "wq", ir::Role::parameter, {2, 4});
  const ir::TensorId wk = named(graph, "wk", ir::Role::parameter, {2, 4});
  const ir::TensorId q = product(graph, x, wq, "q", 3, 2, 4);
  const ir::TensorId k = product(graph, x, wk, "k", 3, 2, 4);
  // scores[i, j] over j <= i, then scores x x: of degree 3 in x.
  const ir::TensorId scores = named(graph, "scores", ir::Role::activation, {3, 3});
  ir::Operator causal =
      operation("scores", ir::Kind::contraction, {{"i", extent(3)}, {"j", extent(3)}, {"d", extent(2)}}, 2.0);
  causal.domain.add_guard(loopnest::Affine{.terms = {{0, 1}, {1, -1}}, .offset = 0});
  append(graph, std::move(causal),
         {read(q, {at(0), at(2)}), read(k, {at(1), at(2)}), accumulate(scores, {at(0), at(1)})});
  const ir::TensorId out = named(graph, "out", ir::Role::activation, {3, 4});
  append(graph, operation("out", ir::Kind::contraction, {{"i", extent(3)}, {"j", extent(3)}, {"d", extent(4)}}, 2.0),
         {read(scores, {at(0), at(1)}), read(x, {at(1), at(2)}), accumulate(out, {at(0), at(2)})});
  graph.set_outputs({out});
  graph.differentiate({.parameter_gradient = k_format});
  Check(graph).run();
}

TEST_CASE("Parts of a tensor whose readers share one gradient; a product added to what is there") {
  // p = x w; y[t, n] += p[t, k] u[n, k]; z[t, n] = y[t, n] + sum of p[t, k + 1] v[n, k], k < 3: the parts overlap.
  ir::Graph graph;
  const ir::TensorId x = named(graph, "x", ir::Role::activation, {3, 4});
  graph.set_inputs({x});
  const ir::TensorId w = named(graph, "w", ir::Role::parameter, {4, 4});
  const ir::TensorId u = named(graph, "u", ir::Role::parameter, {2, 3});
  const ir::TensorId v = named(graph, "v", ir::Role::parameter, {2, 3});
  const ir::TensorId p = product(graph, x, w, "p", 3, 4, 4);
  graph.share_gradient(p);
  const ir::TensorId y = product(graph, p, u, "y", 3, 2, 3);
  const ir::TensorId z = named(graph, "z", ir::Role::activation, {3, 2});
  append(graph, operation("z", ir::Kind::contraction, {{"t", extent(3)}, {"n", extent(2)}, {"k", extent(3)}}, 2.0),
         {read(p, {at(0), loopnest::Affine::of(2, 1, 1)}), read(v, {at(1), at(2)}),
          read(y, {at(0), at(1)}, ir::InputGradient::passed), accumulate(z, {at(0), at(1)})});
  graph.set_outputs({z});
  graph.differentiate({.parameter_gradient = k_format});
  // Two gradients of each product, and no sum over what both of them read.
  REQUIRE(graph.operators().size() == 3 + 3 * 2);
  Check(graph).run();
}

TEST_CASE("A strided convolution with padding by guards") {
  // out[b, o, y] += in[b, i, 2 y + r - 1] w[o, i, r] where 0 <= 2 y + r - 1 < 6
  ir::Graph graph;
  const ir::TensorId in = named(graph, "in", ir::Role::activation, {2, 2, 6});
  graph.set_inputs({in});
  const ir::TensorId w = named(graph, "w", ir::Role::parameter, {3, 2, 3});
  const ir::TensorId out = named(graph, "out", ir::Role::activation, {2, 3, 3});
  ir::Operator op =
      operation("conv", ir::Kind::contraction,
                {{"b", extent(2)}, {"o", extent(3)}, {"y", extent(3)}, {"i", extent(2)}, {"r", extent(3)}}, 2.0);
  op.domain.add_guard(loopnest::Affine{.terms = {{2, 2}, {4, 1}}, .offset = -1});
  op.domain.add_guard(loopnest::Affine{.terms = {{2, -2}, {4, -1}}, .offset = 6});
  append(graph, std::move(op),
         {read(in, {at(0), at(3), window(2, 2, 4, -1)}), read(w, {at(1), at(3), at(4)}),
          accumulate(out, {at(0), at(1), at(2)})});
  graph.set_outputs({out});
  graph.differentiate({.parameter_gradient = k_format});
  Check(graph).run();
}

TEST_CASE("Random chains of products and sums, longer than any reserved storage") {
  core::Random random(11);
  for (int trial = 0; trial < 20; ++trial) {
    constexpr std::int64_t k_width = 2;
    ir::Graph graph;
    const ir::TensorId x = named(graph, "x", ir::Role::activation, {1, k_width});
    graph.set_inputs({x});
    std::vector<ir::TensorId> made{x};
    // Each new tensor reads one or two earlier ones, so gradients meet; all degrees in x and in each weight are 1.
    const int operators = 3 + static_cast<int>(random.below(30));
    for (int i = 0; i < operators; ++i) {
      const ir::TensorId a = made[made.size() - 1 - random.below(std::min<std::size_t>(made.size(), 3))];
      const std::string name = fmt::format("t{}", i);
      if (random.below(2) == 0) {
        made.push_back(product(graph, a, named(graph, name + ".w", ir::Role::parameter, {k_width, k_width}), name, 1,
                               k_width, k_width));
      } else {
        const ir::TensorId b = made[random.below(made.size())];
        made.push_back(sum_of(graph, a, b, name, 1, k_width));
      }
    }
    graph.set_outputs({made.back()});
    graph.differentiate({.parameter_gradient = k_format, .fused_accumulation = random.below(2) == 0});
    Check(graph).run();
  }
}
