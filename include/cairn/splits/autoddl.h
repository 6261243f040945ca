// AutoDDL's model of a training step in which each operator is split in its own way over a mesh.
//
//   F = sum over operators (kernels + parameter gradients + statistics + border)
//     + sum over tensors and their readers (boxing of the value, forward, + boxing of its gradient, backward)     [ps]
//
//   kernels      the fullest part of the operator and of its derivatives, and sums of gradients where its result has
//                several readers. Views, operators without FLOPs that the loop nest does not show (ir::Kind::opaque),
//                have none.
//   parameter    the gradient of a parameter, a partial sum along an axis where the operator is split and the parameter
//   gradients    is not, is boxed to the placement in which the parameter is kept, the one in which it is read; of
//                several readers the one in which the first reads it, and the others box from there and back
//   statistics   all-reduces of what a norm, a softmax or a loss keeps of each row, where rows are split: of a norm its
//                two moments, and two sums backward; of a softmax maximum and sum, and one sum backward; of a loss
//                maximum, sum and the target's logit (cross-entropy), or one sum
//   border       a result that nothing reads becomes whole, and its gradient comes back from there
//   boxing       TensorBoxing: the cheapest sequence of collectives, one axis each
//
// A tensor with several readers is boxed for each of them; what they might share is not seen by costs of pairs. Inputs
// of the graph come in any placement. Nothing overlaps. The update of the parameters is not part of it.
//
// Memory of a device, another network over the same choices:
//
//   G = sum over parameters of its part (bytes of the value and its gradient + optimizer's state)
//     + sum over tensors that some derivative reads of its part as it was made
//     + sum over readers that keep such a tensor for their derivative in another placement of its part there
//     + sum over later readers of a parameter in another placement of its part there, with the gradient's          [B]
//
// An input of the graph is made as its first reader reads it. Parts of a replica or of a partial sum are whole. What
// lives within one operator (workspace, gradients on their way) is not in it.
//
// What a kernel or a collective takes is the pricer's to say: RatePricer has AutoDDL's constant rates, predict::CostPricer
// the calibrated laws. F is a sum of prices, so that a Program of the same works, one after the other, takes exactly F.
//
// Example, y = x W of 2 m n k FLOPs over p devices of f FLOP/s, bandwidth b, x from elsewhere in the graph, e bytes an
// element: S(m) costs 6 m n k / (p f) + 2 (p-1)/p e k n / b (data parallelism); S(n) and S(k) 6 m n k / (p f), and the
// edges pay where x is made or y is wanted whole.
// Source: J. Chen, S. Li, R. Guo, J. Yuan, T. Hoefler, "AutoDDL", 2023 (arXiv 2301.06813). Its tables were not read;
// the model is built from its description.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/choice/descent.h"
#include "cairn/program/program.h"
#include "cairn/splits/signature.h"

namespace cairn::splits {

struct PlacementSetup {
  Mesh mesh;
  predict::Pricer& pricer;
  loopnest::Sizes sizes = {};
  double state_bytes = 0.0;  // that the optimizer keeps of each element of a parameter
};

// What the time of an operator, or of a tensor on its way, goes to.
enum class Part : std::uint8_t { kernels, parameter_gradients, statistics, border, boxing };
inline constexpr std::size_t k_parts = 5;
std::string_view name(Part part);  // "kernels", "parameter gradients", ...

class PartTimes {
 public:
  core::Picoseconds& operator[](Part part) { return times_[static_cast<std::size_t>(part)]; }
  core::Picoseconds operator[](Part part) const { return times_[static_cast<std::size_t>(part)]; }
  PartTimes& operator+=(const PartTimes& other);
  core::Picoseconds total() const;

 private:
  std::array<core::Picoseconds, k_parts> times_{};
};

// The options of one vertex.
struct PlacedOperator {
  std::string name;
  bool passes_on = false;  // one activation read, no parameters, element by element or a view
  std::vector<Signature> signatures = {};
  std::vector<std::string> texts = {};
  std::vector<PartTimes> times = {};
  // The option of that text ("S(m) B"), or -1.
  choice::Option option(std::string_view text) const;
};

// Consecutive operators of the forward pass.
struct OperatorRange {
  std::size_t first = 0;
  std::size_t last = 0;  // in it, too
  std::size_t size() const { return last - first + 1; }
  friend bool operator==(const OperatorRange&, const OperatorRange&) = default;
};

struct PlacementProblem {
  std::shared_ptr<const ir::Graph> graph = {};  // differentiated
  std::vector<PlacedOperator> operators = {};   // those of the forward pass
  choice::CostNetwork costs = {};               // vertex i: operators[i]; F, picoseconds
  choice::CostNetwork memory = {};              // the same for G, bytes
  OperatorRange all() const { return {.first = 0, .last = operators.size() - 1}; }
};

// `forward`: not differentiated. Errors: core::ConfigurationError at `mesh axes` for more than k_max_mesh_axes axes or
// devices below 1, and at `axes`, before anything is priced, for more pairs of options than 2 GB has room for.
PlacementProblem placement_problem(const ir::Graph& forward, const PlacementSetup& setup);
// Its graph and operators alone, without times and networks: what stages are made of (staged.h).
PlacementProblem placed_operators(const ir::Graph& forward, const PlacementSetup& setup);

// Experts' choices, to start from and to compare with: the outer axes split the batch ("b" or "batch"), the innermost
// `tensor_axes` each split what comes in split along the same dimension, else a product with parameters over its
// columns (Megatron: columns, then rows); an operator that can do neither along an axis is replicated along it.
// `tensor_axes` 0: data parallelism.
std::vector<choice::Option> expert_options(const PlacementProblem& problem, std::size_t tensor_axes);

// Coordinate descent over the operators that do more than pass a tensor on. Between a producer and a reader that
// disagree, each placement of such an operator costs the same, so that descent over all operators, one at a time, stays
// where the placement happens to change. Those that touch at most two others are folded into the costs of the pair,
// each at its best, which leaves the least F as it is, and chosen last. `descent.starts`: of all operators.
// Of 1,000 random chains of two to six operators with nine signatures each, a third of them element-wise, ten restarts
// find the least F of 99 % this way, of 88 % without (tests/splits/autoddl_test.cpp has 200 of them).
choice::Choice descend(const PlacementProblem& problem, const choice::Descent& descent);

// One kernel or collective of a step.
struct PlacedWork {
  std::string owner;  // the operator, or the tensor on its way
  Part part = Part::kernels;
  ir::Phase phase = ir::Phase::forward;
  program::Work work = {};
  core::Picoseconds time = 0;
};

struct PlacementRow {
  std::string name;
  std::string signature;
  PartTimes times = {};  // boxing: of what it reads, forward, and of the gradients of that, backward
};

// A choice with its parts, which add up to its cost.
struct PlacementAnswer {
  std::vector<PlacementRow> operators = {};
  std::vector<PlacedWork> works = {};  // in the order of execution
  core::Picoseconds total = 0;
};

// `options`: of the operators of `range`. What crosses into the range or out of it belongs to the border (staged.h).
PlacementAnswer explain(const PlacementProblem& problem, const PlacementSetup& setup, const OperatorRange& range,
                        std::span<const choice::Option> options);
inline PlacementAnswer explain(const PlacementProblem& problem, const PlacementSetup& setup,
                               std::span<const choice::Option> options) {
  return explain(problem, setup, problem.all(), options);
}

// The step as a block in which each work waits for the one before it. The problem must outlive it.
program::Block block_of(const PlacementAnswer& answer);

}  // namespace cairn::splits
