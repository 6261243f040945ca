#include "cairn/splits/propagation.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/core/diagnostics.h"
#include "cairn/core/printable.h"

namespace cairn::splits {
namespace {

using PlacementKind = Placement::Kind;

// In the order in which they are asked.
enum class ProposalKind : std::uint8_t { element_wise, of_result, summed };
constexpr std::array<ProposalKind, 3> k_proposal_kinds{ProposalKind::element_wise, ProposalKind::of_result,
                                                       ProposalKind::summed};

// One way to split an operator over one axis.
struct Way {
  ProposalKind kind = ProposalKind::element_wise;
  std::vector<Placement> operands = {};
};

struct Proposal {
  ProposalKind kind = ProposalKind::element_wise;
  std::uint8_t dim = 0;
  friend auto operator<=>(const Proposal&, const Proposal&) = default;
};

core::ConfigurationError wrong_annotation(const std::string& tensor, std::string message, std::string hint) {
  return {"annotations." + tensor, std::move(message), std::move(hint)};
}

std::string dims_text(const ir::Tensor& tensor) {
  std::vector<std::string> names;
  for (const ir::TensorDim& dim : tensor.dims) names.push_back(dim.name);
  return fmt::format("its dimensions are {}", fmt::join(names, ", "));
}

class Propagation {
 public:
  Propagation(const PlacementProblem& problem, const Mesh& mesh)
      : graph_(*problem.graph), problem_(problem), mesh_(mesh), placed_(graph_.tensors().size()) {
    for (OpenPlacement& each : placed_) each.resize(mesh.size());
    for (std::size_t id = 0; id < problem.operators.size(); ++id) add_ways(static_cast<ir::OperatorId>(id));
  }

  void annotate(const Annotation& annotation) {
    const ir::TensorId id = tensor_named(annotation.tensor);
    if (annotation.placement.size() != mesh_.size())
      throw wrong_annotation(
          annotation.tensor,
          fmt::format("placed along {} axes, and the mesh has {}", annotation.placement.size(), mesh_.size()),
          "say S(dimension), B or * for each");
    for (std::size_t axis = 0; axis < mesh_.size(); ++axis) {
      const std::optional<Placement>& asked = annotation.placement[axis];
      if (!asked) continue;
      std::optional<Placement>& here = placed(id)[axis];
      if (here && *here != *asked)
        throw wrong_annotation(annotation.tensor,
                               fmt::format("annotated twice along {}, and differently", mesh_[axis].name),
                               "leave one of them out");
      const bool exists = asked->kind != PlacementKind::shard || asked->dim < graph_.tensor(id).dims.size();
      if (asked->kind == PlacementKind::partial || !exists)
        throw wrong_annotation(annotation.tensor, "a tensor is annotated as S(dimension) or B",
                               dims_text(graph_.tensor(id)));
      if (!here && asked->kind == PlacementKind::shard && !divides(id, asked->dim, axis))
        throw wrong_annotation(
            annotation.tensor,
            fmt::format("dimension {} does not divide by the {} devices of {} and those that split "
                        "it already",
                        graph_.tensor(id).dims[asked->dim].name, mesh_[axis].devices, mesh_[axis].name),
            "split another dimension, or over fewer devices");
      here = asked;
    }
  }

  Propagated run() {
    Propagated result;
    std::size_t most = 0;  // kinds that are asked
    while (most < k_proposal_kinds.size()) {
      if (round(k_proposal_kinds[most])) {
        ++result.rounds;
        most = 0;
      } else {
        ++most;
      }
    }
    for (const OpenPlacement& each : placed_) {
      NdPlacement& closed = result.tensors.emplace_back();
      for (const std::optional<Placement>& axis : each) closed.push_back(axis.value_or(Placement{}));
    }
    for (std::size_t id = 0; id < problem_.operators.size(); ++id)
      result.options.push_back(option(static_cast<ir::OperatorId>(id), result.tensors));
    return result;
  }

 private:
  OpenPlacement& placed(ir::TensorId id) { return placed_[static_cast<std::size_t>(id)]; }

  ir::TensorId tensor_named(const std::string& name) const {
    std::vector<std::string> names;
    for (std::size_t id = 0; id < graph_.tensors().size(); ++id) {
      const ir::Tensor& tensor = graph_.tensors()[id];
      if (tensor.role == ir::Role::gradient) continue;
      if (tensor.name == name) return static_cast<ir::TensorId>(id);
      names.push_back(tensor.name);
    }
    const std::string near = core::nearest(name, names);
    throw wrong_annotation(
        name, "there is no such tensor",
        near.empty() ? "name a tensor of the forward pass" : fmt::format("did you mean '{}'?", near));
  }

  // Whether the dimension divides by the devices of this axis and of all that split it already.
  bool divides(ir::TensorId id, std::uint8_t dim, std::size_t axis) {
    std::int64_t parts = mesh_[axis].devices;
    for (std::size_t other = 0; other < mesh_.size(); ++other) {
      const std::optional<Placement>& there = placed(id)[other];
      if (other != axis && there && there->kind == PlacementKind::shard && there->dim == dim)
        parts *= mesh_[other].devices;
    }
    return graph_.tensor(id).dims[dim].extent.at({}) % parts == 0;
  }

  void add_ways(ir::OperatorId id) {
    const ir::Operator& op = graph_.op(id);
    std::vector<std::vector<Way>>& of_axes = ways_.emplace_back();
    for (const MeshAxis& axis : mesh_) {
      std::vector<Way>& ways = of_axes.emplace_back();
      for (const Signature& signature : signatures(graph_, op, {axis}, {})) {
        if (signature.parts.front().kind != AxisPart::Kind::split) continue;
        Way way{.kind = ProposalKind::summed};
        for (std::size_t i = 0; i < op.accesses.size(); ++i) {
          way.operands.push_back(signature.operands[i].value.front());
          if (op.accesses[i].mode != ir::Mode::read && way.operands.back().kind == PlacementKind::shard)
            way.kind = ProposalKind::of_result;
        }
        if (op.kind == ir::Kind::pointwise || op.kind == ir::Kind::opaque) way.kind = ProposalKind::element_wise;
        ways.push_back(std::move(way));
      }
    }
  }

