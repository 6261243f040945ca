#include "cairn/splits/staged_network.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "asked_network.h"
#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "cairn/pipeline/stage_costs.h"

namespace cairn::splits {
namespace {

constexpr std::string_view k_schedule = "1f1b";
constexpr std::int64_t k_most_passes = 1 << 20;     // micro-batches of all stages
constexpr double k_most_operator_prices = 1 << 18;  // some 20 s of one processor

// Operators of all stages that are priced: L layers make (L + 1)(L + 2) / 6 networks' worth of them, and preparing a
// submesh takes as long as two.
double operator_prices(std::size_t operators, std::size_t submeshes, std::int64_t layers) {
  const auto parts = static_cast<double>(layers);
  return static_cast<double>(operators) * static_cast<double>(submeshes) * (2.0 + (parts + 1.0) * (parts + 2.0) / 6.0);
}

core::ConfigurationError wrong_stage(std::size_t stage, const std::string& key, std::string message, std::string hint) {
  return {fmt::format("stages[{}]{}{}", stage, key.empty() ? "" : ".", key), std::move(message), std::move(hint)};
}

}  // namespace

class StagedNetwork::Implementation {
 public:
  Implementation(const PlacementStrategy& asked, const config::Loader& loader)
      : strategy_(asked), read_(read_asked(asked, loader)) {
    strategy_.batch = read_.network.batch * asked.micro_batches;
    strategy_.cluster = read_.reference;
  }

  std::optional<NetworkStages> search(std::int64_t layers, const std::function<void(std::size_t)>& progress) {
    const hardware::Network& network = read_.machine.network;
    require_passes(std::min(layers, network.gpus()));
    const std::vector<partition::Submesh> shapes = partition::submesh_shapes(network.nodes, network.gpus_per_node);
    const std::size_t operators = read_.network.graph.forward_count();
    if (operator_prices(operators, shapes.size(), layers) > k_most_operator_prices)
      throw core::ConfigurationError(
          "nodes",
          fmt::format("{} operators, in stages of up to {} layers on {} submeshes, would take minutes to price",
                      operators, layers, shapes.size()),
          "give fewer nodes, or fewer layers");
    partition::require_stage_problem(
        {.layers = layers, .devices = network.gpus(), .micro_batches = strategy_.micro_batches, .submeshes = shapes});
    for (const partition::Submesh& shape : shapes)
      if (fills_nodes(shape.devices) && fills_units(network, shape.devices)) submesh(mesh_of(network, shape.devices));
    StagedRequest request = this->request();
    request.layers = clusters(*problems_.front().graph, {}, layers);
    std::optional<StagedAnswer> found = stage(submeshes(), request, progress);
    if (!found) return std::nullopt;
    return finished(std::move(found->stages), found->priced);
  }

  NetworkStages asked() {
    CAIRN_ASSERT(!strategy_.stages.empty());
    require_passes(static_cast<std::int64_t>(strategy_.stages.size()));
    std::vector<PlacedStage> stages;
    std::size_t next = 0;
    std::int64_t accelerators = 0;
    for (std::size_t i = 0; i < strategy_.stages.size(); ++i) {
      const StageStrategy& each = strategy_.stages[i];
      PlacedStage& stage = stages.emplace_back();
      stage.submesh = submesh(mesh_of(read_.machine.network, each.axes));
      accelerators += devices(meshes_[stage.submesh]->mesh());
      const PlacementProblem& problem = problems_[stage.submesh];
      const std::size_t left = problem.operators.size() - next;
      if (each.placements.empty() || each.placements.size() > left)
        throw wrong_stage(i, "placements",
                          fmt::format("{} operators, and {} are left of the network", each.placements.size(), left),
                          "a stage has the operators that follow those of the stage before it");
      stage.operators = {.first = next, .last = next + each.placements.size() - 1};
      next += each.placements.size();
      stage.options = options(i, problem, stage.operators);
    }
    if (next != problems_.front().operators.size())
      throw core::ConfigurationError(
          "stages",
          fmt::format("operator '{}' and those after it are in no stage", problems_.front().operators[next].name),
          "add them to the last stage, or a stage");
    if (const std::int64_t there = read_.machine.network.gpus(); accelerators > there)
      throw core::ConfigurationError(
          "stages", fmt::format("they take {} accelerators, and the cluster has {}", accelerators, there),
          "give stages fewer, or a cluster of more nodes");
    require_nodes(stages);
    price_stages(stages, submeshes(), request());
    return finished(std::move(stages), 0);
  }

