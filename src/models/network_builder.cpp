#include "network_builder.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "cairn/core/assert.h"
#include "network_operator.h"

namespace cairn::models {
namespace {

using loopnest::Affine;
using loopnest::DimId;
using loopnest::Extent;
using loopnest::Projection;

// FLOPs per point. A product: a multiplication and an addition. Normalisation: sum 1, square and add 2, centre 1,
// divide 1, gain 1, shift 1. Softmax: maximum, subtract, exponential, sum, divide.
constexpr double k_product = 2, k_normalisation = 7, k_softmax = 5;
// An LSTM: four gates, each a product with the input and one with the state.
constexpr std::int64_t k_lstm_products = 8;

struct Function {
  std::string_view name;
  double flops;
};
// Leaky ReLU: compare, multiply. GELU in its tanh form: inner polynomial 5, tanh 1, outer 3. Dropout: mask, scale.
constexpr std::array<Function, 6> k_functions{
    {{"relu", 1}, {"leaky-relu", 2}, {"gelu", 9}, {"tanh", 1}, {"dropout", 2}, {"scale", 1}}};

double flops_of(std::string_view function) {
  const auto* found = std::find_if(k_functions.begin(), k_functions.end(),
                                   [&](const Function& known) { return known.name == function; });
  CAIRN_ASSERT(found != k_functions.end());
  return found->flops;
}

// The dimensions of an operator that moves a window over x: b c, then positions, then taps.
struct Moved {
  Projection input;
  Projection positions;
  NamedSizes output;  // of the positions
  DimId batch = 0, channels = 0;
  NamedSizes taps;
};

Moved move_window(NetworkOperator& op, const NamedSizes& x, const FilterWindow& window) {
  static const std::array<const char*, 3> k_tap_names{"q", "r", "s"};
  const std::size_t rank = window.taps.size();
  CAIRN_ASSERT(x.size() == rank + 2 && rank <= k_tap_names.size() && window.padding.size() == rank);
  Moved moved;
  moved.batch = op.dim(x[0].name, x[0].size);
  moved.channels = op.dim(x[1].name, x[1].size);
  moved.input = loopnest::projection_of({moved.batch, moved.channels});
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t room = x[i + 2].size - window.taps[i] + 2 * window.padding[i];
    CAIRN_ASSERT(room >= 0);
    moved.output.push_back({x[i + 2].name, room / window.stride + 1});
    moved.taps.push_back({k_tap_names[k_tap_names.size() - rank + i], window.taps[i]});
  }
  moved.positions = op.dims(moved.output);
  const Projection taps = op.dims(moved.taps);
  for (std::size_t i = 0; i < rank; ++i) {
    Affine index =
        Affine::of(moved.positions[i].terms[0].dim, static_cast<std::int32_t>(window.stride), -window.padding[i]);
    index.terms.push_back(taps[i].terms[0]);
    moved.input.push_back(index);
  }
  return moved;
}

}  // namespace

ir::TensorId NetworkBuilder::tensor(const std::string& name, const NamedSizes& dims, ir::Role role) {
  ir::Tensor made;
  made.name = name;
  for (const NamedSize& dim : dims) made.dims.push_back({.name = dim.name, .extent = Extent::of(dim.size)});
  made.format = role == ir::Role::index ? numerics::Format::int64 : numerics::Format::fp32;
  made.role = role;
  return graph_.add_tensor(std::move(made));
}

ir::TensorId NetworkBuilder::statistic(const std::string& name, const NamedSizes& dims) {
  ir::Tensor made;
  made.name = name;
  for (const NamedSize& dim : dims) made.dims.push_back({.name = dim.name, .extent = Extent::of(dim.size)});
  made.format = numerics::Format::fp32;
  made.statistic = true;
  return graph_.add_tensor(std::move(made));
}

ir::TensorId NetworkBuilder::input(const std::string& name, const NamedSizes& dims) {
  return inputs_.emplace_back(tensor(name, dims));
}

