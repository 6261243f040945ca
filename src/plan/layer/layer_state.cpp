#include "layer_state.h"

#include <algorithm>

namespace cairn::plan {

namespace {

constexpr double k_narrow_bits = 16.0;

// Whether ranks along the rule's axis hold parts of the parameter's gradient that are still to be summed.
bool gradient_is_partial(const RankLayer& layer, ir::TensorId parameter, std::size_t rule) {
  const ir::Graph& graph = layer.graph();
  const auto sums_parts = [&](ir::OperatorId id, ir::TensorId written) {
    const ir::Operator& op = graph.op(id);
    return std::any_of(op.accesses.begin(), op.accesses.end(), [&](const ir::Access& access) {
      return access.tensor == written && access.mode != ir::Mode::read &&
             layer.placements(op, access)[rule].kind == Placement::Kind::partial;
    });
  };
  const ir::TensorId gradient = graph.gradient(parameter);
  if (gradient == ir::k_no_tensor) return false;
  for (std::size_t id = graph.forward_count(); id < graph.operators().size(); ++id) {
    if (sums_parts(static_cast<ir::OperatorId>(id), gradient)) return true;
    const auto& accesses = graph.operators()[id].accesses;
    const bool adds_to_it = std::any_of(accesses.begin(), accesses.end(), [&](const ir::Access& access) {
      return access.tensor == gradient && access.mode != ir::Mode::read;
    });
    if (!adds_to_it) continue;
    // Where a gradient is first written and then added to the accumulator, the placement of the former decides.
    for (const ir::Access& access : accesses)
      if (access.mode == ir::Mode::read && is_fresh_gradient(graph.tensor(access.tensor)) &&
          sums_parts(graph.producer(access.tensor), access.tensor))
        return true;
  }
  return false;
}

// Elements of a factored moment: rows + columns of the matrix that the tensor's dimensions form when they are cut into
// two groups such that this sum is least.
double factored_elements(const RankLayer& layer, const RankLayer::Parameter& parameter) {
  std::vector<double> extents;
  for (const ir::TensorDim& dim : layer.graph().tensor(parameter.tensor).dims)
    extents.push_back(static_cast<double>(dim.extent.at(layer.options().sizes)));
  for (std::size_t rule = 0; rule < parameter.placements.size(); ++rule)
    if (parameter.placements[rule].kind == Placement::Kind::shard)
      extents[parameter.placements[rule].dim] /= static_cast<double>(layer.options().rules[rule].size);
  double factored = parameter.elements;
  double rows = 1.0;
  for (std::size_t cut = 0; cut + 1 < extents.size(); ++cut) {
    rows *= extents[cut];
    factored = std::min(factored, rows + parameter.elements / rows);
  }
  return factored;
}

void add_parameter(LayerState& state, const RankLayer& layer, const RankLayer::Parameter& parameter) {
  const ir::Tensor& tensor = layer.graph().tensor(parameter.tensor);
  const ParameterGroup group = layer.mesh_of(parameter.tensor);
  const double factored = factored_elements(layer, parameter);
  state.elements[group] += parameter.elements;
  if (numerics::element_bits(tensor.format) < k_narrow_bits) {
    state.narrow_elements += parameter.elements;
    ++state.narrow_tensors;
  }
  if (tensor.tied.empty()) {
    state.factored_elements[group] += factored;
    state.untied.push_back(parameter.elements);
  }
  std::vector<double> partial(layer.options().rules.size(), 0.0);
  for (std::size_t rule = 0; rule < partial.size(); ++rule) {
    if (gradient_is_partial(layer, parameter.tensor, rule)) partial[rule] = parameter.elements;
    state.partial_elements[rule] += partial[rule];
  }
  if (tensor.tied.empty()) return;
  state.tied.push_back({.tag = tensor.tied,
                        .group = group,
                        .elements = parameter.elements,
                        .factored = factored,
                        .partial_elements = std::move(partial)});
  state.tied_elements[group] += parameter.elements;
}

void add_saved(LayerState& state, const RankLayer& layer, const KeptTensors& kept) {
  const ir::Graph& graph = layer.graph();
  for (std::size_t id = 0; id < graph.tensors().size(); ++id) {
    const auto tensor = static_cast<ir::TensorId>(id);
    if (!kept.saved(tensor) || kept.held_below(tensor)) continue;
    state.saved_bytes += kept.bytes(tensor);
    if (graph.tensor(tensor).statistic) state.saved_statistic_bytes += kept.bytes(tensor);
    for (std::size_t output = 0; output < graph.outputs().size(); ++output)
      if (storage(graph, graph.outputs()[output]) == tensor) state.kept_outputs |= 1U << output;
  }
}

double result_bytes(const RankLayer& layer) {
  const ir::Graph& graph = layer.graph();
  const ir::OperatorId product = result_operator(layer.layer());
  if (product < 0) return 0.0;
  for (std::size_t id = at(product) + 1; id < graph.forward_count(); ++id)
    for (const ir::Access& access : graph.operators()[id].accesses)
      if (access.mode == ir::Mode::read && graph.producer(access.tensor) == product)
        return layer.bytes(access.tensor, layer.placements(graph.operators()[id], access));
  return 0.0;
}

}  // namespace

PerGroup<double> LayerState::moved_elements(bool without_tied) const {
  PerGroup<double> result = elements;
  if (without_tied)
    for (const ParameterGroup group : k_all_parameter_groups) result[group] -= tied_elements[group];
  return result;
}

LayerState state_of(const RankLayer& layer, const KeptTensors& kept) {
  LayerState state;
  state.partial_elements.assign(layer.options().rules.size(), 0.0);
  for (const RankLayer::Parameter& parameter : layer.parameters()) add_parameter(state, layer, parameter);
  add_saved(state, layer, kept);
  state.result_bytes = result_bytes(layer);
  return state;
}

}  // namespace cairn::plan
