#include "cairn/plan/layer.h"

#include <algorithm>

#include <fmt/format.h>

#include "block_builder.h"
#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"

namespace cairn::plan {

namespace {

constexpr double k_narrow_bits = 16.0;

// "norm1" names the operators norm1, norm1.square, ...; a region names all of its operators.
bool named(const std::vector<std::string>& names, const ir::Operator& op) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return name == op.region || name == op.name ||
           (op.name.size() > name.size() && op.name.starts_with(name) && op.name[name.size()] == '.');
  });
}

bool is_attention(const ir::Operator& op) { return op.kind == ir::Kind::contraction && !op.is_plain_contraction(); }

}  // namespace

LayerLowering::LayerLowering(const ir::LayerClass& layer, LayerOptions options)
    : layer_(layer),
      options_(std::move(options)),
      recomputed_(layer.graph.forward_count(), 0),
      saved_(layer.graph.tensors().size(), 0),
      shared_(layer.graph.tensors().size(), 0),
      arrives_(layer.graph.tensors().size(), 1),
      settled_(layer.graph.tensors().size(), std::vector<Placement>(options_.rules.size())),
      parameter_local_(layer.graph.tensors().size(), 0.0),
      mesh_(layer.graph.tensors().size(), ParameterGroup::dense) {
  CAIRN_ASSERT(options_.rules.size() == options_.groups.size());
  find_recomputed();
  find_meshes();
  find_parameters();
  for (const ir::TensorId id : layer.graph.saved(recomputed_)) saved_[at(id)] = 1;
  find_fed();
  forward_block({}, {}, Term::compute, [&](const BlockBuilder& builder) {
    for (std::size_t id = 0; id < settled_.size(); ++id)
      settled_[id].assign(builder.placements()[id].begin(), builder.placements()[id].end());
  });
  find_shared_inputs();
  find_saved();
  find_result();
  if (options_.asynchronous) find_arrivals();
}

bool LayerLowering::recomputes(ir::OperatorId id) const {
  if (layer_.position != ir::Position::body) {
    if (!options_.recompute_all || !options_.recompute_ends) return false;
    return layer_.position == ir::Position::entry || id <= result_operator();
  }
  if (options_.recompute_all || layer_.graph.op(id).reruns) return true;
  return named(options_.recompute, layer_.graph.op(id));
}

void LayerLowering::find_recomputed() {
  const auto& operators = layer_.graph.operators();
  int products = 0;
  for (std::size_t id = 0; id < recomputed_.size(); ++id) {
    const ir::Operator& op = operators[id];
    if (op.converts >= 0) {
      recomputed_[id] = recomputed_[at(op.converts)];
      continue;
    }
    const bool product = op.is_plain_contraction();
    if (product) ++products;
    const bool second = options_.recompute_second && layer_.position == ir::Position::body && !is_attention(op) &&
                        (!product || products % 2 == 0);
    recomputed_[id] = recomputes(static_cast<ir::OperatorId>(id)) || second ? 1 : 0;
  }
  keep_result();
  if (options_.recompute_all) return;
  // What nobody reads again is not run again.
  std::vector<char> read(layer_.graph.tensors().size(), 0);
  for (std::size_t id = operators.size(); id-- > 0;) {
    const ir::Operator& op = operators[id];
    if (id < recomputed_.size()) {
      if (!recomputed_[id]) continue;
      const bool wanted = std::any_of(op.accesses.begin(), op.accesses.end(), [&](const ir::Access& access) {
        return access.mode != ir::Mode::read && read[at(access.tensor)] != 0;
      });
      if (!wanted && op.region.empty()) recomputed_[id] = 0;
      if (!recomputed_[id]) continue;
    }
    for (const ir::Access& access : op.accesses)
      if (access.mode == ir::Mode::read) read[at(access.tensor)] = 1;
  }
}

// A result that the loss itself keeps is there already.
void LayerLowering::keep_result() {
  const ir::OperatorId product = result_operator();
  if (product < 0 || !recomputed_[at(product)]) return;
  const auto& operators = layer_.graph.operators();
  for (std::size_t id = layer_.graph.forward_count(); id < operators.size(); ++id)
    for (const ir::Access& access : operators[id].accesses)
      if (access.mode == ir::Mode::read && layer_.graph.producer(access.tensor) == product)
        recomputed_[at(product)] = 0;
}

