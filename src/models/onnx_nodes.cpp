// What nodes of ONNX state, read and make, and which of them are known.
#include <algorithm>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/core/printable.h"
#include "onnx_importer.h"

namespace cairn::models {
namespace {

using OnnxKind = OnnxOperand::Kind;

std::vector<int> identity_axes(std::size_t rank) {
  std::vector<int> axes;
  for (std::size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int>(i));
  return axes;
}

template <class Dims, class Text>
std::string list_text(const Dims& dims, Text text) {
  constexpr std::size_t k_listed = 8;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < std::min(dims.size(), k_listed); ++i) parts.push_back(text(dims[i]));
  if (dims.size() > k_listed) parts.push_back(fmt::format("... ({} in all)", dims.size()));
  return fmt::format("({})", fmt::join(parts, ", "));
}

}  // namespace

std::string onnx_shape_text(const std::vector<std::int64_t>& shape) {
  return list_text(shape, [](std::int64_t size) { return std::to_string(size); });
}

std::string onnx_shape_text(const std::vector<OnnxDim>& dims) {
  return list_text(dims, [](const OnnxDim& dim) {
    return dim.has_size ? std::to_string(dim.size) : dim.symbol.empty() ? std::string("?") : dim.symbol;
  });
}

const OnnxOperator* find_onnx_operator(std::string_view type) {
  using Import = OnnxImporter;
  using Kind = OnnxOperator::Kind;
  constexpr std::size_t k_all = OnnxOperator::k_all;
  static const std::vector<OnnxOperator> k_operators{
      {"Conv", &Import::convolution, Kind::layer, 3},
      {"MaxPool", &Import::pooling, Kind::layer, 1},
      {"AveragePool", &Import::pooling, Kind::layer, 1},
      {"GlobalAveragePool", &Import::global_pooling, Kind::layer, 1},
      {"GlobalMaxPool", &Import::global_pooling, Kind::layer, 1},
      {"Gemm", &Import::gemm, Kind::layer, 3},
      {"MatMul", &Import::matrix_product, Kind::layer, 2},
      {"Add", &Import::combine, Kind::pointwise, k_all, "add"},
      {"Sum", &Import::combine, Kind::pointwise, k_all, "add"},
      {"Sub", &Import::combine, Kind::pointwise, k_all, "sub"},
      {"Mul", &Import::combine, Kind::pointwise, k_all, "mul"},
      {"Div", &Import::combine, Kind::pointwise, k_all, "div"},
      {"Relu", &Import::apply, Kind::pointwise, 1, "relu"},
      {"LeakyRelu", &Import::apply, Kind::pointwise, 1, "leaky-relu"},
      {"Sigmoid", &Import::apply, Kind::pointwise, 1, "sigmoid"},
      {"Tanh", &Import::apply, Kind::pointwise, 1, "tanh"},
      {"Clip", &Import::apply, Kind::pointwise, 1, "clip"},
      {"Elu", &Import::apply, Kind::pointwise, 1, "elu"},
      {"Softplus", &Import::apply, Kind::pointwise, 1, "softplus"},
      {"HardSigmoid", &Import::apply, Kind::pointwise, 1, "hard-sigmoid"},
      {"HardSwish", &Import::apply, Kind::pointwise, 1, "hard-swish"},
      {"Erf", &Import::apply, Kind::pointwise, 1, "erf"},
      {"Exp", &Import::apply, Kind::pointwise, 1, "exp"},
      {"Log", &Import::apply, Kind::pointwise, 1, "log"},
      {"Sqrt", &Import::apply, Kind::pointwise, 1, "sqrt"},
      {"Pow", &Import::apply, Kind::pointwise, 1, "power"},
      {"Neg", &Import::apply, Kind::pointwise, 1, "scale"},
      {"Abs", &Import::apply, Kind::pointwise, 1, "absolute"},
      {"Reciprocal", &Import::apply, Kind::pointwise, 1, "reciprocal"},
      {"Gelu", &Import::apply, Kind::pointwise, 1, "gelu"},
      {"Dropout", &Import::apply, Kind::pointwise, 1, "dropout"},
      {"BatchNormalization", &Import::batch_norm, Kind::layer, 3},
      {"LayerNormalization", &Import::layer_norm, Kind::layer, 3},
      {"Softmax", &Import::softmax, Kind::layer, 1},
      {"LogSoftmax", &Import::softmax, Kind::layer, 1},
      {"SoftmaxCrossEntropyLoss", &Import::cross_entropy, Kind::layer, 2},
      {"ReduceMean", &Import::mean, Kind::layer, 1},
      {"Gather", &Import::gather, Kind::layer, 2},
      {"Flatten", &Import::flatten, Kind::view, 1},
      {"Reshape", &Import::reshape, Kind::view, 1},
      {"Squeeze", &Import::squeeze, Kind::view, 1},
      {"Unsqueeze", &Import::unsqueeze, Kind::view, 1},
      {"Transpose", &Import::transpose, Kind::view, 1},
      {"Concat", &Import::concat},
      {"Split", &Import::split, Kind::layer, 1},
      {"Slice", &Import::slice, Kind::layer, 1},
      {"Identity", &Import::same, Kind::view, 1},
      {"Cast", &Import::same, Kind::view, 1},
      {"Constant", &Import::constant, Kind::layer, 0},
      {"Shape", &Import::shape, Kind::layer, 0},
  };
  const auto found = std::find_if(k_operators.begin(), k_operators.end(),
                                  [&](const OnnxOperator& known) { return known.type == type; });
  return found == k_operators.end() ? nullptr : &*found;
}