  const std::string& cluster() const { return read_.machine.cluster.value.name; }
  core::Bytes memory() const { return read_.machine.accelerator.value.usable_memory(); }

  PlacementStrategy strategy(const NetworkStages& of) const {
    PlacementStrategy result = strategy_;
    result.stages.clear();
    for (const PlacedStage& stage : of.stages) {
      StageStrategy& written = result.stages.emplace_back();
      for (const MeshAxis& axis : meshes_[stage.submesh]->mesh()) written.axes.push_back(axis.devices);
      for (std::size_t i = 0; i < stage.operators.size(); ++i) {
        const PlacedOperator& op = problems_[stage.submesh].operators[stage.operators.first + i];
        written.placements.emplace_back(op.name, op.texts[static_cast<std::size_t>(stage.options[i])]);
      }
    }
    return result;
  }

  // What prices rest on, of the works of these stages alone.
  template <class Say>
  std::vector<std::string> said(const NetworkStages& of, Say say) {
    std::set<std::string> all;
    for (const PlacedStage& stage : of.stages) {
      ClusterMesh& mesh = *meshes_[stage.submesh];
      price_again(mesh, explain(problems_[stage.submesh], mesh.setup(), stage.operators, stage.options).works);
      for (std::string& each : say(mesh)) all.insert(std::move(each));
    }
    return {all.begin(), all.end()};
  }
  const std::vector<std::string>& assumed() const { return read_.assumptions; }

 private:
  // Stages of such sizes can always be laid out on whole nodes.
  bool fills_nodes(std::int64_t devices) const {
    const std::int64_t node = read_.machine.network.gpus_per_node;
    return node % devices == 0 || devices % node == 0;
  }

  // Each stage has whole nodes, or a part of one: they are laid out one after another, the largest first.
  void require_nodes(const std::vector<PlacedStage>& stages) const {
    const hardware::Network& network = read_.machine.network;
    std::vector<std::int64_t> parts;  // of nodes
    std::int64_t nodes = 0;           // that stages have to themselves
    for (const PlacedStage& stage : stages) {
      const std::int64_t size = devices(meshes_[stage.submesh]->mesh());
      if (size < network.gpus_per_node)
        parts.push_back(size);
      else
        nodes += (size + network.gpus_per_node - 1) / network.gpus_per_node;
    }
    std::sort(parts.begin(), parts.end(), std::greater<>());
    std::vector<std::int64_t> free;  // accelerators of the nodes that stages share
    for (const std::int64_t part : parts) {
      auto node = std::find_if(free.begin(), free.end(), [&](std::int64_t left) { return left >= part; });
      if (node == free.end()) node = free.insert(free.end(), network.gpus_per_node);
      *node -= part;
    }
    nodes += static_cast<std::int64_t>(free.size());
    if (nodes > network.nodes)
      throw core::ConfigurationError(
          "stages",
          fmt::format("they take {} nodes of {} accelerators, as none of them lies across nodes in part, and the "
                      "cluster has {}",
                      nodes, network.gpus_per_node, network.nodes),
          "give stages sizes that fill nodes, or a cluster of more nodes");
  }

  void require_passes(std::int64_t stages) const {
    if (stages > k_most_passes / strategy_.micro_batches)
      throw core::ConfigurationError("micro_batches",
                                     fmt::format("{} of them in {} stages, and at most {} passes are run",
                                                 strategy_.micro_batches, stages, k_most_passes),
                                     "give fewer, which are larger");
  }

  // Its number; a mesh of the same axes is the same one.
  std::size_t submesh(const Mesh& mesh) {
    const auto sizes = [](const Mesh& of) {
      std::vector<std::int64_t> result;
      for (const MeshAxis& axis : of) result.push_back(axis.devices);
      return result;
    };
    for (std::size_t i = 0; i < meshes_.size(); ++i)
      if (sizes(meshes_[i]->mesh()) == sizes(mesh)) return i;
    meshes_.push_back(read_.on(mesh));
    problems_.push_back(placed_operators(read_.network.graph, meshes_.back()->setup()));
    return meshes_.size() - 1;
  }