ir::OperatorId LayerLowering::result_operator() const {
  if (layer_.position != ir::Position::exit) return -1;
  for (auto id = static_cast<ir::OperatorId>(layer_.graph.forward_count()) - 1; id >= 0; --id)
    if (layer_.graph.op(id).is_plain_contraction()) return id;
  return -1;
}

void LayerLowering::find_result() {
  const ir::OperatorId product = result_operator();
  if (product < 0) return;
  for (std::size_t id = static_cast<std::size_t>(product) + 1; id < layer_.graph.forward_count(); ++id)
    for (const ir::Access& access : layer_.graph.operators()[id].accesses) {
      if (access.mode != ir::Mode::read || layer_.graph.producer(access.tensor) != product) continue;
      const ir::Tensor& result = layer_.graph.tensor(access.tensor);
      double bytes = numerics::bytes_per_element(result.format) * static_cast<double>(result.elements(options_.sizes));
      for (std::size_t rule = 0; rule < options_.rules.size(); ++rule)
        if (stated(layer_.graph.operators()[id], access, rule).kind == Placement::Kind::shard)
          bytes /= static_cast<double>(options_.rules[rule].size);
      state_.result_bytes = bytes;
      return;
    }
}

void LayerLowering::find_shared_inputs() {
  if (!options_.share_saved_inputs || options_.rules.empty() || options_.rules.front().size == 1) return;
  for (const ir::TensorId input : layer_.graph.inputs()) {
    if (!saved_[at(input)] || input_held(input) || settled_[at(input)].front().kind != Placement::Kind::replicate)
      continue;
    const ir::Tensor& tensor = layer_.graph.tensor(input);
    for (std::size_t dim = 0; dim < tensor.dims.size(); ++dim) {
      if (tensor.dims[dim].extent.at(options_.sizes) % options_.rules.front().size != 0) continue;
      shared_[at(input)] = 1;
      settled_[at(input)].front() = {Placement::Kind::shard, static_cast<std::uint8_t>(dim), ir::Monoid::sum};
      break;
    }
  }
}

