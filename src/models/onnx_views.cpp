// Nodes of ONNX that are views.
#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "cairn/core/printable.h"
#include "onnx_importer.h"

namespace cairn::models {
namespace {

using OnnxKind = OnnxOperand::Kind;
using OnnxSizes = std::vector<std::int64_t>;

OnnxSizes without_unit_dims(const OnnxSizes& sizes) {
  OnnxSizes result;
  std::copy_if(sizes.begin(), sizes.end(), std::back_inserter(result), [](std::int64_t size) { return size != 1; });
  return result;
}

}  // namespace

void OnnxImporter::view_as(const OnnxNode& node, const Shape& to, const std::optional<OnnxSamples>& samples) {
  OnnxOperand from = input(node, 0);
  check_shape(node, to);
  const std::int64_t elements = std::accumulate(to.begin(), to.end(), std::int64_t{1}, std::multiplies<>());
  if (elements != from.elements() || to.empty())
    refuse(node, fmt::format("takes {} for {}", onnx_shape_text(from.shape), onnx_shape_text(to)),
           to.empty() ? "keep a dimension" : "as many elements are due");
  if (from.is(OnnxKind::weight)) {
    // A parameter is where it is: ones may come and go.
    if (without_unit_dims(from.shape) != without_unit_dims(to))
      refuse(node, fmt::format("takes a parameter {} for {}", onnx_shape_text(from.shape), onnx_shape_text(to)),
             "fold constants in the file");
    std::vector<int> kept;
    for (std::size_t i = 0; i < from.shape.size(); ++i)
      if (from.shape[i] != 1) kept.push_back(from.axes[i]);
    std::size_t next = 0;
    from.axes.clear();
    for (const std::int64_t size : to) from.axes.push_back(size == 1 ? Operand::k_one : kept[next++]);
    from.shape = to;
    return define(node, std::move(from));
  }
  const ir::TensorId x = activation(node, 0);
  if (from.shape == to) return make(node, net_.same(node.name, x, net_.graph().tensor(x).role));
  if (!NetworkBuilder::can_reshape(net_.dims_of(x), to))
    refuse(node, fmt::format("takes {} for {}", onnx_shape_text(from.shape), onnx_shape_text(to)),
           "give fewer samples");
  const ir::TensorId made = net_.reshape(node.name, x, to);
  if (replaces_batch()) samples_[made] = samples ? *samples : samples_in_view(x, to);
  make(node, made);
}

void OnnxImporter::flatten(const OnnxNode& node) {
  const Shape from = input(node, 0).shape;
  const std::int64_t stated = integer(node, "axis", 1), rank = static_cast<std::int64_t>(from.size());
  if (stated < -rank || stated > rank) refuse(node, fmt::format("axis {}", stated), "the input has fewer dimensions");
  const std::ptrdiff_t axis = stated < 0 ? stated + rank : stated;
  const auto product = [](auto begin, auto end) {
    return std::accumulate(begin, end, std::int64_t{1}, std::multiplies<>());
  };
  view_as(node, {product(from.begin(), from.begin() + axis), product(from.begin() + axis, from.end())});
}

// The sizes that a stated shape leaves to the input.
std::vector<std::int64_t> OnnxImporter::resolved(const OnnxNode& node, const Shape& from, const Shape& stated) const {
  Shape to = stated;
  const bool allows_zero = integer(node, "allowzero", 0) != 0;
  const std::int64_t elements = std::accumulate(from.begin(), from.end(), std::int64_t{1}, std::multiplies<>());
  std::size_t open = to.size();
  double known = 1.0;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == 0 && !allows_zero && i < from.size()) to[i] = from[i];
    if (to[i] == -1 && open == to.size())
      open = i;
    else
      known *= static_cast<double>(to[i]);
  }
  if (open == to.size()) return to;
  const auto count = known >= 1.0 && known <= 0x1p62 ? static_cast<std::int64_t>(known) : 0;
  if (count < 1 || elements % count != 0)
    refuse(node, fmt::format("takes {} for {}", onnx_shape_text(from), onnx_shape_text(to)), "it does not divide");
  to[open] = elements / count;
  return to;
}

