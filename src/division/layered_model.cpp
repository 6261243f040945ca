#include "cairn/division/layered_model.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/division/plain_plan.h"
#include "cairn/pipeline/stage_costs.h"
#include "cairn/program/placement.h"

namespace cairn::division {
namespace {

using experiment::StrategyChoice;
using program::Placement;

constexpr std::string_view k_layered_schedule = "1f1b";
constexpr std::int64_t k_most_layered_passes = 1 << 20;   // micro-batches of all stages
constexpr double k_most_plan_bytes = 4503599627370496.0;  // 2^52; sums below it are exact
constexpr Placement k_by_sequences{.kind = Placement::Kind::shard, .dim = 0};
constexpr Placement k_by_tokens{.kind = Placement::Kind::shard, .dim = 1};

struct Unsupported {
  bool asked;
  const char* key;
  const char* message;
  const char* hint;
};

// Whether some of the copies, and not all of them, shard the state.
bool shards_in_groups(const StrategyChoice& strategy, std::int64_t gpus) {
  if (strategy.zero.replicate) return *strategy.zero.replicate > 1;
  if (!strategy.zero.shard) return false;
  if (strategy.dp) return *strategy.zero.shard != *strategy.dp;
  // Degrees that are no plan say nothing of the number of copies.
  const std::int64_t ranks = strategy.tp * strategy.pp;
  return gpus % ranks == 0 && *strategy.zero.shard != gpus / ranks;
}

void require_differing(const experiment::Settings& settings, const experiment::Parts& parts) {
  const StrategyChoice& strategy = settings.strategy;
  const models::TransformerConfig& model = parts.model;
  const std::vector<std::string> usual = StrategyChoice{}.order;
  const Unsupported all[] = {
      {model.moe.has_value(), "model.moe", "layers with experts all share them in one way",
       "search layouts of all layers together: leave --method out"},
      {model.ways > 1, "model.residual", "sub-layers side by side share several streams between layers",
       "use residual: standard"},
      {strategy.cp > 1, "strategy.cp", "ranks that share sequences are the same for all layers", "use cp: 1"},
      {strategy.schedule.kind != k_layered_schedule, "strategy.schedule", "stages of differing layers run under 1f1b",
       "use schedule: 1f1b"},
      {strategy.zero.offload.has_value(), "strategy.zero.offload", "state stays on the device where layers differ",
       "leave it out"},
      {shards_in_groups(strategy, parts.machine.network.gpus()), "strategy.zero.shard",
       "state is sharded over all copies of a layer, or not at all", "leave shard and replicate out"},
      {strategy.order != usual, "strategy.order", "tensor-parallel ranks are neighbours where layers differ",
       "leave it out"},
      {settings.simulation.asks_for_events(), "simulation", "where layers differ nothing is simulated event by event",
       "leave it out"}};
  core::Diagnostics problems;
  for (const Unsupported& each : all)
    if (each.asked) {
      core::Diagnostic problem;
      problem.key_path = each.key;
      problem.message = each.message;
      problem.hint = each.hint;
      problems.add(std::move(problem));
    }
  problems.raise_if_errors();
}

core::ConfigurationError wrong_layers(std::size_t stage, std::size_t stretch, const core::Diagnostic& why) {
  constexpr const char* k_otherwise = "share the layers otherwise";
  return {fmt::format("stages[{}].layers[{}].tp", stage, stretch), why.message,
          why.hint.empty() ? k_otherwise : fmt::format("{}, or {}", k_otherwise, why.hint)};
}

// Parameters that layers of a stage share.
class HeldForOthers {
 public:
  void add(const LayerWay& way, std::int64_t bytes) {
    if (bytes == 0) return;
    if (first_ == nullptr) {
      first_ = &way;
      return;
    }
    alike_ = alike_ && stored_alike(*first_, way);
    again_ += static_cast<double>(bytes);
  }
  // Bytes that the first of the layers holds for the others, too.
  double twice() const { return alike_ ? again_ : 0.0; }

