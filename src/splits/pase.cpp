#include "cairn/splits/pase.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "edge_limit.h"
#include "pase_costs.h"

namespace cairn::splits {
namespace {

using choice::Vertex;

// A tensor as one operator cuts it: per tensor dimension the dimension of the operator's split that cuts it.
struct Operand {
  static constexpr int k_whole = -1;
  static constexpr int k_all_parts = -2;  // one flat dimension, cut into as many parts as the operator
  std::vector<double> shape = {};
  std::vector<int> cut_by = {};
};

std::vector<double> shape_of(const ir::Tensor& tensor) {
  std::vector<double> shape;
  for (const ir::TensorDim& dim : tensor.dims) shape.push_back(static_cast<double>(dim.extent.at({})));
  return shape;
}

Operand operand_of(const ir::Graph& graph, const ir::Access& access) {
  Operand operand{.shape = shape_of(graph.tensor(access.tensor))};
  for (const loopnest::Affine& form : access.projection)
    operand.cut_by.push_back(form.terms.empty() ? Operand::k_whole : static_cast<int>(form.terms.front().dim));
  return operand;
}

Operand flat(const ir::Tensor& tensor) {
  double elements = 1.0;
  for (const double extent : shape_of(tensor)) elements *= extent;
  return {.shape = {elements}, .cut_by = {Operand::k_all_parts}};
}

Operand plain(const ir::Tensor& tensor) {
  Operand operand{.shape = shape_of(tensor)};
  for (std::size_t d = 0; d < operand.shape.size(); ++d) operand.cut_by.push_back(static_cast<int>(d));
  return operand;
}

// What each option of an operator makes of a tensor.
struct Pieces {
  std::size_t rank = 0;
  std::vector<double> local = {};  // rank local extents per option
  std::vector<double> parts = {};  // per option
};

Pieces pieces(const Operand& operand, const std::vector<Split>& splits) {
  Pieces result{.rank = operand.shape.size()};
  for (const Split& split : splits) {
    double product = 1.0;
    for (std::size_t d = 0; d < operand.shape.size(); ++d) {
      double cut = 1.0;
      if (operand.cut_by[d] == Operand::k_all_parts) cut = static_cast<double>(parts(split));
      if (operand.cut_by[d] >= 0) cut = static_cast<double>(split[static_cast<std::size_t>(operand.cut_by[d])]);
      result.local.push_back(operand.shape[d] / cut);
      product *= cut;
    }
    result.parts.push_back(product);
  }
  return result;
}

// Twice the words that a part of the consumer lacks, row by row for the options of the producer.
std::vector<double> transfers(const Pieces& made, const Pieces& wanted, double flop_per_word) {
  std::vector<double> result;
  result.reserve(made.parts.size() * wanted.parts.size());
  for (std::size_t i = 0; i < made.parts.size(); ++i)
    for (std::size_t j = 0; j < wanted.parts.size(); ++j) {
      double want = 1.0, common = wanted.parts[j] > made.parts[i] ? 0.0 : 1.0;
      for (std::size_t d = 0; d < made.rank; ++d) {
        const double have = made.local[i * made.rank + d], need = wanted.local[j * made.rank + d];
        want *= need;
        common *= std::min(have, need);
      }
      result.push_back(2.0 * flop_per_word * std::max(0.0, want - common));
    }
  return result;
}

class PaseReader {
 public:
  PaseReader(const ir::Graph& graph, const PaseRules& rules)
      : graph_(graph), rules_(rules), origin_(graph.tensors().size()), behind_(graph.operators().size(), 0) {}

  SplitProblem read() {
    check();
    const auto operators = static_cast<ir::OperatorId>(graph_.operators().size());
    for (ir::OperatorId id = 0; id < operators; ++id) count_behind(id);
    std::fill(origin_.begin(), origin_.end(), Origin{});
    for (ir::OperatorId id = 0; id < operators; ++id) add(id);
    return std::move(problem_);
  }