ir::TensorId NetworkBuilder::indices(const std::string& name, const NamedSizes& dims) {
  return inputs_.emplace_back(tensor(name, dims, ir::Role::index));
}

ir::TensorId NetworkBuilder::parameter(const std::string& name, const NamedSizes& dims) {
  return tensor(name, dims, ir::Role::parameter);
}

NamedSizes NetworkBuilder::dims_of(ir::TensorId tensor) const {
  NamedSizes dims;
  for (const ir::TensorDim& dim : graph_.tensor(tensor).dims) dims.push_back({dim.name, dim.extent.at({})});
  return dims;
}

bool NetworkBuilder::comes_from_outside(ir::TensorId tensor) const {
  return std::find(inputs_.begin(), inputs_.end(), tensor) != inputs_.end();
}

ir::TensorId NetworkBuilder::convolution(const std::string& name, ir::TensorId x, std::int64_t channels,
                                         const FilterWindow& window, Bias bias) {
  const NamedSizes from = dims_of(x);
  NetworkOperator op(*this, name, ir::Kind::contraction, "convolution", k_product);
  const Moved moved = move_window(op, from, window);
  const DimId n = op.dim("n", channels);

  const ir::TensorId weight = parameter(name + ".weight", appended({{"n", channels}, {"c", from[1].size}}, moved.taps));
  Projection filter = loopnest::projection_of({n, moved.channels});
  for (std::size_t i = 0; i < moved.taps.size(); ++i) filter.push_back(Affine::of(moved.input[i + 2].terms[1].dim));
  op.read(x, moved.input).read(weight, filter);
  if (bias == Bias::added) op.addend(parameter(name + ".bias", {{"n", channels}}), loopnest::projection_of({n}));
  const ir::TensorId y = tensor(name, appended({from[0], {"c", channels}}, moved.output));
  op.merge(y, appended(loopnest::projection_of({moved.batch, n}), moved.positions)).append();
  return y;
}

ir::TensorId NetworkBuilder::pool(const std::string& name, Pooling pooling, ir::TensorId x,
                                  const FilterWindow& window) {
  const bool max = pooling == Pooling::max;
  const NamedSizes from = dims_of(x);
  NetworkOperator op(*this, name, ir::Kind::reduce, max ? "max-pool" : "average-pool", 1);
  const Moved moved = move_window(op, from, window);
  const ir::TensorId y = tensor(name, appended({from[0], from[1]}, moved.output));
  op.read(x, moved.input)
      .merge(y, appended(loopnest::projection_of({moved.batch, moved.channels}), moved.positions),
             max ? ir::Monoid::max : ir::Monoid::sum)
      .append();
  return y;
}

ir::TensorId NetworkBuilder::dense(const std::string& name, ir::TensorId x, std::int64_t size, Bias bias) {
  NamedSizes rows = dims_of(x);
  const std::int64_t features = rows.back().size;
  rows.pop_back();
  NetworkOperator op(*this, name, ir::Kind::contraction, "", k_product);
  const Projection row = op.dims(rows);
  const DimId n = op.dim("n", size), k = op.dim("k", features);
  op.read(x, appended(row, loopnest::projection_of({k})));
  op.read(parameter(name + ".weight", {{"n", size}, {"k", features}}), loopnest::projection_of({n, k}));
  if (bias == Bias::added) op.addend(parameter(name + ".bias", {{"n", size}}), loopnest::projection_of({n}));
  const ir::TensorId y = tensor(name, appended(rows, {{"n", size}}));
  op.merge(y, appended(row, loopnest::projection_of({n}))).append();
  return y;
}

