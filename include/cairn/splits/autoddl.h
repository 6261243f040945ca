// AutoDDL's performance model: the time of a training step when each operator is split in its own way over a mesh.
//
//   F = sum over operators (compute + parameter gradients + statistics + border)
//     + sum over tensors and their readers (boxing of the value, forward, + boxing of its gradient, backward)      [s]
//
//   compute      FLOPs of the fullest part, forward and backward, / (peak x efficiency). A contraction has one backward
//                product for each factor that wants a gradient (3 products in all for y = x W, 2 where x comes from
//                outside), a scan one for its inputs and one for its parameters; other operators have the FLOPs that
//                their derivative states, else as many again.
//   parameter    the gradient of a parameter, a partial sum along an axis where the operator is split and the parameter
//   gradients    is not, is boxed to the placement in which the parameter is kept, the one in which it is read
//   statistics   all-reduces of what a norm, a softmax or a loss keeps of each row, where rows are split: of a norm its
//                two moments, and two sums backward; of a softmax maximum and sum, and one sum backward; of a loss
//                maximum, sum and the target's logit (cross-entropy), or one sum
//   border       a result that nothing reads becomes whole, and its gradient comes back from there
//   boxing       TensorBoxing: the cheapest sequence of collectives, one axis each
//
// A parameter with several readers is kept where the first reads it and boxed from there to the others. A tensor with
// several readers is boxed for each of them; what they might share is not seen by costs of pairs. Inputs of the graph
// come in any placement. Nothing overlaps.
//
// Example, y = x W of 2 m n k FLOPs over p devices of f FLOP/s, bandwidth b, x from elsewhere in the graph, e bytes an
// element: S(m) costs 6 m n k / (p f) + 2 (p-1)/p e k n / b (data parallelism); S(n) and S(k) 6 m n k / (p f), and the
// edges pay where x is made or y is wanted whole.
// Source: J. Chen, S. Li, R. Guo, J. Yuan, T. Hoefler, "AutoDDL", 2023 (arXiv 2301.06813). Its tables were not read;
// the model is built from its description.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/choice/descent.h"
#include "cairn/splits/signature.h"

namespace cairn::splits {

struct PlacementSetup {
  Mesh mesh;
  core::FlopsPerSecond peak = {};  // of one device
  double efficiency = 1.0;         // share of the peak that operators reach, in (0, 1]
  loopnest::Sizes sizes = {};
};

struct OperatorTime {
  core::Seconds compute = {};
  core::Seconds parameter_gradients = {};
  core::Seconds statistics = {};
  core::Seconds border = {};
  core::Seconds total() const { return compute + parameter_gradients + statistics + border; }
};

// The options of one vertex.
struct PlacedOperator {
  std::string name;
  bool passes_on = false;  // one activation read, no parameters, element by element or a view
  std::vector<Signature> signatures = {};
  std::vector<std::string> texts = {};
  std::vector<OperatorTime> times = {};
  // The option of that text ("S(m) B"), or -1.
  choice::Option option(std::string_view text) const;
};

struct PlacementProblem {
  std::vector<PlacedOperator> operators = {};  // those of the forward pass
  choice::CostNetwork costs = {};              // vertex i: operators[i]; seconds
};

// Errors: core::ConfigurationError at `mesh axes`, `peak` or `efficiency` for more than k_max_mesh_axes axes, devices
// below 1, a negative latency, or a rate that is not positive.
PlacementProblem placement_problem(const ir::Graph& graph, const PlacementSetup& setup);

// Experts' choices, to start from and to compare with: the outer axes split the batch ("b" or "batch"), the innermost
// `tensor_axes` each split what comes in split along the same dimension, else a product with parameters over its
// columns (Megatron: columns, then rows); an operator that can do neither along an axis is replicated along it.
// `tensor_axes` 0: data parallelism.
std::vector<choice::Option> expert_options(const ir::Graph& graph, const PlacementProblem& problem,
                                           std::size_t tensor_axes);

// Coordinate descent over the operators that do more than pass a tensor on. Between a producer and a reader that
// disagree, each placement of such an operator costs the same, so that descent over all operators, one at a time, stays
// where the placement happens to change. Those that touch at most two others are folded into the costs of the pair,
// each at its best, which leaves the least F as it is, and chosen last. `descent.starts`: of all operators.
// Of 1,000 random chains of two to six operators with nine signatures each, a third of them element-wise, ten restarts
// find the least F of 99 % this way, of 88 % without (tests/splits/autoddl_test.cpp has 200 of them).
choice::Choice descend(const PlacementProblem& problem, const choice::Descent& descent);

// A tensor on its way from its producer to a reader (backward: its gradient on the way back).
struct PlacedTransfer {
  std::string tensor;
  std::string from;
  std::string to;
  bool backward = false;
  std::vector<BoxingStep> steps = {};  // those that move something
  core::Seconds time = {};
};

struct PlacementRow {
  std::string name;
  std::string signature;
  OperatorTime time = {};
};

// A choice with its parts, which add up to its cost.
struct PlacementAnswer {
  std::vector<PlacementRow> operators = {};
  std::vector<PlacedTransfer> transfers = {};
  core::Seconds total = {};
};

PlacementAnswer explain(const ir::Graph& graph, const PlacementSetup& setup, const PlacementProblem& problem,
                        std::span<const choice::Option> options);

}  // namespace cairn::splits
