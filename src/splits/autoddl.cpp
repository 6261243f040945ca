#include "cairn/splits/autoddl.h"

#include <algorithm>
#include <utility>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"

namespace cairn::splits {
namespace {

using loopnest::DimId;

// A tensor between two operators: from its producer, or from the first reader of a parameter, to another.
struct TensorLink {
  ir::TensorId tensor = ir::k_no_tensor;
  ir::OperatorId from = -1;
  ir::OperatorId to = -1;
};

bool has_placement(const std::vector<NdPlacement>& placements, const NdPlacement& placement) {
  return std::find(placements.begin(), placements.end(), placement) != placements.end();
}

// Of each option the placements of a tensor, which are few: as positions in a list of different ones.
struct PlacementList {
  std::vector<NdPlacement> different;
  std::vector<std::vector<std::size_t>> of_option;

  void add(const std::vector<NdPlacement>& placements) {
    std::vector<std::size_t>& added = of_option.emplace_back();
    for (const NdPlacement& each : placements) {
      if (!has_placement(different, each)) different.push_back(each);
      added.push_back(
          static_cast<std::size_t>(std::find(different.begin(), different.end(), each) - different.begin()));
    }
  }
};

// Where a parameter is kept: summands of it are made from the whole.
NdPlacement kept_placement(NdPlacement read) {
  for (Placement& each : read)
    if (each.kind == Placement::Kind::partial) each = {};
  return read;
}

// FLOPs per point of the domain, forward and backward.
double training_flops_per_point(const ir::Graph& graph, const ir::Operator& op) {
  int factors = 0;
  bool activations = false, parameters = false;
  for (const ir::Access& access : op.accesses) {
    if (access.mode != ir::Mode::read || access.gradient == ir::InputGradient::none) continue;
    factors += access.is_factor() ? 1 : 0;
    (graph.tensor(access.tensor).role == ir::Role::parameter ? parameters : activations) = true;
  }
  if (op.is_plain_contraction()) return op.flops_per_point * (1.0 + factors);
  if (op.kind == ir::Kind::scan) return op.flops_per_point * (1.0 + (activations ? 1 : 0) + (parameters ? 1 : 0));
  if (op.backward_flops_per_point > 0.0) return op.flops_per_point + op.backward_flops_per_point;
  return op.flops_per_point * (activations || parameters ? 2.0 : 1.0);
}

// All-reduces of one number per row, forward and backward.
double statistic_sums(const ir::Operator& op) {
  constexpr double k_norm = 4.0, k_softmax = 3.0, k_cross_entropy = 3.0, k_squared_error = 1.0;
  if (op.variant == "softmax") return k_softmax;
  if (op.variant == "cross-entropy") return k_cross_entropy;
  return op.variant == "squared-error" ? k_squared_error : k_norm;
}

class PlacementModel {
 public:
  PlacementModel(const ir::Graph& graph, const PlacementSetup& setup) : graph_(graph), setup_(setup) {
    for (const ir::Tensor& tensor : graph.tensors()) {
      std::vector<std::int64_t> extents;
      for (const ir::TensorDim& dim : tensor.dims) extents.push_back(dim.extent.at(setup.sizes));
      const double bytes =
          static_cast<double>(tensor.elements(setup.sizes)) * numerics::bytes_per_element(tensor.format);
      boxings_.emplace_back(std::move(extents), core::Bytes::from_base(bytes), setup.mesh);
    }
    readers_.resize(graph.tensors().size());
    for (std::size_t id = 0; id < graph.forward_count(); ++id) add_links(static_cast<ir::OperatorId>(id));
  }

  const std::vector<TensorLink>& links() const { return links_; }

  PlacedOperator placed(ir::OperatorId id) {
    const ir::Operator& op = graph_.op(id);
    PlacedOperator result{
        .name = op.name, .passes_on = passes_on(op), .signatures = signatures(graph_, op, setup_.mesh, setup_.sizes)};
    for (const Signature& each : result.signatures) {
      result.texts.push_back(text(graph_, op, each));
      result.times.push_back({.compute = compute(op, each),
                              .parameter_gradients = parameter_gradients(id, each),
                              .statistics = statistics(op, each),
                              .border = border(op, each)});
    }
    return result;
  }

