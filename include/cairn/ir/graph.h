// The dataflow graph of one layer: forward operators as built, backward operators as derived.
//
// Tensors are addressed by dense ids; operators are kept in execution order (a builder appends producers before
// consumers; checked). What backward must keep from forward is never written down: it is the set of forward tensors
// that backward operators read (saved()).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cairn/ir/operator.h"
#include "cairn/ir/tensor.h"

namespace cairn::ir {

struct DifferentiationOptions {
  // Format in which parameter gradients accumulate over micro-batches.
  numerics::Format parameter_gradient = numerics::Format::fp32;
  // True: the weight-gradient contraction adds into the accumulator itself. False: it writes a gradient in the
  // parameter's format, and a separate operator adds it to the accumulator.
  bool fused_accumulation = true;
};

class Graph {
 public:
  TensorId add_tensor(Tensor tensor);
  OperatorId add_operator(Operator op);
  void set_format(TensorId tensor, numerics::Format format) {
    tensors_[static_cast<std::size_t>(tensor)].format = format;
  }
  void share_gradient(TensorId tensor) { tensors_[static_cast<std::size_t>(tensor)].one_gradient = true; }
  void join_gradient(TensorId tensor) { tensors_[static_cast<std::size_t>(tensor)].joined_gradient = true; }
  void set_pieces(TensorId tensor, std::int64_t pieces) { tensors_[static_cast<std::size_t>(tensor)].pieces = pieces; }
  void set_role(TensorId tensor, Role role) { tensors_[static_cast<std::size_t>(tensor)].role = role; }
  // The layer's boundary, in order. An input is produced by the previous layer, an output consumed by the next.
  void set_inputs(std::vector<TensorId> inputs) { inputs_ = std::move(inputs); }
  void set_outputs(std::vector<TensorId> outputs) { outputs_ = std::move(outputs); }

  // Appends the backward operators in execution order (reverse of forward; for each contraction the input's gradient
  // before the weight's, so that communication of the former can run beside the latter). Gradients that arrive from
  // several consumers are summed by explicit pointwise operators. Once per graph.
  void differentiate(const DifferentiationOptions& options);

  // Other operators in place of these, forward ones first, each with `forward` as its position in the new list: for
  // rewriting passes.
  void replace_operators(std::vector<Operator> operators);

  const std::vector<Tensor>& tensors() const { return tensors_; }
  const std::vector<Operator>& operators() const { return operators_; }
  const Tensor& tensor(TensorId id) const { return tensors_[static_cast<std::size_t>(id)]; }
  const Operator& op(OperatorId id) const { return operators_[static_cast<std::size_t>(id)]; }
  const std::vector<TensorId>& inputs() const { return inputs_; }
  const std::vector<TensorId>& outputs() const { return outputs_; }
  // Number of forward operators: they come first.
  std::size_t forward_count() const { return forward_count_; }

  // The gradient tensor of `tensor` after differentiate(), or k_no_tensor.
  TensorId gradient(TensorId tensor) const { return gradients_[static_cast<std::size_t>(tensor)]; }
  // For an output: the part of its gradient that comes from the next layer (all of it, unless the layer reads its own
  // output).
  TensorId border_gradient(TensorId output) const { return border_gradients_[static_cast<std::size_t>(output)]; }
  // The operator that writes the tensor (forward tensors: the forward operator), or -1 for boundary inputs and
  // parameters.
  OperatorId producer(TensorId tensor) const { return producers_[static_cast<std::size_t>(tensor)]; }

  // Forward activations that must outlive the forward pass when the operators flagged in `recomputed` (by forward
  // operator id; empty: none) run again before backward: everything backward or a recomputed operator reads that is not
  // itself recomputed. Parameters and indices are not listed. Ascending ids.
  std::vector<TensorId> saved(const std::vector<char>& recomputed = {}) const;

  // Elements of all parameters, tied ones included each time.
  std::int64_t parameter_elements() const;

 private:
  std::vector<Tensor> tensors_;
  std::vector<Operator> operators_;
  std::vector<TensorId> inputs_;
  std::vector<TensorId> outputs_;
  std::vector<OperatorId> producers_;
  std::vector<TensorId> gradients_;
  std::vector<TensorId> border_gradients_;
  std::size_t forward_count_ = 0;
  bool differentiated_ = false;
};

// Operators in dependency order by Boost.Graph's topological sort over producer -> consumer edges; equals the stored
// order up to independent operators. Throws core::InternalError naming an operator on a cycle.
std::vector<OperatorId> topological_order(const Graph& graph);

// Operator shard: one operator restricted to the box of iterations that one device executes.
struct Shard {
  const Operator* op = nullptr;
  const Graph* graph = nullptr;
  loopnest::Box box;
  // One of `parts` equal shares of the kernel's work, of which results leave as they come.
  std::int32_t part = 0;
  std::int32_t parts = 1;
  friend bool operator==(const Shard&, const Shard&) = default;
};

// Floating-point operations of the shard, as its kernel executes them: points x flops_per_point. A kernel that skips
// what a mask hides is counted to the pair; the rest of the tiles along the mask's edge, which it computes and throws
// away, is left out.
double flops(const Shard& shard);
// The model's share of them: of unmasked pairs alone, and with attention counted full (Operator).
double flops_unmasked(const Shard& shard);
double flops_full(const Shard& shard);
// Bytes of one access: distinct elements touched x bytes per element; accumulation reads and writes.
double bytes(const Shard& shard, const Access& access);
// Sum over accesses: compulsory traffic of an operator that finds nothing in cache.
double bytes(const Shard& shard);

}  // namespace cairn::ir