 private:
  const LayerWay* first_ = nullptr;  // of the plan
  bool alike_ = true;
  double again_ = 0.0;
};

}  // namespace

class LayeredModel::Implementation {
 public:
  Implementation(const experiment::Settings& settings, const experiment::Parts& parts)
      : settings_(settings), parts_(parts), prices_(settings, parts) {
    require_differing(settings, parts);
    sequences_ = experiment::sequences_per_step(settings.training);
    // Degrees, micro-batches, shards and recomputation are each layer's own; those of the experiment may be no plan.
    const experiment::Resolved kept = experiment::resolve(with_plain_plan(settings, gpus()), parts);
    layers_ = prices_.layers(kept);
    overlap_sends_ = kept.strategy.overlap_sends;
    scatter_sends_ = kept.behaviour.scatter_sends;
    sequence_bytes_ = stream_bytes(settings, parts);
  }

  std::int64_t gpus() const { return parts_.machine.network.gpus(); }
  core::Bytes memory() const { return room_for_layers(parts_); }

  const std::vector<LayerCost>* costs(const LayerWay& way, std::int64_t devices, std::int64_t sequences) {
    const Way& known = known_way(way, devices, sequences);
    return known.costs ? &*known.costs : nullptr;
  }
  core::Diagnostic why(const LayerWay& way, std::int64_t devices, std::int64_t sequences) {
    return known_way(way, devices, sequences).why;
  }

  WayChange change(std::int64_t from_tp, std::int64_t to_tp, std::int64_t devices, std::int64_t sequences) {
    if (from_tp == to_tp) return {};
    const std::int64_t small = std::min(from_tp, to_tp), large = std::max(from_tp, to_tp);
    const auto [slot, fresh] = changes_.try_emplace({small, large, devices, sequences});
    Exchange& both = slot->second;
    if (fresh) {
      both.grows = reshard(small, large, devices, sequences, k_by_sequences, tokens_shared());
      both.falls = reshard(small, large, devices, sequences, tokens_shared(), k_by_sequences);
    }
    // The gradient goes the other way.
    return from_tp < to_tp ? WayChange{.forward = both.grows, .backward = both.falls}
                           : WayChange{.forward = both.falls, .backward = both.grows};
  }

  PricedPlan priced(const LayeredPlan& plan) {
    const std::int64_t devices = require_shape(plan);
    const std::int64_t sequences = sequences_ / plan.micro_batches;
    const std::int64_t stages = std::ssize(plan.stages);
    PricedPlan result;
    pipeline::StageCosts costs;
    std::size_t layer = 0;
    for (std::int64_t i = 0; i < stages; ++i) {
      const std::int64_t held = std::min(plan.micro_batches, stages - i);
      const PricedStage stage = priced_stage(plan.stages[static_cast<std::size_t>(i)], static_cast<std::size_t>(i),
                                             layer, {.devices = devices, .sequences = sequences, .held = held});
      costs.forward.push_back(stage.forward);
      costs.backward.push_back(stage.backward);
      result.memory = std::max(result.memory, stage.memory);
      result.stages.push_back(stage);
    }
    for (std::size_t i = 1; i < plan.stages.size(); ++i) {
      const Message sent =
          message(plan.stages[i - 1].layers.back().way.tp, plan.stages[i].layers.front().way.tp, devices, sequences);
      if (overlap_sends_) {
        costs.delay = std::max(costs.delay, sent.way + sent.arrival);
        continue;
      }
      add_time(costs.forward[i - 1], sent.way);  // its sender computes on when it is there
      add_time(costs.backward[i], sent.way);
      costs.delay = std::max(costs.delay, sent.arrival);
    }
    result.time = step_time(plan, costs, result.stages);
    return result;
  }

  // Of a plan by itself: ways that others have are neither priced nor warned of.
  Basis basis(const LayeredPlan* plan) const {
    Implementation alone(settings_, parts_);
    if (plan != nullptr) alone.priced(*plan);
    return {.assumptions = alone.assumptions(), .warnings = alone.warnings()};
  }

  const experiment::Settings& settings_;
  const experiment::Parts& parts_;
  LayerPrices prices_;
  std::int64_t sequences_ = 0;
  LayerPrices::Layers layers_;

