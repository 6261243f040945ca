#include "tensor_uses.h"

#include <algorithm>

namespace cairn::plan {

TensorUses::TensorUses(const LayerPass& pass) : pass_(pass), last_(pass.graph().tensors().size(), -1) {}

void TensorUses::note(const OperatorOrder& order) {
  for (const ir::OperatorId id : order.operators) {
    for (const ir::Access& access : pass_.graph().op(id).accesses) last_[at(pass_.storage(access.tensor))] = noted_;
    ++noted_;
  }
}

std::optional<Placements> TensorUses::next_wanted(ir::TensorId tensor, std::size_t position,
                                                  const OperatorOrder& order) const {
  const auto read_by = [&](const ir::Operator& op) -> std::optional<Placements> {
    const auto read = std::find_if(op.accesses.begin(), op.accesses.end(), [&](const ir::Access& access) {
      return access.mode == ir::Mode::read && access.tensor == tensor;
    });
    if (read == op.accesses.end()) return std::nullopt;
    return pass_.layer.placements(op, *read);
  };
  for (std::size_t later = position + 1; later < order.size(); ++later)
    if (const auto wanted = read_by(pass_.op(order, later))) return wanted;
  if (leaves(tensor)) return pass_.layer.border(tensor);
  if (!pass_.keeps(tensor)) return std::nullopt;
  const auto& operators = pass_.graph().operators();
  for (std::size_t id = pass_.graph().forward_count(); id < operators.size(); ++id)
    if (const auto wanted = read_by(operators[id])) return wanted;
  return std::nullopt;
}

bool TensorUses::leaves(ir::TensorId tensor) const {
  const ir::Graph& graph = pass_.graph();
  const auto& boundary = pass_.backward ? graph.inputs() : graph.outputs();
  return std::any_of(boundary.begin(), boundary.end(), [&](ir::TensorId id) {
    const ir::TensorId handed_over = pass_.backward ? graph.gradient(id) : id;
    return handed_over != ir::k_no_tensor && pass_.storage(handed_over) == pass_.storage(tensor);
  });
}

}  // namespace cairn::plan