loopnest::Box LayerLowering::box(const ir::Operator& op) const {
  loopnest::Box box = op.domain.box(options_.sizes);
  for (const SplitRule& rule : options_.rules) {
    const int dim = split_dim(op, rule);
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

void LayerLowering::find_parameters() {
  const ir::Graph& graph = layer_.graph;
  state_.partial_elements.assign(options_.rules.size(), 0.0);
  for (std::size_t id = 0; id < graph.forward_count(); ++id)
    for (const ir::Access& access : graph.operators()[id].accesses) {
      const ir::Tensor& tensor = graph.tensor(access.tensor);
      if (tensor.role != ir::Role::parameter || parameter_local_[at(access.tensor)] > 0.0) continue;
      double elements = static_cast<double>(tensor.elements(options_.sizes));
      std::vector<double> extents;
      for (const ir::TensorDim& dim : tensor.dims)
        extents.push_back(static_cast<double>(dim.extent.at(options_.sizes)));
      for (std::size_t rule = 0; rule < options_.rules.size(); ++rule) {
        const Placement placed = stated(graph.operators()[id], access, rule);
        if (placed.kind != Placement::Kind::shard) continue;
        const auto ranks = static_cast<double>(options_.rules[rule].size);
        elements /= ranks;
        extents[placed.dim] /= ranks;
      }
      // Means over rows and over columns of the matrix that the dimensions make, cut in two where these are fewest.
      double factored = elements;
      double rows = 1.0;
      for (std::size_t cut = 0; cut + 1 < extents.size(); ++cut) {
        rows *= extents[cut];
        factored = std::min(factored, rows + elements / rows);
      }
      const ParameterGroup group = mesh_of(access.tensor);
      parameter_local_[at(access.tensor)] = elements;
      state_.elements[group] += elements;
      if (numerics::element_bits(tensor.format) < k_narrow_bits) {
        state_.narrow_elements += elements;
        ++state_.narrow_tensors;
      }
      if (tensor.tied.empty()) state_.factored_elements[group] += factored;
      std::vector<double> partial(options_.rules.size(), 0.0);
      for (std::size_t rule = 0; rule < options_.rules.size(); ++rule) {
        if (gradient_is_partial(access.tensor, rule)) partial[rule] = elements;
        state_.partial_elements[rule] += partial[rule];
      }
      if (!tensor.tied.empty()) {
        state_.tied.push_back({.tag = tensor.tied,
                               .group = group,
                               .elements = elements,
                               .factored = factored,
                               .partial_elements = std::move(partial)});
        state_.tied_elements[group] += elements;
      }
    }
}

void LayerLowering::find_meshes() {
  const auto& tensors = layer_.graph.tensors();
  for (std::size_t id = 0; id < tensors.size(); ++id)
    for (const SplitRule& rule : options_.rules)
      if (group_of(rule.axis) == ParameterGroup::expert && concerns(rule, tensors[id]))
        mesh_[id] = ParameterGroup::expert;
}

Placement LayerLowering::stated(const ir::Operator& op, const ir::Access& access, std::size_t rule) const {
  const SplitRule& split = options_.rules[rule];
  if (mesh_of(access.tensor) != group_of(split.axis)) return {};
  return placement(access, split_dim(op, split));
}

PerGroup<double> LayerState::moved_elements(bool without_tied) const {
  PerGroup<double> result = elements;
  if (without_tied)
    for (const ParameterGroup group : k_all_parameter_groups) result[group] -= tied_elements[group];
  return result;
}

bool LayerLowering::gradient_is_partial(ir::TensorId parameter, std::size_t rule) const {
  const ir::Graph& graph = layer_.graph;
  const auto sums_parts = [&](ir::OperatorId id, ir::TensorId written) {
    const ir::Operator& op = graph.op(id);
    return std::any_of(op.accesses.begin(), op.accesses.end(), [&](const ir::Access& access) {
      return access.tensor == written && access.mode != ir::Mode::read &&
             stated(op, access, rule).kind == Placement::Kind::partial;
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
    // A gradient first written on its own and then added: what was written decides.
    for (const ir::Access& access : accesses)
      if (access.mode == ir::Mode::read && is_fresh_gradient(graph.tensor(access.tensor)) &&
          sums_parts(graph.producer(access.tensor), access.tensor))
        return true;
  }
  return false;
}

void LayerLowering::find_fed() {
  const ir::Graph& graph = layer_.graph;
  std::vector<char> known(graph.tensors().size(), 0);
  for (std::size_t id = 0; id < graph.forward_count(); ++id)
    for (const ir::Access& access : graph.operators()[id].accesses) {
      if (access.mode != ir::Mode::read || graph.tensor(access.tensor).role != ir::Role::activation) continue;
      if (known[at(access.tensor)] || graph.producer(access.tensor) >= 0 || is_input(access.tensor)) continue;
      known[at(access.tensor)] = 1;
      fed_.push_back(access.tensor);
    }
}

void LayerLowering::find_saved() {
  const ir::Graph& graph = layer_.graph;
  for (std::size_t id = 0; id < saved_.size(); ++id) {
    if (!saved_[id]) continue;
    const auto tensor = static_cast<ir::TensorId>(id);
    if (input_held(tensor)) continue;
    state_.saved_bytes += local_bytes(tensor);
    if (graph.tensor(tensor).statistic) state_.saved_statistic_bytes += local_bytes(tensor);
    for (std::size_t output = 0; output < graph.outputs().size(); ++output)
      if (storage(graph.outputs()[output]) == tensor) state_.kept_outputs |= 1U << output;
  }
}

ir::TensorId LayerLowering::storage(ir::TensorId tensor) const {
  while (layer_.graph.tensor(tensor).alias_of != ir::k_no_tensor) tensor = layer_.graph.tensor(tensor).alias_of;
  return tensor;
}

bool LayerLowering::arrives(ir::TensorId tensor) const { return arrives_[at(tensor)] != 0; }

// Layers of one kind follow each other: what one leaves under way, the next finds under way.
void LayerLowering::find_arrivals() {
  const ir::Graph& graph = layer_.graph;
  const std::size_t both = std::min(graph.inputs().size(), graph.outputs().size());
  std::vector<char> forward_flying(both, 0), backward_flying(both, 0);
  forward_block({}, {}, Term::compute, [&](const BlockBuilder& builder) {
    for (std::size_t i = 0; i < both; ++i) forward_flying[i] = builder.in_flight(graph.outputs()[i]);
  });
  backward_block({}, {}, [&](const BlockBuilder& builder) {
    for (std::size_t i = 0; i < both; ++i) {
      const ir::TensorId gradient = graph.gradient(graph.inputs()[i]);
      backward_flying[i] = gradient != ir::k_no_tensor && builder.in_flight(gradient);
    }
  });
  for (std::size_t i = 0; i < both; ++i) {
    arrives_[at(graph.inputs()[i])] = forward_flying[i];
    if (graph.gradient(graph.outputs()[i]) != ir::k_no_tensor)
      arrives_[at(graph.border_gradient(graph.outputs()[i]))] = backward_flying[i];
  }
}

bool LayerLowering::is_input(ir::TensorId tensor) const {
  const auto& inputs = layer_.graph.inputs();
  return std::find(inputs.begin(), inputs.end(), tensor) != inputs.end();
}

bool LayerLowering::input_held(ir::TensorId tensor) const {
  const auto& inputs = layer_.graph.inputs();
  const auto input = std::find(inputs.begin(), inputs.end(), tensor);
  return input != inputs.end() && ((options_.inputs_held >> (input - inputs.begin())) & 1U) != 0;
}

Placement LayerLowering::settled(ir::TensorId tensor, std::size_t rule) const { return settled_[at(tensor)][rule]; }

double LayerLowering::local_bytes(ir::TensorId tensor) const {
  const ir::Tensor& t = layer_.graph.tensor(tensor);
  double bytes = numerics::bytes_per_element(t.format) * static_cast<double>(t.elements(options_.sizes));
  for (std::size_t rule = 0; rule < options_.rules.size(); ++rule)
    if (settled_[at(tensor)][rule].kind == Placement::Kind::shard)
      bytes /= static_cast<double>(options_.rules[rule].size);
  return bytes;
}

bool LayerLowering::border_replicated(ir::TensorId tensor, std::size_t rule) const {
  return border_placement(layer_.graph.tensor(tensor), options_.rules[rule]).kind == Placement::Kind::replicate;
}

double LayerLowering::border_bytes(ir::TensorId tensor) const {
  const ir::Tensor& t = layer_.graph.tensor(tensor);
  double bytes = numerics::bytes_per_element(t.format) * static_cast<double>(t.elements(options_.sizes));
  for (std::size_t rule = 0; rule < options_.rules.size(); ++rule)
    if (!border_replicated(tensor, rule)) bytes /= static_cast<double>(options_.rules[rule].size);
  return bytes;
}

Block LayerLowering::forward(const GradientSync& parameter_gather, const UnitTraffic& traffic) const {
  return forward_block(parameter_gather, traffic, Term::compute, {});
}
Block LayerLowering::again() const { return forward_block({}, {}, Term::recompute, {}); }
Block LayerLowering::backward(const GradientSync& gradient_sync, const UnitTraffic& traffic,
                              PerGroup<double>* in_flight) const {
  return backward_block(gradient_sync, traffic, [&](const BlockBuilder& builder) {
    if (in_flight != nullptr) *in_flight = builder.in_flight();
  });
}

Block LayerLowering::forward_block(const GradientSync& parameter_gather, const UnitTraffic& traffic, Term term,
                                   const Observer& observe) const {
  const ir::Graph& graph = layer_.graph;
  BlockBuilder builder(*this, layer_.name + (term == Term::recompute ? " forward again" : " forward"), false);
  builder.open(traffic);
  if (parameter_gather.collective != Collective::none)
    builder.gather_parameters(parameter_gather, state_.moved_elements(parameter_gather.without_tied));
  for (const ir::TensorId input : graph.inputs()) builder.receive(input, input_held(input));
  for (const ir::TensorId data : fed_) builder.receive(data, false);
  std::vector<ir::OperatorId> order(graph.forward_count());
  for (std::size_t id = 0; id < order.size(); ++id) order[id] = static_cast<ir::OperatorId>(id);
  builder.run(order, std::vector<Term>(order.size(), term), {});
  for (const ir::TensorId output : graph.outputs()) builder.hand_over(output);
  builder.close(traffic);
  if (observe) observe(builder);
  return builder.finish();
}

}  // namespace cairn::plan
