// Constants of an ONNX graph, and what is computed from them and from shapes.
#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "onnx_importer.h"

namespace cairn::models {
namespace {

using OnnxKind = OnnxOperand::Kind;

// a op b; false where that is no integer of 64 bits. Integers are divided towards zero.
bool folded_number(const std::string& type, std::int64_t a, std::int64_t b, bool real, std::int64_t& result) {
  if (type == "Add") return !__builtin_add_overflow(a, b, &result);
  if (type == "Sub") return !__builtin_sub_overflow(a, b, &result);
  if (type == "Mul") return !__builtin_mul_overflow(a, b, &result);
  if (type != "Div" || b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min())) return false;
  if (real && a % b != 0) return false;
  result = a / b;
  return true;
}

}  // namespace

bool OnnxImporter::is_cast_to_integers(const OnnxNode& node) const {
  constexpr std::int64_t k_integers[] = {2, 3, 4, 5, 6, 7, 9, 12, 13};  // TensorProto's integer types, and booleans
  const std::int64_t to = integer(node, "to", 1);
  return std::find(std::begin(k_integers), std::end(k_integers), to) != std::end(k_integers);
}

void OnnxImporter::constant(const OnnxNode& node) {
  const OnnxAttribute* tensor = node.find("value");
  if (tensor != nullptr && tensor->form == OnnxAttribute::Form::tensor) {
    const bool trained = node.makes(0) && trained_.contains(node.outputs.front());
    return define(node, stored(tensor->tensor, !trained));
  }
  OnnxOperand made{.kind = OnnxKind::constant};
  if (const std::optional<Shape> list = integers(node, "value_ints")) {
    made.shape = {static_cast<std::int64_t>(list->size())};
    made.has_numbers = made.shape.front() <= k_most_onnx_numbers;
    if (made.has_numbers) made.numbers = *list;
  } else if (node.find("value_int") != nullptr) {
    made.numbers = {integer(node, "value_int", 0)};
    made.has_numbers = true;
  } else if (const OnnxAttribute* number = node.find("value_float"); number != nullptr) {
    made.shape = number->tensor.shape;
  } else if (const OnnxAttribute* numbers = node.find("value_floats"); numbers != nullptr) {
    made.shape = numbers->tensor.shape;
  } else {
    refuse(node, "states no number", "dense tensors and numbers are read");
  }
  define(node, std::move(made));
}

void OnnxImporter::shape(const OnnxNode& node) {
  const OnnxOperand from = input(node, 0);
  const auto rank = static_cast<std::int64_t>(from.shape.size());
  if (from.is(OnnxKind::absent)) refuse(node, "reads what is not modelled", "leave it out");
  const auto inside = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t begin = inside(integer(node, "start", 0)), end = inside(integer(node, "end", rank));
  OnnxOperand made{.kind = OnnxKind::constant, .has_numbers = true, .of_shapes = from.is(OnnxKind::activation)};
  for (std::int64_t i = begin; i < end; ++i) made.numbers.push_back(from.shape[static_cast<std::size_t>(i)]);
  made.shape = {static_cast<std::int64_t>(made.numbers.size())};
  define(node, std::move(made));
}

// Integers of integers: what moves them about.
std::optional<OnnxOperand> OnnxImporter::fold_pieces(const OnnxNode& node,
                                                     const std::vector<OnnxOperand>& inputs) const {
  const OnnxOperand& first = inputs.front();
  OnnxOperand made = first;
  const auto list = [&] { made.shape = {static_cast<std::int64_t>(made.numbers.size())}; };
  if (node.type == "Cast") made.real = !is_cast_to_integers(node);
  if (node.type == "Cast" || node.type == "Identity") return made;
  if (node.type == "Slice" && first.is(OnnxKind::constant)) return fold_slice(node, first);
  made.stored = nullptr;
  if (!first.has_numbers || first.shape.size() > 1) return std::nullopt;
  const bool single = first.numbers.size() == 1;
  const auto ones = [&](std::size_t count) {
    check_shape(node, Shape(count, 1));
    made.shape.assign(count, 1);
  };
  if (node.type == "Unsqueeze" && single) {
    const std::optional<Shape> axes = integers(node, "axes", 1);
    return ones(first.shape.size() + (axes ? axes->size() : 0)), made;
  }
  if (node.type == "Squeeze" && single) return ones(0), made;
  // As many ones as the shape has sizes.
  if (node.type == "Reshape" && single && inputs.size() > 1) return ones(inputs[1].numbers.size()), made;
  if (node.type == "Concat") {
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      if (!inputs[i].has_numbers || inputs[i].shape.size() != 1)
        refuse(node, "joins integers with constants that are no list of known integers", "store the list in the file");
      if (made.numbers.size() + inputs[i].numbers.size() > k_most_onnx_numbers)
        refuse(node, fmt::format("joins more than {} constant integers", k_most_onnx_numbers),
               "store the list in the file");
      made.numbers.insert(made.numbers.end(), inputs[i].numbers.begin(), inputs[i].numbers.end());
    }
    return list(), made;
  }
  if (node.type == "Gather" && inputs.size() == 2 && inputs[1].has_numbers && inputs[1].shape.size() <= 1) {
    const auto size = static_cast<std::int64_t>(first.numbers.size());
    made.numbers.clear();
    for (const std::int64_t at : inputs[1].numbers) {
      if (at < -size || at >= size) return std::nullopt;
      made.numbers.push_back(first.numbers[static_cast<std::size_t>(at < 0 ? at + size : at)]);
    }
    made.shape = inputs[1].shape;
    return made;
  }
  return std::nullopt;
}