ir::TensorId NetworkBuilder::einsum(const std::string& name, std::string_view equation, ir::TensorId a, ir::TensorId b,
                                    std::string_view bias) {
  const std::size_t comma = equation.find(','), arrow = equation.find("->");
  const std::string of_a(equation.substr(0, comma)), of_b(equation.substr(comma + 1, arrow - comma - 1));
  const std::string of_y(equation.substr(arrow + 2));
  const NamedSizes a_dims = dims_of(a), b_dims = dims_of(b);
  CAIRN_ASSERT(of_a.size() == a_dims.size() && of_b.size() == b_dims.size());
  const auto size_of = [&](char letter) {
    const std::size_t in_a = of_a.find(letter), in_b = of_b.find(letter);
    CAIRN_ASSERT(in_a == std::string::npos || in_b == std::string::npos || a_dims[in_a].size == b_dims[in_b].size);
    return in_a != std::string::npos ? a_dims[in_a].size : b_dims[in_b].size;
  };
  std::string letters = of_y;
  for (const char letter : of_a + of_b)
    if (letters.find(letter) == std::string::npos) letters += letter;

  NetworkOperator op(*this, name, ir::Kind::contraction, "", k_product);
  const auto sizes = [&](std::string_view of) {
    NamedSizes result;
    for (const char letter : of) result.push_back({std::string(1, letter), size_of(letter)});
    return result;
  };
  op.dims(sizes(letters));
  const auto at = [&](std::string_view of) {
    Projection result;
    for (const char letter : of) result.push_back(Affine::of(static_cast<DimId>(letters.find(letter))));
    return result;
  };
  op.read(a, at(of_a)).read(b, at(of_b));
  if (!bias.empty()) op.addend(parameter(name + ".bias", sizes(bias)), at(bias));
  const ir::TensorId y = tensor(name, sizes(of_y));
  op.merge(y, at(of_y)).append();
  return y;
}

ir::TensorId NetworkBuilder::embedding(const std::string& name, ir::TensorId index, ir::TensorId table) {
  const NamedSizes rows = dims_of(index), of_table = dims_of(table);
  NetworkOperator op(*this, name, ir::Kind::gather, "", 0);
  const Projection row = op.dims(rows);
  const DimId e = op.dim("e", of_table[1].size);
  CAIRN_ASSERT(!rows.empty() && rows.size() <= 2);
  const DimId v = op.selected("v", of_table[0].size, {row.front().terms[0].dim, row.back().terms[0].dim});
  const ir::TensorId y = tensor(name, appended(rows, {{"e", of_table[1].size}}));
  op.read(table, loopnest::projection_of({v, e}))
      .read(index, row)
      .write(y, appended(row, loopnest::projection_of({e})))
      .append();
  return y;
}

ir::TensorId NetworkBuilder::lower_triangle(const std::string& name, ir::TensorId x) {
  const NamedSizes from = dims_of(x);
  CAIRN_ASSERT(from.size() == 3 && from[1].size == from[2].size);
  const std::int64_t rows = from[1].size, pairs = rows * (rows - 1) / 2;
  NetworkOperator op(*this, name, ir::Kind::gather, "lower-triangle", 0);
  const DimId b = op.dim(from[0].name, from[0].size), p = op.dim("p", pairs);
  const DimId i = op.selected("i", rows, {p}), j = op.selected("j", rows, {p});
  const ir::TensorId y = tensor(name, {from[0], {"p", pairs}});
  op.read(x, loopnest::projection_of({b, i, j})).write(y, loopnest::projection_of({b, p})).append();
  return y;
}

ir::TensorId NetworkBuilder::mean(const std::string& name, ir::TensorId x) {
  const NamedSizes from = dims_of(x);
  NetworkOperator op(*this, name, ir::Kind::reduce, "mean", 1);
  const Projection all = op.dims(from);
  const ir::TensorId y = tensor(name, {from[0], from[1]});
  op.read(x, all).merge(y, {all[0], all[1]}).append();
  return y;
}

