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
// Backward, with x' the normalised input and g the gradient times the gain: x' 2, g 1, the sums of g and of g x' 3, and
// (g - mean g - x' mean(g x')) / deviation 6. Softmax: the sum of dy y 2, (dy - sum) y 2.
constexpr double k_normalisation_backward = 12, k_softmax_backward = 4;
// An LSTM: four gates, each a product with the input and one with the state.
constexpr std::int64_t k_lstm_products = 8;

struct Function {
  std::string_view name;
  double flops;
  double backward_flops;
  enum class Reads : std::uint8_t { nothing, input, result } backward = Reads::result;
};
// Leaky ReLU: compare, multiply. GELU in its tanh form: inner polynomial 5, tanh 1, outer 3; its derivative has the inner
// one and its derivative 9, tanh 1, 1 - tanh^2 2, outer 4, the gradient 1. tanh: 1 - y^2 2, the gradient 1. Dropout: mask,
// scale; its mask is taken for as large as its result.
// Others are one FLOP each as tanh is; sigmoid y (1 - y) times the gradient, erf 2 / sqrt(pi) exp(-x^2), a power
// n x^(n-1). Clip: two comparisons. Piecewise ones: an inner line 2, two comparisons, an outer product.
constexpr std::array k_functions{Function{"relu", 1, 1},
                                 Function{"leaky-relu", 2, 2},
                                 Function{"gelu", 9, 17, Function::Reads::input},
                                 Function{"tanh", 1, 3},
                                 Function{"dropout", 2, 2},
                                 Function{"scale", 1, 1, Function::Reads::nothing},
                                 Function{"sigmoid", 1, 3},
                                 Function{"clip", 2, 3, Function::Reads::input},
                                 Function{"erf", 1, 5, Function::Reads::input},
                                 Function{"exp", 1, 1},
                                 Function{"log", 1, 1, Function::Reads::input},
                                 Function{"sqrt", 1, 2},
                                 Function{"power", 1, 3, Function::Reads::input},
                                 Function{"reciprocal", 1, 3},
                                 Function{"absolute", 1, 1, Function::Reads::input},
                                 Function{"elu", 3, 3},
                                 Function{"softplus", 3, 4, Function::Reads::input},
                                 Function{"hard-sigmoid", 4, 3, Function::Reads::input},
                                 Function{"hard-swish", 5, 5, Function::Reads::input}};

const Function& function_of(std::string_view function) {
  const auto* found = std::find_if(k_functions.begin(), k_functions.end(),
                                   [&](const Function& known) { return known.name == function; });
  CAIRN_ASSERT(found != k_functions.end());
  return *found;
}

// The dimensions of an operator that moves a window over x: b c, then positions, then taps.
struct Moved {
  Projection input;
  Projection positions;
  NamedSizes output;      // of the positions
  Affine group, channel;  // of several groups, and the channel within one; x has them side by side
  NamedSizes taps;
};

constexpr std::array<const char*, 3> k_tap_names{"q", "r", "s"};
const char* tap_name(const FilterWindow& window, std::size_t i) {
  return k_tap_names[k_tap_names.size() - window.taps.size() + i];
}

Moved move_window(NetworkOperator& op, const NamedSizes& x, const FilterWindow& window, std::int64_t groups = 1) {
  const std::size_t rank = window.taps.size();
  CAIRN_ASSERT(x.size() == rank + 2 && rank <= k_tap_names.size() && window.padding.size() == rank);
  Moved moved;
  const DimId batch = op.dim(x[0].name, x[0].size);
  const std::int64_t within = x[1].size / groups;
  if (groups > 1) moved.group = Affine::of(op.dim("g", groups));
  if (groups == 1 || within > 1) moved.channel = Affine::of(op.dim(x[1].name, within));
  moved.input = {Affine::of(batch), moved.group};
  if (groups > 1) moved.input[1].terms[0].stride = static_cast<std::int32_t>(within);
  for (const loopnest::Term& term : moved.channel.terms) moved.input[1].terms.push_back(term);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t reach = window.dilation * (window.taps[i] - 1) + 1;
    const std::int64_t room = x[i + 2].size - reach + 2 * window.padding[i];
    CAIRN_ASSERT(room >= 0);
    moved.output.push_back({x[i + 2].name, room / window.stride + 1});
    moved.taps.push_back({tap_name(window, i), window.taps[i]});
  }
  moved.positions = op.dims(moved.output);
  const Projection taps = op.dims(moved.taps);
  for (std::size_t i = 0; i < rank; ++i) {
    Affine index =
        Affine::of(moved.positions[i].terms[0].dim, static_cast<std::int32_t>(window.stride), -window.padding[i]);
    index.terms.push_back({.dim = taps[i].terms[0].dim, .stride = static_cast<std::int32_t>(window.dilation)});
    moved.input.push_back(index);
  }
  return moved;
}

