// Graphs of loop nests by hand, an operator a call: the dimensions of each tensor and of each domain by name.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cairn/ir/graph.h"

namespace cairn::splits {

using Sized = std::vector<std::pair<std::string, std::int64_t>>;

struct SmallGraph {
  ir::Graph graph;

  ir::TensorId tensor(const std::string& name, const Sized& dims, ir::Role role = ir::Role::activation,
                      bool statistic = false) {
    ir::Tensor added;
    added.name = name;
    added.role = role;
    added.statistic = statistic;
    added.format = numerics::Format::fp32;
    for (const auto& [dim, extent] : dims) added.dims.push_back({.name = dim, .extent = loopnest::Extent::of(extent)});
    return graph.add_tensor(std::move(added));
  }
  ir::TensorId parameter(const std::string& name, const Sized& dims) { return tensor(name, dims, ir::Role::parameter); }
  ir::TensorId statistic(const std::string& name, const Sized& dims) {
    return tensor(name, dims, ir::Role::activation, true);
  }
};

struct Indexed {
  ir::TensorId tensor;
  loopnest::Projection at;
};

// The accesses of a product, and the operator to the graph: y += x weight.
inline void add_product(SmallGraph& to, ir::Operator op, const Indexed& x, const Indexed& weight, const Indexed& y) {
  const auto computed = to.graph.producer(x.tensor) < 0 ? ir::InputGradient::none : ir::InputGradient::computed;
  op.accesses.push_back({.tensor = x.tensor, .projection = x.at, .gradient = computed});
  op.accesses.push_back({.tensor = weight.tensor, .projection = weight.at, .gradient = ir::InputGradient::computed});
  op.accesses.push_back({.tensor = y.tensor, .projection = y.at, .mode = ir::Mode::accumulate});
  to.graph.add_operator(std::move(op));
}

// Y[rows.., n] += X[rows.., k] W[n, k]; returns Y, named after the operator.
inline ir::TensorId add_dense(SmallGraph& to, const std::string& name, ir::TensorId x, std::int64_t rows,
                              std::int64_t n, std::int64_t k) {
  const ir::TensorId w = to.parameter(name + ".w", {{"n", n}, {"k", k}});
  const ir::TensorId y = to.tensor(name + ".y", {{"b", rows}, {"n", n}});
  ir::Operator op;
  op.name = name;
  op.kind = ir::Kind::contraction;
  op.flops_per_point = 2.0;
  for (const auto& [dim, extent] : Sized{{"b", rows}, {"n", n}, {"k", k}})
    op.domain.add(dim, loopnest::Extent::of(extent));
  add_product(to, std::move(op), {x, loopnest::projection_of({0, 2})}, {w, loopnest::projection_of({1, 2})},
              {y, loopnest::projection_of({0, 1})});
  return y;
}

// The same graph whose second product reads the weight of the first, which is of the same shape.
inline ir::Graph tied(const ir::Graph& graph, ir::OperatorId first, ir::OperatorId second) {
  ir::Graph result;
  for (const ir::Tensor& tensor : graph.tensors()) result.add_tensor(tensor);
  for (std::size_t id = 0; id < graph.operators().size(); ++id) {
    ir::Operator op = graph.op(static_cast<ir::OperatorId>(id));
    if (static_cast<ir::OperatorId>(id) == second) op.accesses[1].tensor = graph.op(first).accesses[1].tensor;
    result.add_operator(std::move(op));
  }
  return result;
}

// y = f(x), one FLOP per element.
inline ir::TensorId add_pointwise(SmallGraph& to, const std::string& name, ir::TensorId x) {
  const ir::Tensor like = to.graph.tensor(x);
  ir::Operator op;
  op.name = name;
  op.flops_per_point = 1.0;
  loopnest::Projection projection;
  Sized dims;
  for (const ir::TensorDim& dim : like.dims) {
    projection.push_back(loopnest::Affine::of(op.domain.add(dim.name, dim.extent)));
    dims.emplace_back(dim.name, dim.extent.constant);
  }
  const ir::TensorId y = to.tensor(name + ".y", dims);
  op.accesses.push_back({.tensor = x, .projection = projection, .gradient = ir::InputGradient::computed});
  op.accesses.push_back({.tensor = y, .projection = projection, .mode = ir::Mode::write});
  to.graph.add_operator(std::move(op));
  return y;
}

// y[b, n, h, w] += x[b, c, h + r - 1, w + s - 1] weight[n, c, r, s]: 3 x 3 taps, positions stay.
inline ir::TensorId add_convolution(SmallGraph& to, const std::string& name, ir::TensorId x, std::int64_t n) {
  const ir::Tensor input = to.graph.tensor(x);
  const auto extent = [&](std::size_t dim) { return input.dims[dim].extent.constant; };
  const std::int64_t taps = 3;
  ir::Operator op;
  op.name = name;
  op.kind = ir::Kind::contraction;
  op.variant = "convolution";
  op.flops_per_point = 2.0;
  for (const auto& [dim, size] : Sized{
           {"b", extent(0)}, {"c", extent(1)}, {"h", extent(2)}, {"w", extent(3)}, {"r", taps}, {"s", taps}, {"n", n}})
    op.domain.add(dim, loopnest::Extent::of(size));
  loopnest::Projection window = loopnest::projection_of({0, 1});
  window.push_back({.terms = {{.dim = 2, .stride = 1}, {.dim = 4, .stride = 1}}, .offset = -1});
  window.push_back({.terms = {{.dim = 3, .stride = 1}, {.dim = 5, .stride = 1}}, .offset = -1});
  const ir::TensorId weight = to.parameter(name + ".w", {{"n", n}, {"c", extent(1)}, {"r", taps}, {"s", taps}});
  const ir::TensorId y = to.tensor(name + ".y", {{"b", extent(0)}, {"c", n}, {"h", extent(2)}, {"w", extent(3)}});
  add_product(to, std::move(op), {x, window}, {weight, loopnest::projection_of({6, 1, 4, 5})},
              {y, loopnest::projection_of({0, 6, 2, 3})});
  return y;
}

// (b, c, h, w) to (b, c h w).
inline ir::TensorId add_flatten(SmallGraph& to, const std::string& name, ir::TensorId x) {
  const ir::Tensor input = to.graph.tensor(x);
  ir::Operator op;
  op.name = name;
  op.kind = ir::Kind::opaque;
  op.variant = "reshape";
  for (const ir::TensorDim& dim : input.dims) op.domain.add(dim.name, dim.extent);
  const std::int64_t h = input.dims[2].extent.constant, w = input.dims[3].extent.constant;
  const ir::TensorId y =
      to.tensor(name + ".y", {{"b", input.dims[0].extent.constant}, {"k", input.dims[1].extent.constant * h * w}});
  loopnest::Projection merged = loopnest::projection_of({0});
  merged.push_back({.terms = {{.dim = 1, .stride = static_cast<std::int32_t>(h * w)},
                              {.dim = 2, .stride = static_cast<std::int32_t>(w)},
                              {.dim = 3, .stride = 1}},
                    .offset = 0});
  op.accesses.push_back(
      {.tensor = x, .projection = loopnest::projection_of({0, 1, 2, 3}), .gradient = ir::InputGradient::computed});
  op.accesses.push_back({.tensor = y, .projection = merged, .mode = ir::Mode::write});
  to.graph.add_operator(std::move(op));
  return y;
}

}  // namespace cairn::splits