void OnnxImporter::refuse(const OnnxNode& node, const std::string& message, const std::string& hint) const {
  refuse_onnx(file_, fmt::format("{} {}: {}", node.type, core::quoted(node.name), message), hint);
}

void OnnxImporter::check_shape(const OnnxNode& node, const Shape& shape) const {
  if (const std::string wrong = fault(shape); !wrong.empty())
    refuse(node, fmt::format("makes a tensor with {}", wrong),
           fmt::format("tensors have at most {} dimensions of at least 1 element", ir::k_max_rank));
}

std::int64_t OnnxImporter::integer(const OnnxNode& node, const std::string& attribute, std::int64_t fallback) const {
  const OnnxAttribute* found = node.find(attribute);
  if (found == nullptr) return fallback;
  if (found->form != OnnxAttribute::Form::integer)
    refuse(node, fmt::format("attribute {} is no integer", attribute), "give a file that onnx.checker accepts");
  return found->integers.front();
}

std::optional<std::vector<std::int64_t>> OnnxImporter::integers(const OnnxNode& node,
                                                                const std::string& attribute) const {
  const OnnxAttribute* found = node.find(attribute);
  if (found == nullptr) return std::nullopt;
  if (found->form != OnnxAttribute::Form::integers)
    refuse(node, fmt::format("attribute {} is no list of integers", attribute),
           "give a file that onnx.checker accepts");
  return found->integers;
}

std::string OnnxImporter::text(const OnnxNode& node, const std::string& attribute, const std::string& fallback) const {
  const OnnxAttribute* found = node.find(attribute);
  if (found == nullptr) return fallback;
  if (found->form != OnnxAttribute::Form::text)
    refuse(node, fmt::format("attribute {} is no text", attribute), "give a file that onnx.checker accepts");
  return found->text;
}

std::optional<std::vector<std::int64_t>> OnnxImporter::integers(const OnnxNode& node, const std::string& attribute,
                                                                std::size_t at) const {
  if (node.find(attribute) != nullptr) return integers(node, attribute);
  if (at >= node.inputs.size() || node.inputs[at].empty()) return std::nullopt;
  const OnnxOperand list = input(node, at);
  if (!list.has_numbers || list.shape.size() > 1)
    refuse(node, fmt::format("{} is no constant list of integers", core::quoted(node.inputs[at])),
           "export it with constant shapes, its integers in the file itself");
  return list.numbers;
}

std::size_t OnnxImporter::dimension(const OnnxNode& node, std::int64_t stated, std::size_t rank) const {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (stated < -signed_rank || stated >= signed_rank)
    refuse(node, fmt::format("dimension {} of {}", stated, rank), "give a file that onnx.checker accepts");
  return static_cast<std::size_t>(stated < 0 ? stated + signed_rank : stated);
}

bool OnnxImporter::is_wanted(const OnnxNode& node, std::size_t output) const {
  return node.makes(output) && (read_.contains(node.outputs[output]) || ends_.contains(node.outputs[output]));
}

OnnxOperand OnnxImporter::input(const OnnxNode& node, std::size_t i) const {
  if (i >= node.inputs.size() || node.inputs[i].empty()) return {};
  const auto found = operands_.find(node.inputs[i]);
  if (found == operands_.end())
    refuse(node, fmt::format("reads {}, a further output that is not modelled", core::quoted(node.inputs[i])),
           "read the first output alone");
  if (found->second.loss)
    refuse(node, fmt::format("reads {}, a loss", core::quoted(node.inputs[i])),
           "a loss is where the network ends: leave out what follows");
  return found->second;
}

void OnnxImporter::check_settings(const OnnxNode& node) const {
  for (std::size_t i = find_onnx_operator(node.type)->operands; i < node.inputs.size(); ++i)
    if (input(node, i).is(OnnxKind::activation))
      refuse(node, fmt::format("reads {}, which the network computes, as a setting", core::quoted(node.inputs[i])),
             "export it with a constant there");
}