void name_dims(ir::Tensor& tensor, const NamedSizes& dims) {
  const auto has = [&](const std::string& name) {
    return std::any_of(tensor.dims.begin(), tensor.dims.end(),
                       [&](const ir::TensorDim& dim) { return dim.name == name; });
  };
  for (const NamedSize& dim : dims)
    tensor.dims.push_back({.name = distinct_name(dim.name, has), .extent = Extent::of(dim.size)});
}

}  // namespace

ir::TensorId NetworkBuilder::tensor(const std::string& name, const NamedSizes& dims, ir::Role role) {
  ir::Tensor made;
  made.name = name;
  name_dims(made, dims);
  made.format = role == ir::Role::index ? numerics::Format::int64 : numerics::Format::fp32;
  made.role = role;
  return graph_.add_tensor(std::move(made));
}

ir::TensorId NetworkBuilder::statistic(const std::string& name, const NamedSizes& dims) {
  ir::Tensor made;
  made.name = name;
  name_dims(made, dims);
  made.format = numerics::Format::fp32;
  made.statistic = true;
  return graph_.add_tensor(std::move(made));
}

ir::TensorId NetworkBuilder::input(const std::string& name, const NamedSizes& dims) {
  set_outside(inputs_.emplace_back(tensor(name, dims)));
  return inputs_.back();
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

bool NetworkBuilder::wants_gradient(ir::TensorId tensor) const {
  const auto at = static_cast<std::size_t>(tensor);
  return graph_.tensor(tensor).role != ir::Role::index && (at >= outside_.size() || outside_[at] == 0);
}

void NetworkBuilder::set_outside(ir::TensorId tensor) {
  outside_.resize(graph_.tensors().size(), 0);
  outside_[static_cast<std::size_t>(tensor)] = 1;
}

void NetworkBuilder::add(ir::Operator op) {
  const bool outside = std::all_of(op.accesses.begin(), op.accesses.end(), [](const ir::Access& access) {
    return access.mode != ir::Mode::read || access.gradient == ir::InputGradient::none;
  });
  for (const ir::Access& access : op.accesses)
    if (outside && access.mode != ir::Mode::read) set_outside(access.tensor);
  names_.take(op.name);
  graph_.add_operator(std::move(op));
}

ir::TensorId NetworkBuilder::convolution(const std::string& name, ir::TensorId x, std::int64_t channels,
                                         const FilterWindow& window, Bias bias) {
  NamedSizes filter{{"n", channels}, {"c", dims_of(x)[1].size}};
  for (std::size_t i = 0; i < window.taps.size(); ++i) filter.push_back({tap_name(window, i), window.taps[i]});
  const ir::TensorId weight = parameter(name + ".weight", filter);
  const bool biased = bias == Bias::added;
  return convolution(name, x, weight, biased ? parameter(name + ".bias", {{"n", channels}}) : ir::k_no_tensor, window,
                     1);
}

ir::TensorId NetworkBuilder::convolution(const std::string& name, ir::TensorId x, ir::TensorId weight,
                                         ir::TensorId bias, const FilterWindow& window, std::int64_t groups) {
  const NamedSizes from = dims_of(x);
  const std::int64_t made = dims_of(weight)[0].size;
  NetworkOperator op(*this, name, ir::Kind::contraction, "convolution", k_product);
  const Moved moved = move_window(op, from, window, groups);
  // Where each group makes one channel, the group is the channel.
  Affine n = moved.group;
  if (groups == 1 || made > groups) {
    const DimId within = op.dim("n", made / groups);
    if (groups > 1) n.terms[0].stride = static_cast<std::int32_t>(made / groups);
    n.terms.push_back({.dim = within, .stride = 1});
  }

  Projection filter{n, moved.channel};
  for (std::size_t i = 0; i < moved.taps.size(); ++i) {
    const auto& tap = moved.input[i + 2].terms[1];
    filter.push_back(Affine::of(tap.dim));
  }
  op.read(x, moved.input).read(weight, filter);
  if (bias != ir::k_no_tensor) op.addend(bias, {n});
  const ir::TensorId y = tensor(name, appended({from[0], {"c", made}}, moved.output));
  op.merge(y, appended(Projection{moved.input[0], n}, moved.positions)).append();
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
      .merge(y, appended(Projection{moved.input[0], moved.input[1]}, moved.positions),
             max ? ir::Monoid::max : ir::Monoid::sum);
  if (max)
    op.backward(1, {x, y});
  else
    op.backward(1, {});
  op.append();
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
      .backward(1, {index})
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
  std::vector<std::size_t> positions;
  for (std::size_t dim = 2; dim < dims_of(x).size(); ++dim) positions.push_back(dim);
  return mean(name, x, positions, Averaged::dropped);
}

ir::TensorId NetworkBuilder::mean(const std::string& name, ir::TensorId x, const std::vector<std::size_t>& dims,
                                  Averaged averaged) {
  const NamedSizes from = dims_of(x);
  NetworkOperator op(*this, name, ir::Kind::reduce, "mean", 1);
  const Projection all = op.dims(from);
  NamedSizes to;
  Projection at;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const bool summed = std::find(dims.begin(), dims.end(), i) != dims.end();
    if (summed && averaged == Averaged::dropped) continue;
    to.push_back({from[i].name, summed ? 1 : from[i].size});
    at.push_back(summed ? NetworkOperator::constant(0) : all[i]);
  }
  const ir::TensorId y = tensor(name, to);
  op.read(x, all).merge(y, at).backward(1, {}).append();
  return y;
}