 private:
  // Of the ways that were priced, and of what each layer has a way of its own for.
  std::vector<std::string> warnings() const {
    std::vector<std::string> all(told_.begin(), told_.end());
    const experiment::Recompute& asked = settings_.strategy.recompute;
    const bool in_part = asked.kind == experiment::RecomputeKind::attention ||
                         asked.kind == experiment::RecomputeKind::per_op || asked.operators || asked.layers ||
                         asked.method;
    if (in_part) all.emplace_back("strategy.recompute is left out: each layer runs again as a whole, or not at all");
    for (std::string& each : prices_.warnings()) all.push_back(std::move(each));
    return all;
  }
  std::vector<std::string> assumptions() const {
    std::vector<std::string> all = prices_.assumptions();
    all.emplace_back("exchanges of layers and the update are shared out among layers by their parameters");
    all.emplace_back("what a stage does once a step follows its last backward pass");
    all.emplace_back("what an accelerator of a stage receives is sent by one accelerator of the stage before it");
    if (parts_.model.tied_embeddings)
      all.emplace_back(
          "embedding and head hold the parameters that they share once in one stage and if stored alike, else one "
          "copy each, whose sum of gradients is left out");
    return all;
  }

  struct Way {
    std::optional<std::vector<LayerCost>> costs = {};
    core::Diagnostic why = {};
  };
  struct Exchange {
    core::Picoseconds grows = 0;  // sequences of several copies come together on the ranks of a larger degree
    core::Picoseconds falls = 0;
  };
  struct Share {
    std::int64_t devices = 1;
    std::int64_t sequences = 1;  // of a micro-batch of the stage
    std::int64_t held = 1;       // micro-batches under way
  };
  struct Message {
    core::Picoseconds way = 0;
    core::Picoseconds arrival = 0;  // slices of it are joined
  };

  // The settings of a plan that shares all layers in this way, with the batch as one micro-batch.
  experiment::Settings settings_of(const LayerWay& way, std::int64_t devices) const {
    experiment::Settings settings = settings_;
    StrategyChoice& strategy = settings.strategy;
    strategy.tp = way.tp;
    strategy.dp = devices / way.tp;
    strategy.pp = gpus() / devices;
    strategy.micro_batch = sequences_ / *strategy.dp;
    strategy.micro_batches.reset();
    strategy.sequence_parallel = strategy.sequence_parallel && way.tp > 1;
    if (way.tp == 1 || settings_.strategy.tp == 1) strategy.vocab_parallel.reset();
    strategy.stages.emplace();
    strategy.stages->layers.assign(static_cast<std::size_t>(strategy.pp), 0);
    strategy.stages->layers.front() = parts_.model.layers;
    strategy.zero.stage = way.sharded ? 3 : strategy.zero.stage % 3;
    strategy.zero.shard = strategy.zero.replicate = std::nullopt;
    const std::optional<bool> shares = strategy.recompute.share_saved_inputs;
    strategy.recompute = {.kind = way.recompute ? experiment::RecomputeKind::full : experiment::RecomputeKind::none};
    if (way.recompute) strategy.recompute.share_saved_inputs = shares;
    return settings;
  }

  const Way& known_way(const LayerWay& way, std::int64_t devices, std::int64_t sequences) {
    const auto [slot, fresh] = ways_.try_emplace({way.tp, way.sharded, way.recompute, devices, sequences});
    if (fresh) slot->second = priced_way(way, devices, sequences);
    return slot->second;
  }

  static Way refused(std::string message, std::string hint) {
    Way way;
    way.why.message = std::move(message);
    way.why.hint = std::move(hint);
    return way;
  }

  Way priced_way(const LayerWay& way, std::int64_t devices, std::int64_t sequences) {
    if (devices % way.tp != 0)
      return refused(fmt::format("tp {} does not divide a stage of {}", way.tp, devices), "use a divisor");
    const std::int64_t copies = devices / way.tp;
    if (sequences % copies != 0)
      return refused(fmt::format("micro-batches of {} sequences are not {} equal shares", sequences, copies),
                     "give a batch that falls into equal shares, or fewer accelerators");
    if (way.sharded && copies == 1)
      return refused("there are no copies that could shard anything", "leave sharded out");
    try {
      experiment::Resolved resolved = experiment::resolve(settings_of(way, devices), parts_);
      resolved.strategy.micro_batch = sequences / copies;
      resolved.strategy.micro_batches = sequences_ / sequences;
      std::vector<LayerCost> costs = prices_.costs(resolved);
      for (std::string& each : resolved.warnings) told_.insert(std::move(each));
      if (!may_be_added(costs, resolved.strategy.micro_batches))
        return refused("a step of such layers takes longer than simulated time reaches",
                       "give fewer or shorter sequences");
      return {.costs = std::move(costs)};
    } catch (const core::ConfigurationError& error) {
      return {.why = error.diagnostics().front()};
    }
  }

