#include "cairn/splits/staged.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "cairn/choice/elimination.h"
#include "cairn/choice/within.h"
#include "cairn/core/assert.h"
#include "edge_limit.h"
#include "placement_model.h"

namespace cairn::splits {
namespace {

double bytes_of(const ir::Graph& graph, ir::TensorId id, const loopnest::Sizes& sizes) {
  const ir::Tensor& tensor = graph.tensor(id);
  return static_cast<double>(tensor.elements(sizes)) * numerics::bytes_per_element(tensor.format);
}

// What parts of the network read of activations made before them.
class Crossings {
 public:
  Crossings(const ir::Graph& graph, const loopnest::Sizes& sizes) : reads_(graph.forward_count()) {
    for (std::size_t id = 0; id < graph.forward_count(); ++id) {
      const ir::Operator& op = graph.op(static_cast<ir::OperatorId>(id));
      std::vector<ir::TensorId> done;
      for (const ir::Access& access : op.accesses) {
        const ir::OperatorId from = graph.producer(access.tensor);
        if (access.mode != ir::Mode::read || from < 0 ||
            std::find(done.begin(), done.end(), access.tensor) != done.end())
          continue;
        done.push_back(access.tensor);
        reads_[id].push_back({.tensor = access.tensor,
                              .from = static_cast<std::size_t>(from),
                              .bytes = bytes_of(graph, access.tensor, sizes)});
      }
    }
  }

  // Bytes of the tensors made before a range that it reads, each once.
  double into(const OperatorRange& range) const {
    std::set<ir::TensorId> found;
    double bytes = 0.0;
    for (std::size_t id = range.first; id <= range.last; ++id)
      for (const Read& each : reads_[id])
        if (each.from < range.first && found.insert(each.tensor).second) bytes += each.bytes;
    return bytes;
  }

 private:
  struct Read {
    ir::TensorId tensor = ir::k_no_tensor;
    std::size_t from = 0;
    double bytes = 0.0;
  };
  std::vector<std::vector<Read>> reads_;  // of each operator
};

// cut[l][k]: the least largest crossing of operators 0..k-1 in l layers, and the last layer's first operator.
struct LayerCut {
  double largest = std::numeric_limits<double>::infinity();
  std::size_t begin = 0;
};

std::vector<OperatorRange> clusters_within(const std::vector<double>& flops, const Crossings& crossings,
                                           std::size_t layers, double most_flops) {
  const std::size_t count = flops.size();
  std::vector<std::vector<LayerCut>> cut(layers + 1, std::vector<LayerCut>(count + 1));
  cut[0][0].largest = 0.0;
  for (std::size_t begin = 0; begin < count; ++begin) {
    double sum = 0.0;
    for (std::size_t end = begin + 1; end <= count; ++end) {
      sum += flops[end - 1];
      if (sum > most_flops && end > begin + 1) break;
      const double crossing = crossings.into({.first = begin, .last = end - 1});
      for (std::size_t layer = 1; layer <= layers; ++layer) {
        const double largest = std::max(cut[layer - 1][begin].largest, crossing);
        if (largest < cut[layer][end].largest) cut[layer][end] = {.largest = largest, .begin = begin};
      }
    }
  }
  std::vector<OperatorRange> result;
  if (!std::isfinite(cut[layers][count].largest)) return result;
  for (std::size_t layer = layers, end = count; layer > 0; --layer) {
    const std::size_t begin = cut[layer][end].begin;
    result.push_back({.first = begin, .last = end - 1});
    end = begin;
  }
  std::reverse(result.begin(), result.end());
  return result;
}

constexpr const char* k_room_key = "cluster";
constexpr const char* k_room_hint = "give fewer nodes, or more layers, so that stages are smaller";

std::vector<PlacementModel> models_of(std::span<const StageMesh> submeshes) {
  std::vector<PlacementModel> result;
  for (const StageMesh& each : submeshes) result.emplace_back(*each.problem.graph, each.problem.operators, each.setup);
  return result;
}

// Micro-batches whose saved tensors a stage holds under 1F1B, with so many stages from it on.
std::int64_t held_by(const StagedRequest& request, std::int64_t remaining) {
  return std::min(request.micro_batches, remaining);
}

class StageSearch {
 public:
  StageSearch(std::span<const StageMesh> submeshes, const StagedRequest& request,
              const std::function<void(std::size_t)>& progress)
      : models_(models_of(submeshes)), request_(request), progress_(progress) {}

  std::optional<PlacedStage> placed(const partition::StageShape& shape) {
    const FreeStage& free = of(shape);
    const std::int64_t held = held_by(request_, shape.remaining);
    PlacedStage stage{.operators = range(shape),
                      .submesh = shape.submesh,
                      .options = free.best.options,
                      .time = whole(free.best.cost),
                      .memory = free.bytes.held(static_cast<double>(held))};
    if (stage.memory <= request_.memory) return stage;
    PlacementModel& model = models_[shape.submesh];
    std::optional<choice::Within> within =
        choice::least_within(model.costs(stage.operators, request_.micro_batches), model.memory(stage.operators, held),
                             request_.memory, elimination_progress());
    if (!within) return std::nullopt;
    stage.options = std::move(within->best.options);
    stage.time = whole(within->best.cost);
    stage.memory = within->weight;
    return stage;
  }