  // Pairs of placements between which the value moves forward, or the gradient backward.
  std::vector<std::pair<NdPlacement, NdPlacement>> moves(const TensorLink& link, const Signature& from,
                                                         const Signature& to, bool backward) const {
    const OperandPlacement made = made_by(link, from);
    std::vector<std::pair<NdPlacement, NdPlacement>> result;
    for (const NdPlacement& read : placements(graph_.op(link.to), to, link.tensor, backward))
      result.push_back(backward ? std::pair(read, made.gradient) : std::pair(made.value, read));
    return result;
  }

  // Seconds of the link for every pair of options: costs[i * options(link.to) + j].
  std::vector<double> edge(const TensorLink& link, const std::vector<Signature>& from,
                           const std::vector<Signature>& to) {
    std::vector<double> costs(from.size() * to.size(), 0.0);
    for (const bool backward : {false, true}) {
      PlacementList made, read;
      for (const Signature& each : from) {
        const OperandPlacement placement = made_by(link, each);
        made.add({backward ? placement.gradient : placement.value});
      }
      for (const Signature& each : to) read.add(placements(graph_.op(link.to), each, link.tensor, backward));
      const std::size_t width = read.different.size();
      std::vector<double> seconds;
      for (const NdPlacement& here : made.different)
        for (const NdPlacement& there : read.different)
          seconds.push_back(boxing(link.tensor).time(backward ? there : here, backward ? here : there) /
                            core::k_second);
      for (std::size_t i = 0; i < from.size(); ++i)
        for (std::size_t j = 0; j < to.size(); ++j)
          for (const std::size_t each : read.of_option[j])
            costs[i * to.size() + j] += seconds[made.of_option[i].front() * width + each];
    }
    return costs;
  }

  TensorBoxing& boxing(ir::TensorId tensor) { return boxings_[static_cast<std::size_t>(tensor)]; }

 private:
  void add_links(ir::OperatorId id) {
    for (const ir::Access& access : graph_.op(id).accesses) {
      if (access.mode != ir::Mode::read) continue;
      auto& readers = readers_[static_cast<std::size_t>(access.tensor)];
      if (std::find(readers.begin(), readers.end(), id) != readers.end()) continue;
      readers.push_back(id);
      const bool is_parameter = graph_.tensor(access.tensor).role == ir::Role::parameter;
      const ir::OperatorId from = is_parameter ? readers.front() : graph_.producer(access.tensor);
      if (from >= 0 && from != id) links_.push_back({.tensor = access.tensor, .from = from, .to = id});
    }
  }

  OperandPlacement made_by(const TensorLink& link, const Signature& signature) const {
    const ir::Operator& op = graph_.op(link.from);
    const bool is_parameter = graph_.tensor(link.tensor).role == ir::Role::parameter;
    for (std::size_t i = 0; i < op.accesses.size(); ++i) {
      if (op.accesses[i].tensor != link.tensor || (op.accesses[i].mode == ir::Mode::read) != is_parameter) continue;
      if (!is_parameter) return signature.operands[i];
      const NdPlacement place = kept_placement(signature.operands[i].value);
      return {.value = place, .gradient = place};
    }
    CAIRN_ASSERT(false && "a link leaves an operator that has its tensor");
    return {};
  }

  bool passes_on(const ir::Operator& op) const {
    int reads = 0;
    for (const ir::Access& access : op.accesses) {
      if (graph_.tensor(access.tensor).role != ir::Role::activation) return false;
      reads += access.mode == ir::Mode::read ? 1 : 0;
    }
    return reads == 1 && (op.kind == ir::Kind::pointwise || op.kind == ir::Kind::opaque);
  }

  // The different placements in which an operator reads a tensor, or makes its gradient where it makes one.
  static std::vector<NdPlacement> placements(const ir::Operator& op, const Signature& signature, ir::TensorId tensor,
                                             bool gradients) {
    std::vector<NdPlacement> result;
    for (std::size_t i = 0; i < op.accesses.size(); ++i) {
      const ir::Access& access = op.accesses[i];
      if (access.tensor != tensor || access.mode != ir::Mode::read) continue;
      if (gradients && access.gradient == ir::InputGradient::none) continue;
      const NdPlacement& placement = gradients ? signature.operands[i].gradient : signature.operands[i].value;
      if (!has_placement(result, placement)) result.push_back(placement);
    }
    return result;
  }