ir::TensorId NetworkBuilder::normalise(const std::string& name, const std::string& variant, ir::TensorId x,
                                       std::size_t feature, bool over_rows) {
  const NamedSizes from = dims_of(x);
  NetworkOperator op(*this, name, ir::Kind::reduce, variant, k_normalisation);
  const Projection all = op.dims(from);
  const Projection along{all[feature]};
  const ir::TensorId gain = parameter(name + ".gain", {from[feature]});
  const ir::TensorId shift = parameter(name + ".shift", {from[feature]});
  const ir::TensorId y = tensor(name, from);
  op.read(x, all).read(gain, along).read(shift, along).write(y, all);
  if (over_rows) {
    op.write(statistic(name + ".statistic", {from[feature]}), along);
  } else {
    op.write(statistic(name + ".statistic", without_dim(from, feature)), without_dim(all, feature));
  }
  op.append();
  return y;
}

ir::TensorId NetworkBuilder::batch_norm(const std::string& name, ir::TensorId x) {
  return normalise(name, "batch-norm", x, 1, true);
}

ir::TensorId NetworkBuilder::layer_norm(const std::string& name, ir::TensorId x) {
  return normalise(name, "layer-norm", x, dims_of(x).size() - 1, false);
}

ir::TensorId NetworkBuilder::softmax(const std::string& name, ir::TensorId x) {
  const NamedSizes from = dims_of(x);
  NetworkOperator op(*this, name, ir::Kind::reduce, "softmax", k_softmax);
  const Projection all = op.dims(from);
  const std::size_t last = from.size() - 1;
  const ir::TensorId y = tensor(name, from);
  op.read(x, all)
      .write(y, all)
      .write(statistic(name + ".statistic", without_dim(from, last)), without_dim(all, last))
      .append();
  return y;
}

ir::TensorId NetworkBuilder::lstm(const std::string& name, ir::TensorId x, std::int64_t layers) {
  const NamedSizes from = dims_of(x);
  CAIRN_ASSERT(from.size() == 3);
  const std::int64_t units = from[2].size;
  NetworkOperator op(*this, name, ir::Kind::scan, "lstm", k_product * k_lstm_products);
  const DimId layer = op.dim("layer", layers), seq = op.dim("seq", from[1].size),
              b = op.dim(from[0].name, from[0].size);
  const DimId n = op.dim("n", units), k = op.dim("k", units);
  const ir::TensorId weight =
      parameter(name + ".weight", {{"layer", layers}, {"n", units}, {"k", units}, {"product", k_lstm_products}});
  op.read(x, loopnest::projection_of({b, seq, k}));
  for (std::int64_t product = 0; product < k_lstm_products; ++product)
    op.read(weight, appended(loopnest::projection_of({layer, n, k}), {NetworkOperator::constant(product)}));
  const ir::TensorId y = tensor(name, {from[0], from[1], {"n", units}});
  op.write(y, loopnest::projection_of({b, seq, n})).append();
  return y;
}

ir::TensorId NetworkBuilder::apply(const std::string& name, const std::string& function, ir::TensorId x) {
  NetworkOperator op(*this, name, ir::Kind::pointwise, function, flops_of(function));
  const Projection all = op.dims(dims_of(x));
  const ir::TensorId y = tensor(name, dims_of(x));
  op.read(x, all).write(y, all).append();
  return y;
}

ir::TensorId NetworkBuilder::add(const std::string& name, ir::TensorId a, ir::TensorId b) {
  const std::size_t lacking = dims_of(a).size() - dims_of(b).size();
  NetworkOperator op(*this, name, ir::Kind::pointwise, "add", 1);
  const Projection all = op.dims(dims_of(a));
  const Projection of_b(all.begin() + static_cast<std::ptrdiff_t>(lacking), all.end());
  op.pass(a, all);
  if (graph_.tensor(b).role == ir::Role::parameter)
    op.addend(b, of_b);
  else
    op.pass(b, of_b);
  const ir::TensorId y = tensor(name, dims_of(a));
  op.write(y, all).append();
  return y;
}

}  // namespace cairn::models