 private:
  // The operator that made a tensor, and how it cuts it; element-wise operators of one operand pass both on.
  struct Origin {
    ir::OperatorId op = -1;
    Vertex vertex = -1;
    Operand operand = {};
  };
  Origin& origin(ir::TensorId tensor) { return origin_[static_cast<std::size_t>(tensor)]; }

  void check() const {
    core::Diagnostics diagnostics;
    for (const ir::Operator& op : graph_.operators())
      if (pase_rule(op) == PaseRule::none)
        diagnostics.add({.file = {},
                         .key_path = op.name,
                         .message = fmt::format("PaSE's cost model has no rule for this operator ('{}')", op.variant),
                         .hint = "another cost model has: --cost-model cairn"});
    diagnostics.raise_if_errors();
  }

  bool is_activation(const ir::Access& access) const {
    return graph_.tensor(access.tensor).role == ir::Role::activation && !graph_.tensor(access.tensor).statistic;
  }

  // The operand of an element-wise operator that is counted in what it follows.
  std::optional<ir::TensorId> followed(const ir::Operator& op) {
    if (pase_rule(op) != PaseRule::element_wise) return std::nullopt;
    std::vector<ir::TensorId> reads;
    for (const ir::Access& access : op.accesses)
      if (access.mode == ir::Mode::read && is_activation(access)) reads.push_back(access.tensor);
    if (reads.size() != 1 || origin(reads.front()).op < 0) return std::nullopt;
    return reads.front();
  }

  void pass_on(const ir::Operator& op, const Origin& from) {
    for (const ir::Access& access : op.accesses)
      if (access.mode != ir::Mode::read && is_activation(access)) origin(access.tensor) = from;
  }

  void count_behind(ir::OperatorId id) {
    const ir::Operator& op = graph_.op(id);
    const std::optional<ir::TensorId> tensor = followed(op);
    if (tensor) ++behind_[static_cast<std::size_t>(origin(*tensor).op)];
    pass_on(op, tensor ? origin(*tensor) : Origin{.op = id});
  }

  void add(ir::OperatorId id) {
    const ir::Operator& op = graph_.op(id);
    if (const std::optional<ir::TensorId> tensor = followed(op)) return pass_on(op, origin(*tensor));
    const PaseRule rule = pase_rule(op);
    if (rule == PaseRule::reshape) return add_reshape(id);
    std::vector<std::int64_t> extents = extents_of(op);
    SplitOperator made{.name = op.name, .extents = extents};
    for (const loopnest::Dim& dim : op.domain.dims()) made.dims.push_back(dim.name);
    const loopnest::DimSet whole = whole_dims(op, rule);
    for (std::size_t d = 0; d < extents.size(); ++d)
      if (whole & loopnest::bit(static_cast<loopnest::DimId>(d))) extents[d] = 1;
    made.splits = configurations(extents, rules_.devices, rules_.least_extent);
    const PaseCost cost(graph_, op, behind_[static_cast<std::size_t>(id)], rules_.flop_per_word);
    std::vector<double> costs;
    for (const Split& split : made.splits) costs.push_back(cost(split));
    const Vertex vertex = append(std::move(made), std::move(costs));
    std::vector<std::pair<ir::TensorId, Operand>> inputs;
    for (const ir::Access& access : op.accesses)
      if (access.mode == ir::Mode::read && is_activation(access))
        inputs.emplace_back(access.tensor, operand_of(graph_, access));
    connect(vertex, inputs);
    for (const ir::Access& access : op.accesses)
      if (access.mode != ir::Mode::read && is_activation(access))
        origin(access.tensor) = {.op = id, .vertex = vertex, .operand = operand_of(graph_, access)};
  }

