#include "rank_layer.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"

namespace cairn::plan {

namespace {

// In place of a split dimension: each rank adds up its own parts of whole tensors, and the sum is Partial as they are.
constexpr std::int8_t k_adds_partials = -2;

bool splits_sequence(const SplitRule& rule) {
  return rule.axis == Axis::tensor && std::find(rule.dims.begin(), rule.dims.end(), "sequence") != rule.dims.end();
}

}  // namespace

RankLayer::RankLayer(const ir::LayerClass& layer, LayerOptions options)
    : layer_(layer), options_(std::move(options)), mesh_(layer.graph.tensors().size(), ParameterGroup::dense) {
  CAIRN_ASSERT(options_.rules.size() == options_.groups.size());
  for (const ir::Operator& op : graph().operators())
    for (const SplitRule& rule : options_.rules)
      split_dims_.push_back(static_cast<std::int8_t>(program::split_dim(op, rule)));
  for (std::size_t id = 0; id < mesh_.size(); ++id)
    for (const SplitRule& rule : options_.rules)
      if (group_of(rule.axis) == ParameterGroup::expert && concerns(rule, graph().tensors()[id]))
        mesh_[id] = ParameterGroup::expert;
  if (options_.behaviour.keeps_gathered_inputs) add_up_partials();
  for (const ir::Operator& op : graph().operators()) {
    for (const ir::Access& access : op.accesses) {
      const auto known = [&](const Parameter& parameter) { return parameter.tensor == access.tensor; };
      const ir::Tensor& tensor = graph().tensor(access.tensor);
      if (tensor.role != ir::Role::parameter || std::any_of(parameters_.begin(), parameters_.end(), known)) continue;
      const Placements placed = placements(op, access);
      const double elements = divided(static_cast<double>(tensor.elements(options_.sizes)), placed);
      parameters_.push_back({.tensor = access.tensor, .placements = placed, .elements = elements});
    }
  }
}

int RankLayer::split_dim(const ir::Operator& op, std::size_t rule) const {
  const auto id = static_cast<std::size_t>(&op - graph().operators().data());
  return split_dims_[id * options_.rules.size() + rule];
}

void RankLayer::add_up_partials() {
  const auto& operators = graph().operators();
  for (std::size_t rule = 0; rule < options_.rules.size(); ++rule) {
    if (!splits_sequence(options_.rules[rule])) continue;
    for (std::size_t id = graph().forward_count(); id < operators.size(); ++id) {
      const ir::Operator& op = operators[id];
      if (op.variant != "gradient_sum") continue;
      const ir::TensorId of = graph().tensor(op.accesses.back().tensor).of;
      const bool adds = std::all_of(op.accesses.begin(), op.accesses.end(), [&](const ir::Access& access) {
        return access.mode != ir::Mode::read || is_part(access.tensor, of, rule);
      });
      if (adds) split_dims_[id * options_.rules.size() + rule] = k_adds_partials;
    }
  }
}

// A gradient that was passed on has other readers, which reduce it: what counts is what a product made of this tensor.
bool RankLayer::is_part(ir::TensorId gradient, ir::TensorId of, std::size_t rule) const {
  const ir::OperatorId producer = graph().producer(gradient);
  if (producer < 0 || graph().tensor(gradient).of != of) return false;
  const ir::Operator& op = graph().op(producer);
  if (op.forward < 0 || !graph().op(op.forward).is_plain_contraction()) return false;
  return std::any_of(op.accesses.begin(), op.accesses.end(), [&](const ir::Access& access) {
    return access.tensor == gradient && access.mode != ir::Mode::read &&
           placement_of(op, access, rule).kind == Placement::Kind::partial;
  });
}

Placement RankLayer::placement_of(const ir::Operator& op, const ir::Access& access, std::size_t rule) const {
  if (mesh_of(access.tensor) != group_of(options_.rules[rule].axis)) return {};
  const int dim = split_dim(op, rule);
  if (dim == k_adds_partials) return {Placement::Kind::partial, 0, ir::Monoid::sum};
  return placement(access, dim);
}

Placements RankLayer::placements(const ir::Operator& op, const ir::Access& access) const {
  Placements result;
  for (std::size_t rule = 0; rule < options_.rules.size(); ++rule) result.push_back(placement_of(op, access, rule));
  return result;
}

Placements RankLayer::border(ir::TensorId tensor) const {
  const ir::TensorId shape = graph().tensor(tensor).role == ir::Role::gradient ? graph().tensor(tensor).of : tensor;
  Placements result;
  for (const SplitRule& rule : options_.rules) result.push_back(border_placement(graph().tensor(shape), rule));
  return result;
}

double RankLayer::divided(double whole, const Placements& placements) const {
  for (std::size_t rule = 0; rule < placements.size(); ++rule)
    if (placements[rule].kind == Placement::Kind::shard) whole /= static_cast<double>(options_.rules[rule].size);
  return whole;
}

// Of `elements` in rows as wide as the tensor's, those that memory has room for at once.
double RankLayer::piece(const ir::Tensor& tensor, double elements) const {
  const auto width = static_cast<double>(tensor.dims.back().extent.at(options_.sizes));
  const double rows = std::ceil(elements / width / static_cast<double>(tensor.pieces));
  return std::min(elements, width * std::exp2(std::ceil(std::log2(rows))));
}

double RankLayer::bytes(ir::TensorId tensor, const Placements& placements) const {
  const ir::Tensor& t = graph().tensor(tensor);
  const double whole = divided(static_cast<double>(t.elements(options_.sizes)), placements);
  return numerics::bytes_per_element(t.format) * (t.pieces > 1 ? piece(t, whole) : whole);
}

loopnest::Box RankLayer::box(const ir::Operator& op) const {
  loopnest::Box box = op.domain.box(options_.sizes);
  for (std::size_t index = 0; index < options_.rules.size(); ++index) {
    const SplitRule& rule = options_.rules[index];
    const int dim = split_dim(op, index);
    if (dim < 0) continue;
    loopnest::Interval& interval = box[static_cast<std::size_t>(dim)];
    if (interval.extent() % rule.size != 0)
      throw core::ConfigurationError(fmt::format("strategy.{}", label(rule.axis)),
                                     fmt::format("{} of layer '{}' has extent {}, which {} = {} does not divide",
                                                 op.domain.dims()[static_cast<std::size_t>(dim)].name, layer_.name,
                                                 interval.extent(), label(rule.axis), rule.size),
                                     fmt::format("choose a divisor of {}", interval.extent()));
    interval.end = interval.begin + interval.extent() / rule.size;
  }
  return box;
}

double RankLayer::elements_of(ir::TensorId parameter) const {
  const auto found = std::find_if(parameters_.begin(), parameters_.end(),
                                  [&](const Parameter& each) { return each.tensor == parameter; });
  CAIRN_ASSERT(found != parameters_.end());
  return found->elements;
}

}  // namespace cairn::plan
