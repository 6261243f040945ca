#include "layer.h"

#include "cairn/core/assert.h"

namespace cairn::models {
namespace {

using loopnest::Extent;
using loopnest::Symbol;

void add_dim(ir::Tensor& tensor, const Axis& dim) {
  ir::TensorDim& added = tensor.dims.emplace_back();
  added.name = dim.name;
  added.extent = dim.extent;
}

ir::Tensor shaped(const Layer& layer, const std::string& name, std::initializer_list<Axis> dims, ir::Role role,
                  numerics::Format format) {
  ir::Tensor tensor;
  tensor.name = layer.prefix + name;
  if (layer.each_way) add_dim(tensor, layer.axis.ways);
  for (const Axis& dim : dims) add_dim(tensor, dim);
  tensor.format = format;
  tensor.role = role;
  return tensor;
}

}  // namespace

Axes::Axes(const TransformerConfig& config, std::int64_t vocab_rows, std::int64_t parts)
    : batch{"batch", Extent::share(Symbol::batch, 1, parts)},
      sequence{"sequence", Extent::of(Symbol::sequence)},
      query{"query", Extent::of(Symbol::sequence)},
      key{"key", Extent::of(Symbol::sequence)},
      hidden{"hidden", Extent::of(config.hidden)},
      kv_heads{"kv_heads", Extent::of(config.kv_head_count() / config.ways)},
      group{"group", Extent::of(config.group())},
      qkv{"qkv", Extent::of(config.group() + 2)},
      qk{"qkv", Extent::of(config.group() + 1)},
      head_dim{"head_dim", Extent::of(config.head_size())},
      ffn{"ffn", Extent::of(config.ffn)},
      gate{"gate", Extent::of(2)},
      vocab{"vocab", Extent::of(vocab_rows)},
      positions{"positions", Extent::of(config.max_positions.value_or(0))},
      classes{"classes", Extent::of(vocab_rows)},
      rows{"rows", Extent::of(Symbol::sequence)},
      ways{"ways", Extent::of(config.ways)} {}

ir::TensorId Layer::tensor(std::string name, std::initializer_list<Axis> dims, ir::Role role, numerics::Format format) {
  return graph.add_tensor(shaped(*this, name, dims, role, format));
}

ir::TensorId Layer::parameter(std::string name, std::initializer_list<Axis> dims, const char* tied) {
  // The parts of a batch share their parameters, and several losses their head.
  for (std::size_t id = 0; id < graph.tensors().size(); ++id)
    if (graph.tensors()[id].role == ir::Role::parameter && graph.tensors()[id].name == prefix + name)
      return static_cast<ir::TensorId>(id);
  ir::Tensor tensor = shaped(*this, name, dims, ir::Role::parameter, options.parameter);
  tensor.tied = tied;
  return graph.add_tensor(std::move(tensor));
}

ir::TensorId Layer::statistic(std::string name, std::initializer_list<Axis> dims) {
  ir::Tensor tensor = shaped(*this, name, dims, ir::Role::activation, numerics::Format::fp32);
  tensor.statistic = true;
  return graph.add_tensor(std::move(tensor));
}

ir::TensorId Layer::in_place(std::string name, ir::TensorId of) {
  ir::Tensor tensor = graph.tensor(of);
  tensor.name = prefix + name;
  tensor.alias_of = of;
  return graph.add_tensor(std::move(tensor));
}

Op::Op(Layer& layer, std::string name, ir::Kind kind, std::initializer_list<Axis> axes) : layer_(layer) {
  op_.name = layer.prefix + name;
  op_.kind = kind;
  for (const Axis& axis : axes) op_.domain.add(axis.name, axis.extent);
}

Op& Op::select_one(const Axis& axis) {
  op_.domain.add(axis.name, axis.extent, 1);
  return *this;
}

Op& Op::access(ir::TensorId tensor, Indices at, ir::Mode mode, ir::InputGradient gradient) {
  ir::Access& access = op_.accesses.emplace_back();
  access.tensor = tensor;
  access.mode = mode;
  access.gradient = gradient;
  for (const At& index : at) {
    loopnest::Affine& form = access.projection.emplace_back();
    form.offset = index.constant;
    if (index.block_axis >= 0)
      form.terms.push_back({.dim = static_cast<loopnest::DimId>(index.block_axis), .stride = index.block});
    if (index.axis >= 0) form.terms.push_back({.dim = static_cast<loopnest::DimId>(index.axis), .stride = 1});
  }
  return *this;
}

Op& Op::bias(ir::TensorId parameter, Indices at) {
  if (parameter == ir::k_no_tensor) return *this;
  access(parameter, at, ir::Mode::read, ir::InputGradient::computed);
  op_.accesses.back().addend = true;
  return *this;
}

Op& Op::merge(ir::TensorId tensor, Indices at, ir::Monoid monoid) {
  access(tensor, at, ir::Mode::accumulate, ir::InputGradient::none);
  op_.accesses.back().monoid = monoid;
  return *this;
}

Op& Op::keep(std::initializer_list<ir::TensorId> tensors) {
  for (const ir::TensorId tensor : tensors) {
    if (tensor != ir::k_no_tensor) op_.backward_reads.push_back(tensor);
  }
  return *this;
}

Op& Op::flops(double forward, double backward) {
  op_.flops_per_point = forward;
  op_.backward_flops_per_point = backward;
  return *this;
}

Op& Op::variant(const char* kernel) {
  op_.variant = kernel;
  return *this;
}

Op& Op::region(const char* region) {
  op_.region = region;
  return *this;
}

Op& Op::attend(At query, At key, bool causal, std::optional<std::int64_t> window, bool skips) {
  const auto q = static_cast<loopnest::DimId>(query.axis);
  const auto k = static_cast<loopnest::DimId>(key.axis);
  const loopnest::Guard not_later{.terms = {{q, 1}, {k, -1}}, .offset = 0};
  if (window) {
    op_.full.push_back({.terms = {{q, -1}, {k, 1}}, .offset = *window - 1});
    op_.full.push_back({.terms = {{q, 1}, {k, -1}}, .offset = *window - 1});
  }
  if (causal) {
    op_.unmasked.push_back(not_later);
    if (window) op_.unmasked.push_back(op_.full.front());
  } else {
    op_.unmasked = op_.full;
  }
  if (skips) op_.domain = op_.domain.guarded_by(op_.unmasked);
  return *this;
}

void Op::add() {
  if (layer_.each_way) run_each_way();
  layer_.graph.add_operator(std::move(op_));
}

// The dimension comes last among the operator's, so that the others keep their places.
void Op::run_each_way() {
  const loopnest::DimId way = op_.domain.add(layer_.axis.ways.name, layer_.axis.ways.extent);
  for (ir::Access& access : op_.accesses) {
    const auto& dims = layer_.graph.tensor(access.tensor).dims;
    if (!dims.empty() && dims.front().name == layer_.axis.ways.name)
      access.projection.insert(access.projection.begin(), loopnest::Affine::of(way));
    else
      CAIRN_ASSERT(access.gradient != ir::InputGradient::passed && "gradients of a common tensor add up over the ways");
  }
}

}  // namespace cairn::models