  // The fullest part is the one with the most points under the guards; without guards all are equal.
  core::Seconds compute(const ir::Operator& op, const Signature& signature) const {
    loopnest::Box box = op.domain.box(setup_.sizes);
    std::vector<std::int64_t> parts;
    std::int64_t boxes = 1;
    for (std::size_t dim = 0; dim < box.size(); ++dim) {
      parts.push_back(parts_of(signature, static_cast<DimId>(dim), setup_.mesh));
      box[dim].end /= parts.back();
      const auto guards = [&](const loopnest::Guard& guard) { return guard.uses(static_cast<DimId>(dim)); };
      if (std::none_of(op.domain.guards().begin(), op.domain.guards().end(), guards)) parts.back() = 1;
      boxes *= parts.back();
    }
    std::int64_t fullest = 0;
    for (std::int64_t each = 0; each < boxes; ++each) {
      loopnest::Box part = box;
      std::int64_t rest = each;
      for (std::size_t dim = 0; dim < box.size(); rest /= parts[dim], ++dim) {
        const std::int64_t shift = rest % parts[dim] * box[dim].extent();
        part[dim] = {.begin = box[dim].begin + shift, .end = box[dim].end + shift};
      }
      fullest = std::max(fullest, op.domain.points(part));
    }
    const auto flops = core::Flops::from_base(static_cast<double>(fullest) * training_flops_per_point(graph_, op));
    return flops / (setup_.peak * setup_.efficiency);
  }

  core::Seconds parameter_gradients(ir::OperatorId id, const Signature& signature) {
    const ir::Operator& op = graph_.op(id);
    core::Seconds total;
    std::vector<ir::TensorId> done;
    for (std::size_t i = 0; i < op.accesses.size(); ++i) {
      const ir::TensorId tensor = op.accesses[i].tensor;
      if (graph_.tensor(tensor).role != ir::Role::parameter || op.accesses[i].mode != ir::Mode::read ||
          readers_[static_cast<std::size_t>(tensor)].front() != id ||
          std::find(done.begin(), done.end(), tensor) != done.end())
        continue;
      done.push_back(tensor);
      const NdPlacement place = kept_placement(signature.operands[i].value);
      for (const NdPlacement& read : placements(op, signature, tensor, false))
        total += boxing(tensor).time(place, read);
      for (const NdPlacement& gradient : placements(op, signature, tensor, true))
        total += boxing(tensor).time(gradient, place);
    }
    return total;
  }

  core::Seconds statistics(const ir::Operator& op, const Signature& signature) {
    for (std::size_t i = 0; i < op.accesses.size() && op.kind == ir::Kind::reduce; ++i) {
      const ir::Access& access = op.accesses[i];
      if (access.mode != ir::Mode::write || !graph_.tensor(access.tensor).statistic) continue;
      const NdPlacement& whole = signature.operands[i].value;
      NdPlacement parts = whole;
      for (std::size_t axis = 0; axis < parts.size(); ++axis)
        if (signature.parts[axis].kind == AxisPart::Kind::split && parts[axis].kind == Placement::Kind::replicate)
          parts[axis].kind = Placement::Kind::partial;
      return boxing(access.tensor).time(parts, whole) * statistic_sums(op);
    }
    return {};
  }

  core::Seconds border(const ir::Operator& op, const Signature& signature) {
    core::Seconds total;
    std::vector<ir::TensorId> done;
    for (std::size_t i = 0; i < op.accesses.size(); ++i) {
      const ir::TensorId tensor = op.accesses[i].tensor;
      const auto& outputs = graph_.outputs();
      const bool leaves = readers_[static_cast<std::size_t>(tensor)].empty() ||
                          std::find(outputs.begin(), outputs.end(), tensor) != outputs.end();
      if (op.accesses[i].mode == ir::Mode::read || !leaves || graph_.tensor(tensor).statistic ||
          std::find(done.begin(), done.end(), tensor) != done.end())
        continue;
      done.push_back(tensor);
      total += boxing(tensor).time_through_whole(signature.operands[i].value, signature.operands[i].gradient);
    }
    return total;
  }