ir::TensorId OnnxImporter::activation(const OnnxNode& node, std::size_t i) {
  const OnnxOperand from = input(node, i);
  if (from.is(OnnxKind::activation)) return from.tensor;
  if (from.is(OnnxKind::absent))
    refuse(node, fmt::format("has no input {}", i), "give a file that onnx.checker accepts");
  const auto known = indices_.find(node.inputs[i]);
  if (known != indices_.end()) return known->second;
  const bool integers = from.stored != nullptr && from.stored->elements == OnnxElements::integers;
  if (from.is(OnnxKind::weight) || from.shape.empty() || from.real || (!integers && !from.has_numbers))
    refuse(node,
           fmt::format("reads {}, which is a {}", core::quoted(node.inputs[i]),
                       from.is(OnnxKind::weight) ? "parameter" : "constant"),
           "fold constants in the file");
  // Integers of the file, such as positions, come from outside.
  check_shape(node, from.shape);
  NamedSizes dims;
  for (const std::int64_t size : from.shape) dims.push_back({"u", size});
  dims.back().name = "l";
  return indices_[node.inputs[i]] = net_.indices(net_.distinct(node.inputs[i]), dims);
}

ir::TensorId OnnxImporter::values(const OnnxNode& node, std::size_t i) {
  const ir::TensorId tensor = activation(node, i);
  if (net_.graph().tensor(tensor).role == ir::Role::index)
    refuse(node, fmt::format("computes with integers ({})", core::quoted(node.inputs[i])), "cast them to numbers");
  return tensor;
}

Operand OnnxImporter::operand(const OnnxNode& node, const OnnxOperand& from, const std::vector<std::string>& names) {
  if (from.is(OnnxKind::activation)) {
    if (net_.graph().tensor(from.tensor).role == ir::Role::index)
      refuse(node, "computes with integers", "cast them to numbers");
    return {.tensor = from.tensor, .axes = from.axes};
  }
  if (!from.is(OnnxKind::weight))
    refuse(node, "computes with a constant of many elements", "store it as an initializer");
  const auto found = weights_.find(from.stored);
  if (found != weights_.end()) return {.tensor = found->second, .axes = from.axes};
  NamedSizes dims;
  for (const std::int64_t size : from.stored->shape) dims.push_back({"u", size});
  for (std::size_t i = 0; i < from.axes.size(); ++i)
    if (from.axes[i] != Operand::k_one) dims[static_cast<std::size_t>(from.axes[i])].name = names[i];
  const std::string name = net_.distinct(from.stored->name.empty() ? node.name + ".constant" : from.stored->name);
  const ir::TensorId tensor = from.fixed ? net_.input(name, dims) : net_.parameter(name, dims);
  if (!from.fixed) {
    double elements = 1.0;
    for (const NamedSize& dim : dims) elements *= static_cast<double>(dim.size);
    parameters_ += elements;
    constexpr double k_most_parameters = 0x1p60;
    if (parameters_ > k_most_parameters)
      refuse(node, fmt::format("{:.3g} parameters so far", parameters_), "give a smaller network");
  }
  weights_.emplace(from.stored, tensor);
  return {.tensor = tensor, .axes = from.axes};
}

ir::TensorId OnnxImporter::parameter(const OnnxNode& node, std::size_t i, const Shape& shape,
                                     const std::vector<std::string>& names) {
  const OnnxOperand from = input(node, i);
  if (!from.is(OnnxKind::weight) || from.shape != shape || from.axes != identity_axes(from.stored->shape.size()))
    refuse(node,
           fmt::format("input {} is {} of shape {}", i, from.is(OnnxKind::weight) ? "a parameter" : "no parameter",
                       onnx_shape_text(from.shape)),
           fmt::format("an initializer of shape {} is due", onnx_shape_text(shape)));
  return operand(node, from, names).tensor;
}

std::vector<std::int64_t> OnnxImporter::shape_of(ir::TensorId tensor) const {
  Shape shape;
  for (const NamedSize& dim : net_.dims_of(tensor)) shape.push_back(dim.size);
  return shape;
}

void OnnxImporter::make(const OnnxNode& node, ir::TensorId tensor, std::size_t output) {
  const Shape shape = shape_of(tensor);
  if (replaces_batch()) samples_of(tensor);
  define(node, {.kind = OnnxKind::activation, .shape = shape, .tensor = tensor, .axes = identity_axes(shape.size())},
         output);
}

void OnnxImporter::define(const OnnxNode& node, OnnxOperand operand, std::size_t output) {
  if (node.makes(output)) operands_[node.outputs[output]] = std::move(operand);
}

}  // namespace cairn::models
