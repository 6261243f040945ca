#include "rank_layer.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"

namespace cairn::plan {

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

Placements RankLayer::placements(const ir::Operator& op, const ir::Access& access) const {
  Placements result;
  for (std::size_t rule = 0; rule < options_.rules.size(); ++rule)
    result.push_back(mesh_of(access.tensor) == group_of(options_.rules[rule].axis)
                         ? placement(access, split_dim(op, rule))
                         : Placement{});
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