ir::TensorId NetworkBuilder::normalise(const std::string& name, const std::string& variant, ir::TensorId x,
                                       std::size_t feature, bool over_rows, ir::TensorId gain, ir::TensorId shift) {
  const NamedSizes from = dims_of(x);
  NetworkOperator op(*this, name, ir::Kind::reduce, variant, k_normalisation);
  const Projection all = op.dims(from);
  const Projection along{all[feature]};
  const ir::TensorId y = tensor(name, from);
  const ir::TensorId kept =
      statistic(name + ".statistic", over_rows ? NamedSizes{from[feature]} : without_dim(from, feature));
  op.read(x, all).read(gain, along);
  if (shift != ir::k_no_tensor) op.read(shift, along);
  op.write(y, all).write(kept, over_rows ? along : without_dim(all, feature));
  op.backward(k_normalisation_backward, {x, gain, kept}).append();
  return y;
}

ir::TensorId NetworkBuilder::gain_of(const std::string& name, ir::TensorId x, std::size_t feature) {
  return parameter(name + ".gain", {dims_of(x)[feature]});
}

ir::TensorId NetworkBuilder::shift_of(const std::string& name, ir::TensorId x, std::size_t feature) {
  return parameter(name + ".shift", {dims_of(x)[feature]});
}

ir::TensorId NetworkBuilder::batch_norm(const std::string& name, ir::TensorId x) {
  const ir::TensorId gain = gain_of(name, x, 1);
  return batch_norm(name, x, gain, shift_of(name, x, 1));
}

ir::TensorId NetworkBuilder::batch_norm(const std::string& name, ir::TensorId x, ir::TensorId gain,
                                        ir::TensorId shift) {
  return normalise(name, "batch-norm", x, 1, true, gain, shift);
}

ir::TensorId NetworkBuilder::layer_norm(const std::string& name, ir::TensorId x) {
  const std::size_t last = dims_of(x).size() - 1;
  const ir::TensorId gain = gain_of(name, x, last);
  return layer_norm(name, x, gain, shift_of(name, x, last));
}

ir::TensorId NetworkBuilder::layer_norm(const std::string& name, ir::TensorId x, ir::TensorId gain,
                                        ir::TensorId shift) {
  return normalise(name, "layer-norm", x, dims_of(x).size() - 1, false, gain, shift);
}

ir::TensorId NetworkBuilder::softmax(const std::string& name, ir::TensorId x) {
  return softmax(name, x, dims_of(x).size() - 1);
}

ir::TensorId NetworkBuilder::softmax(const std::string& name, ir::TensorId x, std::size_t dim) {
  const NamedSizes from = dims_of(x);
  NetworkOperator op(*this, name, ir::Kind::reduce, "softmax", k_softmax);
  const Projection all = op.dims(from);
  const ir::TensorId y = tensor(name, from);
  op.read(x, all)
      .write(y, all)
      .write(statistic(name + ".statistic", without_dim(from, dim)), without_dim(all, dim))
      .backward(k_softmax_backward, {y})
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
  op.write(y, loopnest::projection_of({b, seq, n}));
  op.backward(k_product * k_lstm_products, {x, weight, y}).append();
  return y;
}

ir::TensorId NetworkBuilder::apply(const std::string& name, const std::string& function, ir::TensorId x) {
  const Function& known = function_of(function);
  NetworkOperator op(*this, name, ir::Kind::pointwise, function, known.flops);
  const Projection all = op.dims(dims_of(x));
  const ir::TensorId y = tensor(name, dims_of(x));
  op.read(x, all).write(y, all);
  if (known.backward == Function::Reads::nothing)
    op.backward(known.backward_flops, {});
  else
    op.backward(known.backward_flops, {known.backward == Function::Reads::input ? x : y});
  op.append();
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
