// A forward or backward pass through a layer, and the state of its tensors while its block is written.
#pragma once

#include <vector>

#include "kept_tensors.h"
#include "step_writer.h"

namespace cairn::plan {

// Operators in execution order, each with the label of its time (Term).
struct OperatorOrder {
  std::vector<ir::OperatorId> operators;
  std::vector<Term> terms;

  std::size_t size() const { return operators.size(); }
  void append(ir::OperatorId id, Term term) {
    operators.push_back(id);
    terms.push_back(term);
  }
};

struct LayerPass {
  const RankLayer& layer;
  const KeptTensors& kept;
  bool backward = false;

  const ir::Graph& graph() const { return layer.graph(); }
  const LayerOptions& options() const { return layer.options(); }
  ir::TensorId storage(ir::TensorId tensor) const { return plan::storage(graph(), tensor); }
  const ir::Operator& op(const OperatorOrder& order, std::size_t position) const {
    return graph().op(order.operators[position]);
  }
  // Whether a forward pass leaves the tensor to the backward pass as it is: of a shared input, its share stays.
  bool keeps(ir::TensorId tensor) const {
    const ir::TensorId root = storage(tensor);
    return !backward && kept.saved(root) && !kept.shared(root);
  }
};

// A copy of a tensor in another placement than the one it was made in (a gathered shard).
struct TensorCopy {
  ir::TensorId tensor;
  Placements placement;
  std::int32_t step;  // that completes it
  double bytes;       // memory that it takes; 0: freed
};

// Where the tensors are, and what the next steps wait for.
struct Progress {
  Progress(std::size_t tensors, std::size_t rules) : placements(tensors, Placements(rules)), ready(tensors, -1) {}

  std::vector<Placements> placements;  // by tensor
  std::vector<Dependency> ready;       // by tensor: the transfer that completes it, or -1
  std::vector<TensorCopy> copies;
  std::size_t kept_copies = 0;                      // copies that existed before recomputation began
  Dependencies blocking;                            // the next operator waits for these
  Dependency computed = entry_of(Stream::compute);  // the latest operator
  std::int32_t transferred = -1;                    // the latest transfer over the tensor axis, or -1
};

}  // namespace cairn::plan
