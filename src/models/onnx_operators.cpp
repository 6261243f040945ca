// Nodes of ONNX that compute: which operators of network.h they become.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cairn/core/printable.h"
#include "onnx_importer.h"

namespace cairn::models {
namespace {

using OnnxKind = OnnxOperand::Kind;

// Strides, dilations and padding: far beyond any network, and small enough for every index.
constexpr std::int64_t k_most_window_setting = 1 << 20;

bool equal_in_all_directions(const std::vector<std::int64_t>& list) {
  return std::adjacent_find(list.begin(), list.end(), std::not_equal_to<>()) == list.end();
}

std::vector<std::string> weight_names(std::size_t rank, const std::vector<std::string>& last) {
  std::vector<std::string> names(rank, "g");
  for (std::size_t i = 0; i < std::min(rank, last.size()); ++i) names[rank - 1 - i] = last[last.size() - 1 - i];
  return names;
}

OnnxOperand with_last_two_exchanged(OnnxOperand operand) {
  std::swap(operand.shape[operand.shape.size() - 1], operand.shape[operand.shape.size() - 2]);
  std::swap(operand.axes[operand.axes.size() - 1], operand.axes[operand.axes.size() - 2]);
  return operand;
}

}  // namespace

FilterWindow OnnxImporter::window(const OnnxNode& node, const Shape& from, const Shape& taps) const {
  const std::size_t rank = taps.size();
  const auto setting = [&](const std::string& name, std::size_t count, std::int64_t least, std::int64_t fallback) {
    const Shape list = integers(node, name).value_or(Shape(count, fallback));
    const bool fits = list.size() == count && std::all_of(list.begin(), list.end(), [&](std::int64_t each) {
                        return each >= least && each <= k_most_window_setting;
                      });
    if (!fits)
      refuse(node, fmt::format("{} are {}", name, onnx_shape_text(list)),
             fmt::format("{} numbers from {} to {} are due", count, least, k_most_window_setting));
    return list;
  };
  const Shape strides = setting("strides", rank, 1, 1), dilations = setting("dilations", rank, 1, 1);
  Shape pads = setting("pads", 2 * rank, 0, 0);
  if (!equal_in_all_directions(strides) || !equal_in_all_directions(dilations))
    refuse(node, fmt::format("strides {} and dilations {}", onnx_shape_text(strides), onnx_shape_text(dilations)),
           "each must be the same in all directions");
  FilterWindow result{.taps = taps, .stride = strides.front(), .padding = {}, .dilation = dilations.front()};
  const std::string automatic = text(node, "auto_pad", "NOTSET");
  constexpr std::array<std::string_view, 4> k_automatic{"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
  if (std::find(k_automatic.begin(), k_automatic.end(), automatic) == k_automatic.end())
    refuse(node, fmt::format("auto_pad is {}", core::quoted(automatic)), "give a file that onnx.checker accepts");
  for (std::size_t i = 0; i < rank; ++i) {
    if (taps[i] < 1 || taps[i] > k_most_window_setting)
      refuse(node, fmt::format("a window of {}", onnx_shape_text(taps)), "take as many elements as the input has");
    const std::int64_t reach = result.dilation * (taps[i] - 1) + 1, size = from[i + 2], stride = result.stride;
    if (automatic == "VALID") pads[i] = pads[i + rank] = 0;
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const std::int64_t total = std::max<std::int64_t>(0, ((size - 1) / stride) * stride + reach - size);
      pads[i] = total / 2;
      pads[i + rank] = total - pads[i];
    }
    if (pads[i] != pads[i + rank])
      refuse(node, fmt::format("is padded by {} and {} on the two sides", pads[i], pads[i + rank]),
             "padding must be the same on both");
    const std::int64_t room = size + 2 * pads[i] - reach;
    if (room < 0)
      refuse(node, fmt::format("a window that reaches over {} of {} elements", reach, size + 2 * pads[i]),
             "make the input larger");
    if (integer(node, "ceil_mode", 0) != 0 && room % stride != 0)
      refuse(node, "ceil_mode adds a position beyond the edge", "export it without, or with padding");
    result.padding.push_back(pads[i]);
  }
  return result;
}

void OnnxImporter::convolution(const OnnxNode& node) {
  const ir::TensorId x = values(node, 0);
  const Shape from = shape_of(x);
  const OnnxOperand weight = input(node, 1);
  const std::int64_t groups = integer(node, "group", 1);
  if (from.size() < 3 || from.size() > 5 || weight.shape.size() != from.size())
    refuse(node, fmt::format("an input {} with a weight {}", onnx_shape_text(from), onnx_shape_text(weight.shape)),
           "convolutions have from one to three dimensions of positions");
  if (groups < 1 || from[1] % groups != 0 || weight.shape[0] % groups != 0 || weight.shape[1] != from[1] / groups)
    refuse(node,
           fmt::format("an input {} with a weight {} in {} groups", onnx_shape_text(from),
                       onnx_shape_text(weight.shape), groups),
           "the weight must have (output channels, input channels / groups, taps)");
  const Shape taps(weight.shape.begin() + 2, weight.shape.end());
  if (integers(node, "kernel_shape").value_or(taps) != taps)
    refuse(node, "kernel_shape is not that of the weight", "leave it out");
  if (groups > 1 && weight.shape[1] > 1 && weight.shape[0] > groups && taps.size() == 3)
    refuse(node, "a convolution of volumes in groups of several channels", "a loop nest has at most nine dimensions");
  const FilterWindow moved = window(node, from, taps);
  Shape to{from[0], weight.shape[0]};
  for (std::size_t i = 0; i < taps.size(); ++i)
    to.push_back((from[i + 2] + 2 * moved.padding[i] - moved.dilation * (taps[i] - 1) - 1) / moved.stride + 1);
  check_shape(node, to);
  std::vector<std::string> names{"n", "c", "q", "r", "s"};
  names.erase(names.begin() + 2, names.begin() + 5 - static_cast<std::ptrdiff_t>(taps.size()));
  const ir::TensorId filter = parameter(node, 1, weight.shape, names);
  const bool biased = !input(node, 2).is(OnnxKind::absent);
  const ir::TensorId bias = biased ? parameter(node, 2, {weight.shape[0]}, {"n"}) : ir::k_no_tensor;
  make(node, net_.convolution(node.name, x, filter, bias, moved, groups));
}

void OnnxImporter::pooling(const OnnxNode& node) {
  const ir::TensorId x = values(node, 0);
  const Shape from = shape_of(x);
  const Shape taps = integers(node, "kernel_shape").value_or(Shape{});
  if (from.size() < 3 || from.size() > 5 || taps.size() + 2 != from.size())
    refuse(node, fmt::format("an input {} with a window {}", onnx_shape_text(from), onnx_shape_text(taps)),
           "poolings have from one to three dimensions of positions");
  const FilterWindow moved = window(node, from, taps);
  Shape to{from[0], from[1]};
  for (std::size_t i = 0; i < taps.size(); ++i)
    to.push_back((from[i + 2] + 2 * moved.padding[i] - moved.dilation * (taps[i] - 1) - 1) / moved.stride + 1);
  check_shape(node, to);
  const Pooling pooling = node.type == "MaxPool" ? Pooling::max : Pooling::average;
  make(node, net_.pool(node.name, pooling, x, moved));
}

void OnnxImporter::global_pooling(const OnnxNode& node) {
  const ir::TensorId x = values(node, 0);
  const Shape from = shape_of(x);
  if (from.size() < 3) refuse(node, fmt::format("an input {}", onnx_shape_text(from)), "it has no positions");
  std::vector<std::size_t> positions;
  for (std::size_t i = 2; i < from.size(); ++i) positions.push_back(i);
  if (node.type == "GlobalAveragePool")
    return make(node, net_.mean(node.name, x, positions, NetworkBuilder::Averaged::kept));
  if (from.size() > 5) refuse(node, fmt::format("an input {}", onnx_shape_text(from)), "at most three are positions");
  make(node, net_.pool(node.name, Pooling::max, x,
                       {.taps = {from.begin() + 2, from.end()}, .padding = Shape(from.size() - 2, 0)}));
}

void OnnxImporter::multiply(const OnnxNode& node, const OnnxOperand& a, const OnnxOperand& b,
                            const OnnxOperand& addend) {
  const std::size_t rank_a = a.shape.size(), rank_b = b.shape.size(), rank = std::max(rank_a, rank_b);
  bool fits = rank_a >= 2 && rank_b >= 2 && a.shape[rank_a - 1] == b.shape[rank_b - 2];
  Shape to;
  for (std::size_t i = 0; fits && i + 2 < rank; ++i) {
    const std::int64_t of_a = i + rank_a < rank ? 1 : a.shape[i + rank_a - rank];
    const std::int64_t of_b = i + rank_b < rank ? 1 : b.shape[i + rank_b - rank];
    fits = of_a == of_b || of_a == 1 || of_b == 1;
    to.push_back(std::max(of_a, of_b));
  }
  if (!fits)
    refuse(node, fmt::format("a product of {} and {}", onnx_shape_text(a.shape), onnx_shape_text(b.shape)),
           "(.., m, k) and (.., k, n) are due");
  if (!a.is(OnnxKind::activation) && !b.is(OnnxKind::activation))
    refuse(node, "a product of two parameters", "fold constants in the file");
  to.push_back(a.shape[rank_a - 2]);
  to.push_back(b.shape[rank_b - 1]);
  check_shape(node, to);
  const Operand left = operand(node, a, weight_names(rank_a, {"m", "k"}));
  const Operand right = operand(node, b, weight_names(rank_b, {"k", "n"}));
  Operand added;
  if (!addend.is(OnnxKind::absent)) {
    bool repeats = addend.shape.size() <= to.size();
    for (std::size_t i = 0; repeats && i < addend.shape.size(); ++i) {
      const std::int64_t size = addend.shape[addend.shape.size() - 1 - i];
      repeats = size == 1 || size == to[to.size() - 1 - i];
    }
    if (!repeats || !addend.is(OnnxKind::weight))
      refuse(node, fmt::format("adds {} to {}", onnx_shape_text(addend.shape), onnx_shape_text(to)),
             "a parameter that repeats itself is due");
    added = operand(node, addend, weight_names(addend.shape.size(), {"m", "n"}));
  }
  make(node, net_.product(node.name, left, right, added));
}

void OnnxImporter::gemm(const OnnxNode& node) {
  OnnxOperand a = input(node, 0), b = input(node, 1), c = input(node, 2);
  if (a.shape.size() != 2 || b.shape.size() != 2)
    refuse(node, fmt::format("a product of {} and {}", onnx_shape_text(a.shape), onnx_shape_text(b.shape)),
           "two matrices are due");
  for (OnnxOperand* each : {&a, &b})
    if (!each->is(OnnxKind::activation) && !each->is(OnnxKind::weight))
      refuse(node, "a product with a constant", "store it as an initializer");
  if (integer(node, "transA", 0) != 0) a = with_last_two_exchanged(std::move(a));
  if (integer(node, "transB", 0) != 0) b = with_last_two_exchanged(std::move(b));
  if (c.is(OnnxKind::constant) && c.elements() == 1) c = {};
  multiply(node, a, b, c);
}

void OnnxImporter::matrix_product(const OnnxNode& node) { multiply(node, input(node, 0), input(node, 1), {}); }

bool OnnxImporter::is_single(const OnnxOperand& operand, const OnnxOperand& beside) const {
  if (operand.is(OnnxKind::constant)) return operand.elements() == 1;
  if (!operand.is(OnnxKind::weight) || operand.elements() != 1) return false;
  // The bias of a layer of one unit is a parameter.
  return operand.fixed || beside.shape.empty() || beside.shape.back() != 1;
}

void OnnxImporter::check_keeps_rank(const OnnxNode& node, const OnnxOperand& single, const OnnxOperand& beside) const {
  if (single.shape.size() > beside.shape.size())
    refuse(node,
           fmt::format("a number of shape {} adds dimensions to {}", onnx_shape_text(single.shape),
                       onnx_shape_text(beside.shape)),
           "store the number without dimensions");
}

void OnnxImporter::combine(const OnnxNode& node) {
  const OnnxOperand a = input(node, 0), b = input(node, 1);
  const std::string function(find_onnx_operator(node.type)->function);
  if (node.inputs.size() != 2) refuse(node, fmt::format("{} inputs", node.inputs.size()), "two are due");
  if (a.is(OnnxKind::absent) || b.is(OnnxKind::absent)) refuse(node, "reads what is not modelled", "leave it out");
  if (!a.is(OnnxKind::activation) && !b.is(OnnxKind::activation))
    refuse(node, "computes with parameters alone", "fold constants in the file");
  const bool scales = function == "mul" || function == "div";
  if (is_single(b, a)) {
    check_keeps_rank(node, b, a);
    const ir::TensorId x = values(node, 0);
    return make(node, scales ? net_.apply(node.name, "scale", x) : net_.offset(node.name, x));
  }
  if (is_single(a, b)) {
    check_keeps_rank(node, a, b);
    const ir::TensorId x = values(node, 1);
    if (function == "div") return make(node, net_.apply(node.name, "reciprocal", x));
    return make(node, scales || function == "sub" ? net_.apply(node.name, "scale", x) : net_.offset(node.name, x));
  }
  const std::size_t rank = std::max(a.shape.size(), b.shape.size());
  Shape to;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t of_a = i + a.shape.size() < rank ? 1 : a.shape[i + a.shape.size() - rank];
    const std::int64_t of_b = i + b.shape.size() < rank ? 1 : b.shape[i + b.shape.size() - rank];
    if (of_a != of_b && of_a != 1 && of_b != 1)
      refuse(node, fmt::format("operands {} and {}", onnx_shape_text(a.shape), onnx_shape_text(b.shape)),
             "equal dimensions are due, or one of 1");
    to.push_back(std::max(of_a, of_b));
  }
  check_shape(node, to);
  const auto names = [&](const OnnxOperand& own, const OnnxOperand& other) {
    std::vector<std::string> result(own.shape.size(), "u");
    if (!other.is(OnnxKind::activation)) return result;
    const NamedSizes dims = net_.dims_of(other.tensor);
    for (std::size_t i = 0; i < std::min(result.size(), dims.size()); ++i)
      result[result.size() - 1 - i] = dims[dims.size() - 1 - i].name;
    return result;
  };
  const Operand left = operand(node, a, names(a, b)), right = operand(node, b, names(b, a));
  make(node, net_.combine(node.name, function, left, right));
}