// Of tables whose numbers are not read, the shape.
std::optional<OnnxOperand> OnnxImporter::fold_slice(const OnnxNode& node, const OnnxOperand& from) const {
  if (from.shape.empty()) return std::nullopt;
  OnnxOperand made = from;
  for (const Cut& cut : cuts(node, from.shape)) {
    const std::size_t length = static_cast<std::size_t>(std::max<std::int64_t>(0, cut.end - cut.begin));
    const auto size = static_cast<std::size_t>(made.shape[cut.dim]), begin = static_cast<std::size_t>(cut.begin);
    std::size_t inside = 1;
    for (std::size_t dim = cut.dim + 1; dim < made.shape.size(); ++dim)
      inside *= static_cast<std::size_t>(made.shape[dim]);
    made.shape[cut.dim] = static_cast<std::int64_t>(length);
    std::vector<std::int64_t> kept;
    for (std::size_t i = 0; i < made.numbers.size(); ++i)
      if (const std::size_t at = i / inside % size; at >= begin && at < begin + length) kept.push_back(made.numbers[i]);
    made.numbers = std::move(kept);
  }
  return made;
}

// One number beside a list, or lists of the same shape.
std::optional<OnnxOperand> OnnxImporter::fold_elements(const OnnxNode& node,
                                                       const std::vector<OnnxOperand>& inputs) const {
  const OnnxOperand *first = &inputs.front(), *second = inputs.size() > 1 ? &inputs[1] : first;
  if (second->is(OnnxKind::absent)) second = first;
  const bool single = first->elements() == 1;
  if (first->shape != second->shape && !single && second->elements() != 1) return std::nullopt;
  OnnxOperand made{.kind = OnnxKind::constant, .shape = single ? second->shape : first->shape};
  const std::size_t rank = std::max(first->shape.size(), second->shape.size());
  made.shape.insert(made.shape.begin(), rank - made.shape.size(), 1);
  made.real = first->real || second->real;
  made.of_shapes = first->of_shapes || second->of_shapes;
  made.has_numbers = first->has_numbers && second->has_numbers && inputs.size() == 2;
  const auto count = static_cast<std::size_t>(made.elements());
  for (std::size_t i = 0; i < count && made.has_numbers; ++i) {
    const auto at = [&](const OnnxOperand& list) { return list.numbers[list.numbers.size() == 1 ? 0 : i]; };
    made.has_numbers = folded_number(node.type, at(*first), at(*second), made.real, made.numbers.emplace_back());
  }
  if (!made.has_numbers) made.numbers.clear();
  return made;
}

// What is made of constants alone, needs no operator: integers are computed, of others the shape is known.
bool OnnxImporter::fold(const OnnxNode& node) {
  if (node.inputs.empty() || node.type == "Shape") return false;
  std::vector<OnnxOperand> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) inputs.push_back(input(node, i));
  const auto folds = [](const OnnxOperand& operand) {
    return operand.is(OnnxKind::constant) || (operand.is(OnnxKind::weight) && operand.fixed && operand.elements() == 1);
  };
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!folds(inputs[i]) && !(inputs[i].is(OnnxKind::absent) && node.inputs[i].empty())) return false;
  if (inputs.front().is(OnnxKind::absent)) return false;
  std::optional<OnnxOperand> made = fold_pieces(node, inputs);
  if (!made && find_onnx_operator(node.type)->kind == OnnxOperator::Kind::pointwise) made = fold_elements(node, inputs);
  if (!made) return false;
  for (const OnnxOperand& each : inputs) made->of_shapes = made->of_shapes || each.of_shapes;
  define(node, std::move(*made));
  return true;
}

}  // namespace cairn::models