  // Whether the times of layers in this way and others add up to what simulated time reaches.
  bool may_be_added(const std::vector<LayerCost>& costs, std::int64_t micro_batches) const {
    constexpr double k_room = 64.0;
    double sum = 0.0;
    for (const std::size_t each : layers_.of)
      sum += static_cast<double>(micro_batches) *
                 (static_cast<double>(costs[each].forward) + static_cast<double>(costs[each].backward)) +
             static_cast<double>(costs[each].once);
    return k_room * sum < static_cast<double>(core::k_reach);
  }

  Placement tokens_shared() const { return settings_.strategy.sequence_parallel ? k_by_tokens : Placement{}; }

  // Over groups of so many copies whose sequences one rank of the larger degree has.
  core::Picoseconds reshard(std::int64_t small, std::int64_t large, std::int64_t devices, std::int64_t sequences,
                            const Placement& from, const Placement& to) {
    const double whole = sequence_bytes_ * static_cast<double>(sequences);  // of the stage
    const std::int64_t shared = settings_.strategy.sequence_parallel ? large / small : large;
    return prices_.time({.collective = program::redistribute(from, to),
                         .group = {.axis = program::Axis::tensor, .size = large / small, .stride = small},
                         .bytes = whole * static_cast<double>(shared) / static_cast<double>(devices)});
  }

  // Of the larger degree of the two that meet between stages: each accelerator receives what its layer takes. A tensor
  // that is whole on all ranks of the degree may be sent in slices, one by each of them.
  Message message(std::int64_t below, std::int64_t above, std::int64_t devices, std::int64_t sequences) {
    const std::int64_t degree = std::max(below, above);
    const double slice = sequence_bytes_ * static_cast<double>(sequences) / static_cast<double>(devices);
    const bool whole = !settings_.strategy.sequence_parallel && degree > 1;
    const double bytes = whole ? slice * static_cast<double>(degree) : slice;
    const bool sliced = whole && scatter_sends_;
    // Neighbours in different domains are farther apart than those in one: the longest way counts for all.
    const std::int64_t domain = parts_.machine.network.domain();
    const std::int64_t inside = std::min(devices, std::max<std::int64_t>(1, domain / 2));
    return {.way = prices_.time(
                {.collective = program::Collective::send,
                 .group = {.axis = program::Axis::pipeline, .size = 2, .stride = gpus() > domain ? domain : inside},
                 .bytes = sliced ? slice : bytes}),
            .arrival = sliced ? prices_.time({.collective = program::Collective::all_gather,
                                              .group = {.axis = program::Axis::tensor, .size = degree},
                                              .bytes = bytes})
                              : 0};
  }

  // From the first pass until the last stage is done with its gradients and parameters.
  core::Picoseconds step_time(const LayeredPlan& plan, const pipeline::StageCosts& costs,
                              const std::vector<PricedStage>& stages) {
    const pipeline::ExactRun run = pipeline::run_under(k_layered_schedule,
                                                       {.stages = static_cast<std::int32_t>(plan.stages.size()),
                                                        .micro_batches = static_cast<std::int32_t>(plan.micro_batches)},
                                                       costs);
    core::Picoseconds time = 0;
    for (std::size_t i = 0; i < run.order.steps.size(); ++i) {
      core::Picoseconds end = run.result.end[i];
      add_time(end, stages[static_cast<std::size_t>(run.order.steps[i].device)].once);
      time = std::max(time, end);
    }
    add_time(time, prices_.host_per_step());
    return time;
  }

