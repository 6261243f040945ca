#include <algorithm>

#include "cairn/splits/autoddl.h"

namespace cairn::splits {
namespace {

bool is_batch(const std::string& dim) { return dim == "b" || dim == "batch"; }

// Experts' rules for one operator along one axis.
class ExpertRules {
 public:
  ExpertRules(const ir::Graph& graph, const PlacementProblem& problem, std::span<const choice::Option> chosen)
      : graph_(graph), problem_(problem), chosen_(chosen) {}

  bool splits_batch(const ir::Operator& op, const Signature& signature, std::size_t axis) const {
    const AxisPart& part = signature.parts[axis];
    return part.kind == AxisPart::Kind::split && is_batch(op.domain.dims()[part.dim].name);
  }

  // Reads some operand split as its producer made it.
  bool follows(const ir::Operator& op, const Signature& signature, std::size_t axis) const {
    for (std::size_t i = 0; i < op.accesses.size(); ++i) {
      const Placement& read = signature.operands[i].value[axis];
      const ir::OperatorId from = graph_.producer(op.accesses[i].tensor);
      if (op.accesses[i].mode != ir::Mode::read || from < 0 || read.kind != Placement::Kind::shard) continue;
      const auto id = static_cast<std::size_t>(from);
      const Signature& made = problem_.operators[id].signatures[static_cast<std::size_t>(chosen_[id])];
      const auto& accesses = graph_.op(from).accesses;
      for (std::size_t j = 0; j < accesses.size(); ++j)
        if (accesses[j].tensor == op.accesses[i].tensor && accesses[j].mode != ir::Mode::read &&
            made.operands[j].value[axis] == read)
          return true;
    }
    return false;
  }

  // Splits parameters and the result of a product.
  bool splits_columns(const ir::Operator& op, const Signature& signature, std::size_t axis) const {
    if (op.kind != ir::Kind::contraction) return false;
    bool parameter = false, result = false;
    for (std::size_t i = 0; i < op.accesses.size(); ++i) {
      if (signature.operands[i].value[axis].kind != Placement::Kind::shard) continue;
      parameter = parameter || graph_.tensor(op.accesses[i].tensor).role == ir::Role::parameter;
      result = result || op.accesses[i].mode != ir::Mode::read;
    }
    return parameter && result;
  }

 private:
  const ir::Graph& graph_;
  const PlacementProblem& problem_;
  std::span<const choice::Option> chosen_;
};

}  // namespace

std::vector<choice::Option> expert_options(const PlacementProblem& problem, std::size_t tensor_axes) {
  const ir::Graph& graph = *problem.graph;
  std::vector<choice::Option> chosen;
  for (std::size_t id = 0; id < problem.operators.size(); ++id) {
    const ir::Operator& op = graph.op(static_cast<ir::OperatorId>(id));
    const std::vector<Signature>& all = problem.operators[id].signatures;
    const ExpertRules rules(graph, problem, chosen);
    std::vector<std::size_t> left(all.size());
    for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
    const std::size_t axes = all.front().parts.size();
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const auto first = [&](const auto& rule) { return std::find_if(left.begin(), left.end(), rule); };
      const bool tensor = axis + tensor_axes >= axes;
      auto found = first([&](std::size_t i) {
        return tensor ? rules.follows(op, all[i], axis) : rules.splits_batch(op, all[i], axis);
      });
      if (found == left.end() && tensor)
        found = first([&](std::size_t i) { return rules.splits_columns(op, all[i], axis); });
      const AxisPart part = found == left.end() ? AxisPart{} : all[*found].parts[axis];
      left.erase(std::remove_if(left.begin(), left.end(), [&](std::size_t i) { return all[i].parts[axis] != part; }),
                 left.end());
    }
    chosen.push_back(static_cast<choice::Option>(left.front()));
  }
  return chosen;
}

}  // namespace cairn::splits