void OnnxImporter::reshape(const OnnxNode& node) {
  const OnnxOperand from = input(node, 0);
  const std::optional<Shape> stated = integers(node, "shape", 1);
  if (!stated) refuse(node, "its shape is not constant", "export it with constant shapes");
  const bool of_shapes = node.inputs.size() > 1 && input(node, 1).of_shapes;
  if (of_shapes) return view_as(node, resolved(node, from.shape, *stated));
  view_as_at_asked_batch(node, from, *stated);
}

void OnnxImporter::squeeze(const OnnxNode& node) {
  const Shape from = input(node, 0).shape;
  const std::optional<Shape> axes = integers(node, "axes", 1);
  std::vector<char> dropped(from.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) dropped[i] = !axes && from[i] == 1;
  for (const std::int64_t axis : axes.value_or(Shape{})) {
    const std::size_t dim = dimension(node, axis, from.size());
    if (from[dim] != 1) refuse(node, fmt::format("drops a dimension of {}", from[dim]), "only ones can be dropped");
    dropped[dim] = 1;
  }
  Shape to;
  for (std::size_t i = 0; i < from.size(); ++i)
    if (dropped[i] == 0) to.push_back(from[i]);
  view_as(node, to);
}

void OnnxImporter::unsqueeze(const OnnxNode& node) {
  const Shape from = input(node, 0).shape;
  const Shape axes = integers(node, "axes", 1).value_or(Shape{});
  if (axes.empty()) refuse(node, "its axes are not constant", "export it with constant axes");
  if (from.size() + axes.size() > ir::k_max_rank) check_shape(node, Shape(from.size() + axes.size(), 1));
  Shape to(from.size() + axes.size(), 0);
  for (const std::int64_t axis : axes)
    if (std::exchange(to[dimension(node, axis, to.size())], 1) != 0)
      refuse(node, fmt::format("axes {} that repeat one", onnx_shape_text(axes)), "give each once");
  std::size_t next = 0;
  for (std::int64_t& size : to)
    if (size == 0) size = next < from.size() ? from[next++] : 1;
  view_as(node, to);
}

void OnnxImporter::transpose(const OnnxNode& node) {
  OnnxOperand from = input(node, 0);
  const std::size_t rank = from.shape.size();
  Shape stated(rank);
  for (std::size_t i = 0; i < rank; ++i) stated[i] = static_cast<std::int64_t>(rank - 1 - i);
  stated = integers(node, "perm").value_or(stated);
  std::vector<std::size_t> order;
  std::vector<char> seen(rank, 0);
  for (const std::int64_t each : stated) {
    const std::size_t dim = dimension(node, each, rank);
    if (seen[dim]++ != 0 || each < 0)
      refuse(node, fmt::format("an order {}", onnx_shape_text(stated)), "each dimension once");
    order.push_back(dim);
  }
  if (order.size() != rank || rank == 0)
    refuse(node, fmt::format("an order {} of {} dimensions", onnx_shape_text(stated), rank), "each dimension once");
  if (!from.is(OnnxKind::weight)) return make(node, net_.transpose(node.name, activation(node, 0), order));
  const OnnxOperand before = from;
  for (std::size_t i = 0; i < rank; ++i) {
    from.shape[i] = before.shape[order[i]];
    from.axes[i] = before.axes[order[i]];
  }
  define(node, std::move(from));
}

void OnnxImporter::concat(const OnnxNode& node) {
  std::vector<ir::TensorId> tensors;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) tensors.push_back(values(node, i));
  if (tensors.empty()) refuse(node, "joins nothing", "give it inputs");
  Shape to = shape_of(tensors.front());
  if (to.size() < 2) refuse(node, "joins vectors", "two dimensions are due");
  const std::size_t dim = dimension(node, integer(node, "axis", 1), to.size());
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    Shape next = shape_of(tensors[i]);
    if (next.size() != to.size()) refuse(node, "its inputs differ in rank", "give them the same");
    to[dim] += next[dim];
    next[dim] = to[dim];
    if (next != to) refuse(node, fmt::format("its inputs differ beside dimension {}", dim), "give them the same");
  }
  check_shape(node, to);
  make(node, net_.concat(node.name, tensors, dim));
}