  void add_reshape(ir::OperatorId id) {
    const ir::Operator& op = graph_.op(id);
    const ir::Tensor& from = graph_.tensor(op.accesses.front().tensor);
    const ir::TensorId result = op.accesses.back().tensor;
    const ir::Tensor& to = graph_.tensor(result);
    const Vertex flattened = add_side(op.name + ".flatten", from);
    connect(flattened, {{op.accesses.front().tensor, plain(from)}});
    const Vertex shaped = add_side(op.name, to);
    const auto splits_of = [&](Vertex v) -> const std::vector<Split>& {
      return problem_.operators[static_cast<std::size_t>(v)].splits;
    };
    problem_.costs.add_edge(
        flattened, shaped,
        transfers(pieces(flat(from), splits_of(flattened)), pieces(flat(to), splits_of(shaped)), rules_.flop_per_word));
    origin(result) = {.op = id, .vertex = shaped, .operand = plain(to)};
  }

  Vertex add_side(std::string name, const ir::Tensor& tensor) {
    SplitOperator side{.name = std::move(name)};
    for (const ir::TensorDim& dim : tensor.dims) {
      side.dims.push_back(dim.name);
      side.extents.push_back(dim.extent.at({}));
    }
    side.splits = configurations(side.extents, rules_.devices, rules_.least_extent);
    std::erase_if(side.splits, [&](const Split& split) { return !is_contiguous(side.extents, split); });
    std::vector<double> costs(side.splits.size(), 0.0);
    return append(std::move(side), std::move(costs));
  }

  Vertex append(SplitOperator op, std::vector<double> costs) {
    problem_.operators.push_back(std::move(op));
    return problem_.costs.add_vertex(std::move(costs));
  }

  // One edge from each producer: of several tensors from one, the last.
  void connect(Vertex vertex, const std::vector<std::pair<ir::TensorId, Operand>>& inputs) {
    std::map<Vertex, std::size_t> last;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Origin& from = origin(inputs[i].first);
      if (from.vertex >= 0) last[from.vertex] = i;
    }
    const std::vector<Split>& own = problem_.operators[static_cast<std::size_t>(vertex)].splits;
    for (const auto& [producer, i] : last) {
      const std::vector<Split>& splits = problem_.operators[static_cast<std::size_t>(producer)].splits;
      edge_costs_ += static_cast<double>(splits.size()) * static_cast<double>(own.size());
      if (edge_costs_ > k_most_edge_costs)
        throw core::ConfigurationError("--devices",
                                       "operators can be split in so many ways that the costs between them fill memory",
                                       "give fewer devices, or a larger --least-extent");
      problem_.costs.add_edge(producer, vertex,
                              transfers(pieces(origin(inputs[i].first).operand, splits), pieces(inputs[i].second, own),
                                        rules_.flop_per_word));
    }
  }

  const ir::Graph& graph_;
  const PaseRules& rules_;
  std::vector<Origin> origin_;  // by tensor
  std::vector<int> behind_;     // by operator
  double edge_costs_ = 0.0;
  SplitProblem problem_;
};

}  // namespace

std::int64_t usual_least_extent(const ir::Graph& graph) {
  const bool has_few = std::any_of(graph.operators().begin(), graph.operators().end(), [](const ir::Operator& op) {
    return pase_rule(op) == PaseRule::softmax || pase_rule(op) == PaseRule::lstm;
  });
  return has_few ? 1 : 4;
}

SplitProblem pase_problem(const ir::Graph& graph, const PaseRules& rules) { return PaseReader(graph, rules).read(); }

std::vector<choice::Option> data_parallel(const SplitProblem& problem) {
  std::vector<choice::Option> result;
  for (const SplitOperator& op : problem.operators) {
    const auto batch = static_cast<std::size_t>(std::find(op.dims.begin(), op.dims.end(), "b") - op.dims.begin());
    choice::Option best = 0;
    for (std::size_t i = 0; i < op.splits.size(); ++i) {
      const Split& split = op.splits[i];
      const std::int64_t along = batch < split.size() ? split[batch] : 1;
      if (parts(split) == along && along > parts(op.splits[static_cast<std::size_t>(best)]))
        best = static_cast<choice::Option>(i);
    }
    result.push_back(best);
  }
  return result;
}

}  // namespace cairn::splits