void OnnxImporter::apply(const OnnxNode& node) {
  const std::string function(find_onnx_operator(node.type)->function);
  check_settings(node);
  if (node.type == "Pow") {
    const OnnxOperand exponent = input(node, 1);
    if (exponent.is(OnnxKind::absent) || exponent.elements() != 1)
      refuse(node, "a power of many exponents", "one constant is due");
    check_keeps_rank(node, exponent, input(node, 0));
  }
  make(node, net_.apply(node.name, function, values(node, 0)));
}

void OnnxImporter::batch_norm(const OnnxNode& node) {
  check_settings(node);
  const ir::TensorId x = values(node, 0);
  const Shape from = shape_of(x);
  if (from.size() < 2) refuse(node, fmt::format("an input {}", onnx_shape_text(from)), "it has no channels");
  const ir::TensorId gain = parameter(node, 1, {from[1]}, {"c"});
  make(node, net_.batch_norm(node.name, x, gain, parameter(node, 2, {from[1]}, {"c"})));
}

void OnnxImporter::layer_norm(const OnnxNode& node) {
  const ir::TensorId x = values(node, 0);
  const Shape from = shape_of(x);
  if (from.size() < 2 || dimension(node, integer(node, "axis", -1), from.size()) + 1 != from.size())
    refuse(node, "normalises over other dimensions than the last", "merge them into one");
  const ir::TensorId gain = parameter(node, 1, {from.back()}, {"e"});
  const bool shifted = !input(node, 2).is(OnnxKind::absent);
  make(node, net_.layer_norm(node.name, x, gain, shifted ? parameter(node, 2, {from.back()}, {"e"}) : ir::k_no_tensor));
}