void OnnxImporter::split(const OnnxNode& node) {
  const ir::TensorId x = values(node, 0);
  const Shape from = shape_of(x);
  const std::size_t dim = dimension(node, integer(node, "axis", 0), from.size());
  const auto count = static_cast<std::int64_t>(node.outputs.size());
  Shape sizes = integers(node, "split", 1).value_or(Shape{});
  if (sizes.empty() && count > 0) {
    const std::int64_t each = (from[dim] + count - 1) / count;
    sizes.assign(static_cast<std::size_t>(count), each);
    sizes.back() = from[dim] - each * (count - 1);
  }
  std::int64_t left = from[dim];
  bool fits = static_cast<std::int64_t>(sizes.size()) == count && from.size() >= 2;
  for (std::size_t i = 0; fits && i < sizes.size(); ++i) {
    fits = sizes[i] >= 1 && sizes[i] <= left;
    left -= sizes[i];
  }
  if (!fits || left != 0)
    refuse(node,
           fmt::format("splits {} along dimension {} into {}", onnx_shape_text(from), dim, onnx_shape_text(sizes)),
           "the pieces must be all of it");
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (!is_wanted(node, i)) sizes[i] = 0;
  const std::vector<ir::TensorId> pieces = net_.split(node.name, x, dim, sizes);
  for (std::size_t i = 0; i < pieces.size(); ++i)
    if (pieces[i] != ir::k_no_tensor) make(node, pieces[i], i);
}

std::vector<OnnxImporter::Cut> OnnxImporter::cuts(const OnnxNode& node, const Shape& from) const {
  const std::optional<Shape> starts = integers(node, "starts", 1), ends = integers(node, "ends", 2);
  if (!starts || !ends || starts->size() != ends->size())
    refuse(node, "its bounds are not constant", "export it with constant bounds");
  Shape axes(starts->size());
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  axes = integers(node, "axes", 3).value_or(axes);
  const Shape steps = integers(node, "steps", 4).value_or(Shape(starts->size(), 1));
  if (axes.size() != starts->size() || steps != Shape(starts->size(), 1))
    refuse(node, fmt::format("steps {}", onnx_shape_text(steps)), "steps of 1 are due, and an axis for each bound");
  std::vector<Cut> result;
  std::vector<char> seen(from.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t dim = dimension(node, axes[i], from.size());
    if (std::exchange(seen[dim], 1) != 0)
      refuse(node, fmt::format("axes {} that repeat one", onnx_shape_text(axes)), "give each once");
    const std::int64_t size = from[dim];
    const auto inside = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size); };
    result.push_back({.dim = dim, .begin = inside((*starts)[i]), .end = inside((*ends)[i])});
  }
  return result;
}

void OnnxImporter::slice(const OnnxNode& node) {
  ir::TensorId x = activation(node, 0);
  if (net_.graph().tensor(x).role == ir::Role::index)
    refuse(node, "takes a part of integers that come from outside", "let the part come from outside");
  const Shape from = shape_of(x);
  if (from.size() < 2) refuse(node, "takes a part of a vector", "two dimensions are due");
  bool cut = false;
  for (const Cut& each : cuts(node, from)) {
    const std::int64_t length = each.end - each.begin;
    if (length < 1) refuse(node, fmt::format("takes nothing of dimension {}", each.dim), "take an element at least");
    if (length == from[each.dim]) continue;
    x = net_.split(cut ? net_.distinct(node.name) : node.name, x, each.dim, {length}).front();
    cut = true;
  }
  make(node, cut ? x : net_.same(node.name, x, ir::Role::activation));
}

void OnnxImporter::same(const OnnxNode& node) {
  const OnnxOperand from = input(node, 0);
  if (from.is(OnnxKind::weight)) return define(node, from);
  const ir::TensorId x = activation(node, 0);
  const ir::Role role = net_.graph().tensor(x).role;
  if (node.type != "Cast") return make(node, net_.same(node.name, x, role));
  const bool makes_integers = is_cast_to_integers(node);
  if (makes_integers && role != ir::Role::index)
    refuse(node, "makes integers of numbers", "what follows has no gradient: leave it out");
  make(node, net_.same(node.name, x, makes_integers ? ir::Role::index : ir::Role::activation));
}

}  // namespace cairn::models