  // Accelerators of a stage.
  std::int64_t require_shape(const LayeredPlan& plan) const {
    const auto stages = static_cast<std::int64_t>(plan.stages.size());
    if (gpus() % stages != 0)
      throw core::ConfigurationError("stages",
                                     fmt::format("{} stages do not share {} accelerators evenly", stages, gpus()),
                                     "give a number of stages that divides them");
    if (sequences_ % plan.micro_batches != 0)
      throw core::ConfigurationError(
          "micro_batches", fmt::format("{} sequences are not {} equal micro-batches", sequences_, plan.micro_batches),
          "give a divisor of the batch");
    if (stages > k_most_layered_passes / plan.micro_batches)
      throw core::ConfigurationError("micro_batches",
                                     fmt::format("{} of them in {} stages, and at most {} passes are run",
                                                 plan.micro_batches, stages, k_most_layered_passes),
                                     "give fewer, which are larger");
    std::int64_t layers = 0;
    for (const LayeredStage& stage : plan.stages) {
      if (stage.layers.empty())
        throw core::ConfigurationError("stages", "a stage has no layers", "leave it out, or give it some");
      for (const LayerStretch& stretch : stage.layers) layers += stretch.count;
    }
    if (layers != std::ssize(layers_.of))
      throw core::ConfigurationError(
          "stages",
          fmt::format("they hold {} layers, and the model has {}, embedding and head among them", layers,
                      layers_.of.size()),
          "count each layer in one stage");
    return gpus() / stages;
  }

  PricedStage priced_stage(const LayeredStage& stage, std::size_t number, std::size_t& layer, const Share& share) {
    PricedStage result;
    double memory = 0.0;
    std::int64_t transient = 0;
    HeldForOthers shared;
    const LayerWay* before = nullptr;
    for (std::size_t j = 0; j < stage.layers.size(); ++j) {
      const LayerStretch& stretch = stage.layers[j];
      const std::vector<LayerCost>* costs = this->costs(stretch.way, share.devices, share.sequences);
      if (costs == nullptr) throw wrong_layers(number, j, why(stretch.way, share.devices, share.sequences));
      if (before != nullptr) {
        const WayChange changed = change(before->tp, stretch.way.tp, share.devices, share.sequences);
        add_time(result.forward, changed.forward);
        add_time(result.backward, changed.backward);
      }
      before = &stretch.way;
      for (std::int64_t i = 0; i < stretch.count; ++i, ++layer) {
        const LayerCost& cost = (*costs)[layers_.of[layer]];
        add_time(result.forward, cost.forward);
        add_time(result.backward, cost.backward);
        add_time(result.once, cost.once);
        memory += static_cast<double>(cost.state) + static_cast<double>(share.held) * static_cast<double>(cost.saved);
        transient = std::max(transient, cost.transient);
        shared.add(stretch.way, cost.tied);
      }
    }
    memory -= shared.twice();
    result.memory = static_cast<std::int64_t>(std::min(k_most_plan_bytes, memory + static_cast<double>(transient)));
    return result;
  }

  double sequence_bytes_ = 0.0;  // of one sequence between two layers
  bool overlap_sends_ = true;
  bool scatter_sends_ = false;
  std::map<std::tuple<std::int64_t, bool, bool, std::int64_t, std::int64_t>, Way> ways_;
  std::map<std::array<std::int64_t, 4>, Exchange> changes_;
  std::set<std::string> told_;  // warnings of ways that were priced
};

LayeredModel::LayeredModel(const experiment::Settings& settings, const experiment::Parts& parts)
    : implementation_(std::make_unique<Implementation>(settings, parts)) {}
LayeredModel::~LayeredModel() = default;

std::int64_t LayeredModel::accelerators() const { return implementation_->gpus(); }
std::int64_t LayeredModel::sequences() const { return implementation_->sequences_; }
core::Bytes LayeredModel::memory() const { return implementation_->memory(); }
const LayerPrices::Layers& LayeredModel::layers() const { return implementation_->layers_; }
const std::vector<LayerCost>* LayeredModel::costs(const LayerWay& way, std::int64_t devices,
                                                  std::int64_t micro_batch_of_stage) {
  return implementation_->costs(way, devices, micro_batch_of_stage);
}
core::Diagnostic LayeredModel::why(const LayerWay& way, std::int64_t devices, std::int64_t micro_batch_of_stage) {
  return implementation_->why(way, devices, micro_batch_of_stage);
}
WayChange LayeredModel::change(std::int64_t from_tp, std::int64_t to_tp, std::int64_t devices,
                               std::int64_t micro_batch_of_stage) {
  return implementation_->change(from_tp, to_tp, devices, micro_batch_of_stage);
}
PricedPlan LayeredModel::priced(const LayeredPlan& plan) { return implementation_->priced(plan); }
Basis LayeredModel::basis() const { return implementation_->basis(nullptr); }
Basis LayeredModel::basis(const LayeredPlan& plan) const { return implementation_->basis(&plan); }

}  // namespace cairn::division
