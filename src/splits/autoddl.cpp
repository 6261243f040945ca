#include "cairn/splits/autoddl.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "complaint.h"
#include "edge_limit.h"
#include "placement_model.h"

namespace cairn::splits {
namespace {

// Gradients are kept as the parameters are.
numerics::Format parameter_format(const ir::Graph& graph) {
  for (const ir::Tensor& tensor : graph.tensors())
    if (tensor.role == ir::Role::parameter) return tensor.format;
  return numerics::Format::fp32;
}

// With its backward operators. Where the graph names no outputs, what nothing reads is one.
std::shared_ptr<const ir::Graph> differentiated(const ir::Graph& forward) {
  auto graph = std::make_shared<ir::Graph>(forward);
  if (graph->outputs().empty()) {
    std::vector<char> no_output(graph->tensors().size(), 0);
    for (const ir::Operator& op : graph->operators())
      for (const ir::Access& access : op.accesses)
        if (access.mode == ir::Mode::read || graph->tensor(access.tensor).statistic)
          no_output[static_cast<std::size_t>(access.tensor)] = 1;
    std::vector<ir::TensorId> outputs;
    for (const ir::Operator& op : graph->operators())
      for (const ir::Access& access : op.accesses)
        if (!std::exchange(no_output[static_cast<std::size_t>(access.tensor)], 1)) outputs.push_back(access.tensor);
    graph->set_outputs(std::move(outputs));
  }
  graph->differentiate({.parameter_gradient = parameter_format(*graph)});
  return graph;
}

bool passes_on(const ir::Graph& graph, const ir::Operator& op) {
  int reads = 0;
  for (const ir::Access& access : op.accesses) {
    if (graph.tensor(access.tensor).role != ir::Role::activation) return false;
    reads += access.mode == ir::Mode::read ? 1 : 0;
  }
  return reads == 1 && (op.kind == ir::Kind::pointwise || op.kind == ir::Kind::opaque);
}

void check_mesh(const Mesh& mesh) {
  core::Diagnostics diagnostics;
  const auto complain_of_axes = [&](std::string message) { complain(diagnostics, "mesh axes", std::move(message)); };
  if (mesh.size() > k_max_mesh_axes)
    complain_of_axes("has " + std::to_string(mesh.size()) + " axes; at most " + std::to_string(k_max_mesh_axes) +
                     " are modelled");
  for (const MeshAxis& axis : mesh)
    if (axis.devices < 1) complain_of_axes("axis '" + axis.name + "' needs at least 1 device");
  diagnostics.raise_if_errors();
}

}  // namespace

std::string_view name(Part part) {
  constexpr std::array<std::string_view, k_parts> k_names{"kernels", "parameter gradients", "statistics", "border",
                                                          "boxing"};
  return k_names[static_cast<std::size_t>(part)];
}

core::Picoseconds PartTimes::total() const {
  core::Picoseconds sum = 0;
  for (const core::Picoseconds each : times_) sum += each;
  return sum;
}

PartTimes& PartTimes::operator+=(const PartTimes& other) {
  for (std::size_t part = 0; part < k_parts; ++part) times_[part] += other.times_[part];
  return *this;
}

choice::Option PlacedOperator::option(std::string_view text) const {
  const auto found = std::find(texts.begin(), texts.end(), text);
  return found == texts.end() ? -1 : static_cast<choice::Option>(found - texts.begin());
}

PlacementProblem placed_operators(const ir::Graph& forward, const PlacementSetup& setup) {
  check_mesh(setup.mesh);
  PlacementProblem problem{.graph = differentiated(forward)};
  for (std::size_t id = 0; id < problem.graph->forward_count(); ++id) {
    const ir::Operator& op = problem.graph->op(static_cast<ir::OperatorId>(id));
    PlacedOperator& placed = problem.operators.emplace_back();
    placed.name = op.name;
    placed.passes_on = passes_on(*problem.graph, op);
    placed.signatures = signatures(*problem.graph, op, setup.mesh, setup.sizes);
    for (const Signature& each : placed.signatures) placed.texts.push_back(text(*problem.graph, op, each));
  }
  return problem;
}

PlacementProblem placement_problem(const ir::Graph& forward, const PlacementSetup& setup) {
  PlacementProblem problem = placed_operators(forward, setup);
  PlacementModel model(*problem.graph, problem.operators, setup);
  require_room(model.pairs(problem.all()), "axes", "give fewer axes");
  for (std::size_t id = 0; id < problem.operators.size(); ++id)
    problem.operators[id].times = model.times(static_cast<ir::OperatorId>(id), problem.all());
  problem.costs = model.costs(problem.all(), 1);
  problem.memory = model.memory(problem.all(), 1);
  return problem;
}

PlacementAnswer explain(const PlacementProblem& problem, const PlacementSetup& setup, const OperatorRange& range,
                        std::span<const choice::Option> options) {
  CAIRN_ASSERT(range.last < problem.operators.size() && options.size() == range.size());
  PlacementModel model(*problem.graph, problem.operators, setup);
  PlacementAnswer answer;
  const auto option = [&](std::size_t at) { return static_cast<std::size_t>(options[at]); };
  const auto signature = [&](ir::OperatorId id) -> const Signature& {
    const auto at = static_cast<std::size_t>(id);
    return problem.operators[at].signatures[option(at - range.first)];
  };
  std::vector<PlacedWorks> of_operator, of_links(range.size());
  for (std::size_t at = 0; at < range.size(); ++at) {
    const auto id = static_cast<ir::OperatorId>(range.first + at);
    of_operator.push_back(model.works(id, signature(id), range));
    const PlacedOperator& op = problem.operators[range.first + at];
    answer.operators.push_back({.name = op.name, .signature = op.texts[option(at)]});
  }
  for (const TensorLink& link : model.links(range)) {
    const PlacedWorks moved = model.works(link, signature(link.from), signature(link.to));
    PlacedWorks& all = of_links[static_cast<std::size_t>(link.to) - range.first];
    all.forward.insert(all.forward.end(), moved.forward.begin(), moved.forward.end());
    all.backward.insert(all.backward.end(), moved.backward.begin(), moved.backward.end());
  }
  const auto run = [&](std::size_t at, const std::vector<PlacedWork>& works) {
    for (const PlacedWork& work : works) {
      answer.operators[at].times[work.part] += work.time;
      answer.total += work.time;
      answer.works.push_back(work);
    }
  };
  for (std::size_t at = 0; at < range.size(); ++at) {
    run(at, of_links[at].forward);
    run(at, of_operator[at].forward);
  }
  for (std::size_t at = range.size(); at-- > 0;) {
    run(at, of_operator[at].backward);
    run(at, of_links[at].backward);
  }
  return answer;
}

program::Block block_of(const PlacementAnswer& answer) {
  program::Block block;
  for (const PlacedWork& each : answer.works) {
    program::Step step{.work = static_cast<std::int32_t>(block.works.size())};
    if (const auto* transfer = std::get_if<program::Transfer>(&each.work)) {
      step.kind = program::StepKind::transfer;
      step.axis = transfer->group.axis;
      step.stream = program::stream_of(step.axis);
    } else {
      step.kind = program::StepKind::compute;
    }
    step.first_dependency = static_cast<std::uint32_t>(block.dependencies.size());
    if (!block.steps.empty()) {
      step.dependencies = 1;
      block.dependencies.push_back(static_cast<program::Dependency>(block.steps.size()) - 1);
    }
    block.steps.push_back(step);
    block.works.push_back(each.work);
  }
  return block;
}

}  // namespace cairn::splits