void OnnxImporter::softmax(const OnnxNode& node) {
  // Before this version the dimensions from the axis on were one.
  constexpr std::int64_t k_opset_of_one_axis = 13;
  const bool merges = graph_.opset < k_opset_of_one_axis;
  const ir::TensorId x = values(node, 0);
  const Shape from = shape_of(x);
  if (from.size() < 2) refuse(node, fmt::format("an input {}", onnx_shape_text(from)), "it has no rows");
  const std::size_t dim = dimension(node, integer(node, "axis", merges ? 1 : -1), from.size());
  for (std::size_t i = dim + 1; merges && i < from.size(); ++i)
    if (from[i] != 1) refuse(node, "is taken over several dimensions at once", "export it to opset 13 or later");
  make(node, net_.softmax(node.name, x, dim));
}

void OnnxImporter::mean(const OnnxNode& node) {
  const ir::TensorId x = values(node, 0);
  const Shape from = shape_of(x);
  Shape axes = integers(node, "axes", 1).value_or(Shape{});
  if (axes.empty() && integer(node, "noop_with_empty_axes", 0) != 0)
    return make(node, net_.same(node.name, x, ir::Role::activation));
  if (axes.empty())
    for (std::size_t i = 0; i < from.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  std::vector<std::size_t> dims;
  for (const std::int64_t axis : axes) {
    const std::size_t dim = dimension(node, axis, from.size());
    if (std::find(dims.begin(), dims.end(), dim) == dims.end()) dims.push_back(dim);
  }
  const bool kept = integer(node, "keepdims", 1) != 0;
  if (!kept && dims.size() == from.size())
    refuse(node, "makes a number of all elements", "leave it out: outputs get a loss of their own");
  make(node, net_.mean(node.name, x, dims, kept ? NetworkBuilder::Averaged::kept : NetworkBuilder::Averaged::dropped));
}

void OnnxImporter::gather(const OnnxNode& node) {
  const OnnxOperand table = input(node, 0), index = input(node, 1);
  const std::size_t axis = dimension(node, integer(node, "axis", 0), table.shape.size());
  if (table.is(OnnxKind::weight)) {
    if (axis != 0 || table.shape.size() != 2 || table.axes != std::vector<int>{0, 1})
      refuse(node, fmt::format("looks along dimension {} of a table {}", axis, onnx_shape_text(table.shape)),
             "rows of a matrix are due");
    const ir::TensorId rows = activation(node, 1);
    const std::size_t rank = shape_of(rows).size();
    if (net_.graph().tensor(rows).role != ir::Role::index || rank < 1 || rank > 2)
      refuse(node, "its indices are no integers of one or two dimensions", "embeddings of tokens are due");
    Shape to = shape_of(rows);
    to.push_back(table.shape[1]);
    check_shape(node, to);
    const ir::TensorId read = parameter(node, 0, table.shape, {"v", "e"});
    return make(node, net_.embedding(node.name, rows, read));
  }
  const ir::TensorId x = values(node, 0);
  if (!index.has_numbers || index.numbers.size() != 1 || index.shape.size() > 1)
    refuse(node, "takes elements by other indices than one constant", "embeddings are read from initializers");
  std::int64_t at = index.numbers.front();
  const std::int64_t size = table.shape[axis];
  if (at < 0) at += size;
  if (at < 0 || at >= size) refuse(node, fmt::format("takes element {} of {}", at, size), "stay inside");
  if (index.shape.empty() && table.shape.size() == 1) refuse(node, "makes a single number", "keep the dimension");
  if (!index.shape.empty()) {
    if (table.shape.size() < 2) refuse(node, "takes a part of a vector", "two dimensions are due");
    return make(node, net_.split(node.name, x, axis, {1}).front());
  }
  make(node, net_.take(node.name, x, axis, at));
}

void OnnxImporter::cross_entropy(const OnnxNode& node) {
  check_settings(node);
  const ir::TensorId logits = values(node, 0), targets = activation(node, 1);
  const Shape from = shape_of(logits);
  if (from.size() != 2 || shape_of(targets) != Shape{from[0]} || net_.graph().tensor(targets).role != ir::Role::index)
    refuse(node, fmt::format("scores {} and labels {}", onnx_shape_text(from), onnx_shape_text(shape_of(targets))),
           "(batch, classes) and integers (batch) are due");
  if (!is_wanted(node, 0) || is_wanted(node, 1)) refuse(node, "its second output is read", "leave that out");
  net_.cross_entropy(node.name, logits, targets);
  define(node, {.loss = true});
}

}  // namespace cairn::models