  std::size_t priced() const { return free_.size(); }

 private:
  // The least time of a range on a submesh, without a look at memory, and what memory it then takes.
  struct FreeStage {
    choice::Choice best = {};
    StoredBytes bytes = {};
  };

  static core::Picoseconds whole(double time) { return static_cast<core::Picoseconds>(std::llround(time)); }

  OperatorRange range(const partition::StageShape& shape) const {
    return {.first = request_.layers[static_cast<std::size_t>(shape.first)].first,
            .last = request_.layers[static_cast<std::size_t>(shape.last)].last};
  }

  choice::EliminationProgress elimination_progress() const {
    return limited(
        [this](double, double) {
          if (progress_) progress_(free_.size());
        },
        k_room_key, k_room_hint);
  }

  const FreeStage& of(const partition::StageShape& shape) {
    const auto [slot, fresh] = free_.try_emplace({shape.first, shape.last, shape.submesh});
    FreeStage& free = slot->second;
    if (!fresh) return free;
    const OperatorRange operators = range(shape);
    PlacementModel& model = models_[shape.submesh];
    require_room(model.pairs(operators), k_room_key, k_room_hint);
    const choice::CostNetwork costs = model.costs(operators, request_.micro_batches);
    free.best = choice::eliminate(costs, choice::fewest_dependents_order(costs), elimination_progress());
    free.bytes = model.of(operators, request_.micro_batches, free.best.options).bytes;
    return free;
  }

  std::vector<PlacementModel> models_;  // of each submesh
  const StagedRequest& request_;
  const std::function<void(std::size_t)>& progress_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::size_t>, FreeStage> free_;
};

}  // namespace

std::vector<OperatorRange> clusters(const ir::Graph& graph, const loopnest::Sizes& sizes, std::int64_t layers,
                                    double slack) {
  CAIRN_ASSERT(layers >= 1 && slack >= 0.0 && graph.forward_count() > 0);
  std::vector<double> flops;
  double total = 0.0;
  for (std::size_t id = 0; id < graph.forward_count(); ++id) {
    const ir::Operator& op = graph.op(static_cast<ir::OperatorId>(id));
    flops.push_back(static_cast<double>(op.domain.points(op.domain.box(sizes))) * op.flops_per_point);
    total += flops.back();
  }
  const auto parts = std::min(static_cast<std::size_t>(layers), flops.size());
  const Crossings crossings(graph, sizes);
  for (double wide = slack;; wide = std::max(2.0 * wide, 1.0)) {
    std::vector<OperatorRange> found =
        clusters_within(flops, crossings, parts, (1.0 + wide) * total / static_cast<double>(parts));
    if (!found.empty()) return found;
  }
}

void price_stages(std::vector<PlacedStage>& stages, std::span<const StageMesh> submeshes,
                  const StagedRequest& request) {
  std::vector<PlacementModel> models = models_of(submeshes);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    PlacedStage& stage = stages[i];
    const StageCosts costs = models[stage.submesh].of(stage.operators, request.micro_batches, stage.options);
    stage.time = costs.time;
    stage.memory =
        costs.bytes.held(static_cast<double>(held_by(request, static_cast<std::int64_t>(stages.size() - i))));
  }
}

std::optional<StagedAnswer> stage(std::span<const StageMesh> submeshes, const StagedRequest& request,
                                  const std::function<void(std::size_t)>& progress) {
  CAIRN_ASSERT(!submeshes.empty() && !request.layers.empty());
  StageSearch search(submeshes, request, progress);
  // Memory is decided here, so that the plan sees stages that fit alone.
  partition::StageProblem problem{.layers = static_cast<std::int64_t>(request.layers.size()),
                                  .devices = request.devices,
                                  .micro_batches = request.micro_batches,
                                  .capacity = std::numeric_limits<std::int64_t>::max(),
                                  .submeshes = {}};
  for (const StageMesh& each : submeshes)
    problem.submeshes.push_back({.name = {}, .devices = devices(each.setup.mesh)});
  const std::optional<partition::StagePlan> plan =
      partition::plan_stages(problem, [&](const partition::StageShape& shape) -> std::optional<partition::StageCost> {
        // No plan has a part of the network on all devices, and nobody is left there to send to it.
        const bool is_all = shape.first == 0 && shape.last + 1 == problem.layers;
        if (!is_all && problem.submeshes[shape.submesh].devices >= problem.devices) return std::nullopt;
        const std::optional<PlacedStage> placed = search.placed(shape);
        return placed ? std::optional(partition::StageCost{.time = placed->time}) : std::nullopt;
      });
  if (!plan) return std::nullopt;
  StagedAnswer answer{.total = plan->total, .bottleneck = plan->bottleneck};
  for (std::size_t i = 0; i < plan->stages.size(); ++i) {
    const partition::PlannedStage& each = plan->stages[i];
    answer.stages.push_back(*search.placed({.first = each.first,
                                            .last = each.last,
                                            .submesh = each.submesh,
                                            .remaining = static_cast<std::int64_t>(plan->stages.size() - i)}));
  }
  price_stages(answer.stages, submeshes, request);
  answer.priced = search.priced();
  return answer;
}

}  // namespace cairn::splits