  std::vector<StageMesh> submeshes() const {
    std::vector<StageMesh> result;
    for (std::size_t i = 0; i < meshes_.size(); ++i)
      result.push_back({.problem = problems_[i], .setup = meshes_[i]->setup()});
    return result;
  }

  StagedRequest request() const {
    return {.layers = {},
            .devices = read_.machine.network.gpus(),
            .micro_batches = strategy_.micro_batches,
            .memory = memory().base()};
  }

  std::vector<choice::Option> options(std::size_t stage, const PlacementProblem& problem, const OperatorRange& range) {
    std::vector<choice::Option> result;
    const auto& placements = strategy_.stages[stage].placements;
    for (std::size_t i = 0; i < range.size(); ++i) {
      const PlacedOperator& op = problem.operators[range.first + i];
      const auto found = std::find_if(placements.begin(), placements.end(),
                                      [&](const auto& placement) { return placement.first == op.name; });
      if (found == placements.end())
        throw wrong_stage(stage, "placements." + op.name, "missing: it is among the operators that come next",
                          "a stage has operators that follow one another");
      const auto& [name, text] = *found;
      result.push_back(op.option(text));
      if (result.back() < 0) {
        const std::string near = core::nearest(text, op.texts);
        throw wrong_stage(stage, "placements." + name, fmt::format("it cannot be placed as '{}'", text),
                          fmt::format("use '{}', say", near.empty() ? op.texts.front() : near));
      }
    }
    return result;
  }

  NetworkStages finished(std::vector<PlacedStage> stages, std::size_t priced) {
    NetworkStages result{.stages = std::move(stages), .priced = priced};
    core::Picoseconds longest = 0;
    pipeline::StageCosts costs;
    for (const PlacedStage& stage : result.stages) {
      result.planned += stage.time;
      longest = std::max(longest, stage.time);
      result.memory = std::max(result.memory, stage.memory);
      core::Picoseconds forward = 0;
      for (const PlacedWork& work :
           explain(problems_[stage.submesh], meshes_[stage.submesh]->setup(), stage.operators, stage.options).works)
        if (work.phase == ir::Phase::forward && work.part != Part::parameter_gradients) forward += work.time;
      costs.forward.push_back(forward);
      costs.backward.push_back(stage.time - forward);
    }
    result.planned += (strategy_.micro_batches - 1) * longest;
    result.time = pipeline::run_under(k_schedule,
                                      {.stages = static_cast<std::int32_t>(result.stages.size()),
                                       .micro_batches = static_cast<std::int32_t>(strategy_.micro_batches)},
                                      costs)
                      .result.makespan;
    return result;
  }

  PlacementStrategy strategy_;
  AskedNetwork read_;
  std::vector<std::unique_ptr<ClusterMesh>> meshes_;  // of distinct axes
  std::vector<PlacementProblem> problems_;            // one for each
};

StagedNetwork::StagedNetwork(const PlacementStrategy& asked, const config::Loader& loader)
    : implementation_(std::make_unique<Implementation>(asked, loader)) {}
StagedNetwork::~StagedNetwork() = default;

std::optional<NetworkStages> StagedNetwork::search(std::int64_t layers,
                                                   const std::function<void(std::size_t)>& progress) {
  return implementation_->search(layers, progress);
}
NetworkStages StagedNetwork::asked() { return implementation_->asked(); }
const std::string& StagedNetwork::cluster() const { return implementation_->cluster(); }
core::Bytes StagedNetwork::memory() const { return implementation_->memory(); }
PlacementStrategy StagedNetwork::strategy(const NetworkStages& stages) const {
  return implementation_->strategy(stages);
}

std::vector<std::string> StagedNetwork::assumptions(const NetworkStages& stages) {
  std::vector<std::string> all = implementation_->assumed();
  for (std::string& each : implementation_->said(stages, [](ClusterMesh& mesh) { return mesh.assumptions(); }))
    all.push_back(std::move(each));
  all.push_back("a stage's gradients of parameters are shared out over its micro-batches");
  all.push_back("what an accelerator of a stage receives is sent by one accelerator of a stage before it");
  return all;
}

std::vector<std::string> StagedNetwork::warnings(const NetworkStages& stages) {
  return implementation_->said(stages, [](ClusterMesh& mesh) { return mesh.warnings(); });
}

}  // namespace cairn::splits