  const ir::Graph& graph_;
  const PlacementSetup& setup_;
  std::vector<TensorBoxing> boxings_;
  std::vector<std::vector<ir::OperatorId>> readers_;  // of each tensor, in order
  std::vector<TensorLink> links_;
};

void check_setup(const PlacementSetup& setup) {
  core::Diagnostics diagnostics;
  const auto complain = [&](const char* key, std::string message) {
    core::Diagnostic diagnostic;
    diagnostic.severity = core::Severity::error;
    diagnostic.key_path = key;
    diagnostic.message = std::move(message);
    diagnostics.add(std::move(diagnostic));
  };
  if (setup.mesh.size() > k_max_mesh_axes)
    complain("mesh axes", "has " + std::to_string(setup.mesh.size()) + " axes; at most " +
                              std::to_string(k_max_mesh_axes) + " are modelled");
  for (const MeshAxis& axis : setup.mesh)
    if (axis.devices < 1 || axis.latency < core::Seconds{} || !(axis.bandwidth > core::BytesPerSecond{}))
      complain("mesh axes",
               "axis '" + axis.name + "' needs at least 1 device, no negative latency, a positive bandwidth");
  if (!(setup.peak > core::FlopsPerSecond{})) complain("peak", "must be positive");
  if (!(setup.efficiency > 0.0 && setup.efficiency <= 1.0)) complain("efficiency", "must be in (0, 1]");
  diagnostics.raise_if_errors();
}

}  // namespace

choice::Option PlacedOperator::option(std::string_view text) const {
  const auto found = std::find(texts.begin(), texts.end(), text);
  return found == texts.end() ? -1 : static_cast<choice::Option>(found - texts.begin());
}

PlacementProblem placement_problem(const ir::Graph& graph, const PlacementSetup& setup) {
  check_setup(setup);
  PlacementModel model(graph, setup);
  PlacementProblem problem;
  for (std::size_t id = 0; id < graph.forward_count(); ++id) {
    problem.operators.push_back(model.placed(static_cast<ir::OperatorId>(id)));
    std::vector<double> costs;
    for (const OperatorTime& time : problem.operators.back().times) costs.push_back(time.total() / core::k_second);
    problem.costs.add_vertex(std::move(costs));
  }
  for (const TensorLink& link : model.links()) {
    const std::vector<Signature>& from = problem.operators[static_cast<std::size_t>(link.from)].signatures;
    const std::vector<Signature>& to = problem.operators[static_cast<std::size_t>(link.to)].signatures;
    problem.costs.add_edge(link.from, link.to, model.edge(link, from, to));
  }
  return problem;
}

PlacementAnswer explain(const ir::Graph& graph, const PlacementSetup& setup, const PlacementProblem& problem,
                        std::span<const choice::Option> options) {
  PlacementModel model(graph, setup);
  PlacementAnswer answer;
  const auto chosen = [&](ir::OperatorId id) {
    return static_cast<std::size_t>(options[static_cast<std::size_t>(id)]);
  };
  for (std::size_t id = 0; id < problem.operators.size(); ++id) {
    const PlacedOperator& op = problem.operators[id];
    const std::size_t option = chosen(static_cast<ir::OperatorId>(id));
    answer.operators.push_back({.name = op.name, .signature = op.texts[option], .time = op.times[option]});
    answer.total += op.times[option].total();
  }
  for (const TensorLink& link : model.links())
    for (const bool backward : {false, true}) {
      const PlacedOperator& from = problem.operators[static_cast<std::size_t>(link.from)];
      const PlacedOperator& to = problem.operators[static_cast<std::size_t>(link.to)];
      const auto moves =
          model.moves(link, from.signatures[chosen(link.from)], to.signatures[chosen(link.to)], backward);
      PlacedTransfer transfer{
          .tensor = graph.tensor(link.tensor).name, .from = from.name, .to = to.name, .backward = backward};
      for (const auto& [before, after] : moves)
        for (const BoxingStep& step : model.boxing(link.tensor).steps(before, after)) {
          if (step.collective == program::Collective::none) continue;
          transfer.steps.push_back(step);
          transfer.time += step.time;
        }
      answer.total += transfer.time;
      if (!transfer.steps.empty()) answer.transfers.push_back(std::move(transfer));
    }
  return answer;
}

}  // namespace cairn::splits