  // Whether something was placed.
  bool round(ProposalKind most) {
    bool changed = false;
    std::vector<std::vector<std::optional<Proposal>>> proposals;
    for (std::size_t axis = 0; axis < mesh_.size(); ++axis) proposals.push_back(proposals_along(axis, most));
    for (std::size_t axis = 0; axis < mesh_.size(); ++axis)
      for (std::size_t id = 0; id < placed_.size(); ++id) {
        const std::optional<Proposal>& proposal = proposals[axis][id];
        if (!proposal || !divides(static_cast<ir::TensorId>(id), proposal->dim, axis)) continue;
        placed_[id][axis] = Placement{.kind = PlacementKind::shard, .dim = proposal->dim};
        changed = true;
      }
    return changed;
  }

  // The first proposal that each tensor gets and can take.
  std::vector<std::optional<Proposal>> proposals_along(std::size_t axis, ProposalKind most) {
    std::vector<std::optional<Proposal>> best(placed_.size());
    for (std::size_t id = 0; id < ways_.size(); ++id) {
      const ir::Operator& op = graph_.op(static_cast<ir::OperatorId>(id));
      for (const Way& way : ways_[id][axis]) {
        if (way.kind > most || !agrees(op, way, axis)) continue;
        for (std::size_t i = 0; i < op.accesses.size(); ++i) {
          const ir::TensorId tensor = op.accesses[i].tensor;
          const Placement& wanted = way.operands[i];
          if (wanted.kind != PlacementKind::shard || placed(tensor)[axis] || !divides(tensor, wanted.dim, axis))
            continue;
          std::optional<Proposal>& here = best[static_cast<std::size_t>(tensor)];
          const Proposal proposal{.kind = way.kind, .dim = wanted.dim};
          if (!here || proposal < *here) here = proposal;
        }
      }
    }
    return best;
  }

  bool agrees(const ir::Operator& op, const Way& way, std::size_t axis) {
    for (std::size_t i = 0; i < op.accesses.size(); ++i)
      if (way.operands[i].kind == PlacementKind::shard && placed(op.accesses[i].tensor)[axis] == way.operands[i])
        return true;
    return false;
  }

  // The signature that re-places the fewest operands, each along each axis.
  choice::Option option(ir::OperatorId id, const std::vector<NdPlacement>& tensors) const {
    const ir::Operator& op = graph_.op(id);
    const std::vector<Signature>& all = problem_.operators[static_cast<std::size_t>(id)].signatures;
    choice::Option best = 0;
    std::size_t fewest = op.accesses.size() * mesh_.size() + 1;
    for (std::size_t option = 0; option < all.size(); ++option) {
      std::size_t moved = 0;
      for (std::size_t i = 0; i < op.accesses.size(); ++i)
        for (std::size_t axis = 0; axis < mesh_.size(); ++axis)
          moved += all[option].operands[i].value[axis] == tensors[static_cast<std::size_t>(op.accesses[i].tensor)][axis]
                       ? 0
                       : 1;
      if (moved >= fewest) continue;
      fewest = moved;
      best = static_cast<choice::Option>(option);
    }
    return best;
  }

  const ir::Graph& graph_;
  const PlacementProblem& problem_;
  const Mesh& mesh_;
  std::vector<OpenPlacement> placed_;
  std::vector<std::vector<std::vector<Way>>> ways_;  // by operator and axis
};

}  // namespace

OpenPlacement read_placement(const ir::Tensor& tensor, std::string_view text, std::size_t axes,
                             const std::string& key) {
  OpenPlacement result;
  const auto refuse = [&](std::string_view word) -> core::ConfigurationError {
    return {key, fmt::format("{} is no placement", core::quoted(word)),
            fmt::format("say S(dimension), B or * for each of {} axes; {}", axes, dims_text(tensor))};
  };
  for (std::size_t begin = text.find_first_not_of(' '); begin != std::string_view::npos;) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (result.size() == axes) throw refuse(text);
    if (word == "*") {
      result.emplace_back();
    } else if (word == "B") {
      result.emplace_back(Placement{});
    } else if (word.starts_with("S(") && word.ends_with(')')) {
      const std::string_view name = word.substr(2, word.size() - 3);
      std::uint8_t position = 0;
      const auto [last, problem] = std::from_chars(name.data(), name.data() + name.size(), position);
      const bool is_number = problem == std::errc() && last == name.data() + name.size();
      for (std::size_t dim = 0; !is_number && dim < tensor.dims.size(); ++dim)
        if (tensor.dims[dim].name == name) position = static_cast<std::uint8_t>(dim + 1);
      // Names count from 1 here, so that 0 is none of them.
      if (!is_number && position-- == 0) throw refuse(word);
      if (position >= tensor.dims.size()) throw refuse(word);
      result.emplace_back(Placement{.kind = PlacementKind::shard, .dim = position});
    } else {
      throw refuse(word);
    }
    begin = text.find_first_not_of(' ', end);
  }
  if (result.size() != axes) throw refuse(text);
  return result;
}

Propagated propagate(const PlacementProblem& problem, const Mesh& mesh, std::span<const Annotation> annotations) {
  Propagation propagation(problem, mesh);
  for (const Annotation& each : annotations) propagation.annotate(each);
  return propagation.run();
}

}  // namespace cairn::splits
