#include "cairn/division/five_degrees.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/division/plain_plan.h"
#include "cairn/experiment/job.h"
#include "cairn/experiment/resolve.h"
#include "cairn/experiment/trials.h"

namespace cairn::division {
namespace {

using allotment::FiveDimensions;
using experiment::StrategyChoice;

constexpr std::int64_t k_most_searched = std::int64_t{1} << 20;  // accelerators, heads, sequences
constexpr std::int64_t k_most_rematerialised = 256;              // layers: each number of them is a plan
constexpr std::int64_t k_not_allowed = std::numeric_limits<std::int64_t>::max();

// Whether every layer of a stage runs again.
bool all_rematerialised(const FiveDimensions& degrees, std::int64_t layers) {
  return degrees.rematerialised == layers / degrees.pipeline;
}

// Time and memory of candidates, one plan at a time.
class PlanCosts {
 public:
  PlanCosts(const experiment::Settings& settings, const experiment::Parts& parts,
            const std::function<void(std::size_t)>& progress)
      : settings_(settings), layers_(parts.model.layers), progress_(progress), trials_(settings, parts) {}

  core::Picoseconds time(const FiveDimensions& degrees) {
    return asked(degrees, core::k_reach, [&] { return trials_.time(); });
  }
  std::int64_t memory(const FiveDimensions& degrees) {
    return asked(degrees, k_not_allowed,
                 [&] { return static_cast<std::int64_t>(std::ceil(trials_.memory().device_peak)); });
  }
  double capacity() const { return trials_.capacity(); }
  bool allowed() const { return any_allowed_; }
  const std::optional<core::Diagnostic>& refused() const { return refused_; }

 private:
  // What `figure` says of the plan, or `otherwise` where it is not allowed.
  template <class Value, class Figure>
  Value asked(const FiveDimensions& degrees, Value otherwise, Figure figure) {
    try {
      if (made_ != degrees) make(degrees);
      if (allowed_) {
        const Value value = figure();
        any_allowed_ = true;
        return value;
      }
    } catch (const core::ConfigurationError& error) {
      if (!refused_) refused_ = error.diagnostics().front();
      allowed_ = false;
    }
    return otherwise;
  }

  void make(const FiveDimensions& degrees) {
    made_ = degrees;
    allowed_ = false;
    if (progress_) progress_(++made_so_far_);
    trials_.make(with_degrees(settings_.strategy, layers_, degrees));
    allowed_ = true;
  }

  const experiment::Settings& settings_;
  std::int64_t layers_;
  const std::function<void(std::size_t)>& progress_;
  experiment::Trials trials_;
  std::optional<FiveDimensions> made_;
  bool allowed_ = false;
  std::size_t made_so_far_ = 0;
  bool any_allowed_ = false;
  std::optional<core::Diagnostic> refused_;
};

// What every candidate has of the experiment must be right; its own degrees and schedule need not go together.
void require_kept(const experiment::Settings& settings, const experiment::Parts& parts) {
  experiment::Settings plain = with_plain_plan(settings, parts.machine.network.gpus());
  plain.strategy.schedule = {};
  experiment::resolve(plain, parts);
  experiment::micro_batches_per_step(settings.training, settings.strategy.micro_batch, 1);  // of the fewest ranks
}

}  // namespace

StrategyChoice with_degrees(const StrategyChoice& strategy, std::int64_t layers, const FiveDimensions& degrees) {
  StrategyChoice result = strategy;
  result.tp = degrees.tensor;
  result.dp = degrees.data;
  result.pp = degrees.pipeline;
  result.micro_batches.reset();
  result.stages.emplace();
  result.sequence_parallel = strategy.sequence_parallel && degrees.tensor > 1;
  result.zero = {};
  if (degrees.optimizer > 1) {
    result.zero.stage = 1;
    result.zero.shard = degrees.optimizer;
  }
  result.recompute = {};
  if (degrees.rematerialised > 0) {
    result.recompute.kind = experiment::RecomputeKind::full;
    if (!all_rematerialised(degrees, layers)) {
      result.recompute.method = experiment::RecomputeMethod::block;
      result.recompute.count = degrees.rematerialised;
    }
  }
  return result;
}

std::vector<std::string> settings_of(const FiveDimensions& degrees, std::int64_t layers, bool shares_tokens) {
  const std::string zero =
      degrees.optimizer > 1 ? fmt::format("{{stage: 1, shard: {}}}", degrees.optimizer) : std::string("0");
  std::string recompute = degrees.rematerialised > 0 ? "full" : "none";
  if (degrees.rematerialised > 0 && !all_rematerialised(degrees, layers))
    recompute = fmt::format("{{kind: full, method: block, count: {}}}", degrees.rematerialised);
  return {fmt::format("strategy.tp={}", degrees.tensor),
          fmt::format("strategy.dp={}", degrees.data),
          fmt::format("strategy.pp={}", degrees.pipeline),
          "strategy.micro_batches=null",
          "strategy.stages=even",
          fmt::format("strategy.sequence_parallel={}", shares_tokens && degrees.tensor > 1),
          "strategy.zero=" + zero,
          "strategy.recompute=" + recompute};
}

FiveDegrees fastest_degrees(const experiment::Settings& settings, const experiment::Parts& parts,
                            const std::function<void(std::size_t)>& progress) {
  if (settings.strategy.zero.offload)
    throw core::ConfigurationError("strategy.zero.offload", "the five degrees keep all state on the device",
                                   "leave it out");
  if (settings.strategy.cp > 1 || settings.strategy.ep > 1 || settings.strategy.etp > 1)
    throw core::ConfigurationError(settings.strategy.cp > 1   ? "strategy.cp"
                                   : settings.strategy.ep > 1 ? "strategy.ep"
                                                              : "strategy.etp",
                                   "the five degrees share neither sequences nor experts", "set it to 1");
  if (settings.simulation.asks_for_events())
    throw core::ConfigurationError("simulation", "plans are compared by the analytic engine, which has none of it",
                                   "leave it out, and give it to cairn run of the answer");
  const std::int64_t sequences = experiment::sequences_per_step(settings.training);
  const auto require_at_most = [](std::int64_t value, std::int64_t most, const char* key) {
    if (value > most)
      throw core::ConfigurationError(key, fmt::format("{} is more than the {} that are searched", value, most),
                                     "use fewer");
  };
  require_at_most(sequences, k_most_searched, "training.global_batch");
  require_at_most(parts.machine.network.gpus(), k_most_searched, "cluster.nodes");
  require_at_most(parts.model.heads, k_most_searched, "model.heads");
  require_at_most(parts.model.layers, k_most_rematerialised, "model.layers");
  require_kept(settings, parts);
  PlanCosts costs(settings, parts, progress);
  FiveDegrees result;
  result.found =
      allotment::fastest_dimensions({.devices = parts.machine.network.gpus(),
                                     .heads = parts.model.heads,
                                     .layers = parts.model.layers,
                                     .batch = sequences,
                                     .capacity = static_cast<std::int64_t>(costs.capacity()),
                                     .time = [&](const FiveDimensions& degrees) { return costs.time(degrees); },
                                     .memory = [&](const FiveDimensions& degrees) { return costs.memory(degrees); },
                                     .time_of_optimizer = allotment::Promise::anything});
  result.capacity = core::Bytes::from_base(costs.capacity());
  result.allowed = costs.allowed();
  result.refused = costs.refused();
  if (!result.found.best) return result;
  result.settings = settings_of(*result.found.best, parts.model.layers, settings.strategy.sequence_parallel);
  experiment::Settings chosen = settings;
  chosen.strategy = with_degrees(settings.strategy, parts.model.layers, *result.found.best);
  experiment::Job job(chosen, parts);
  result.assumptions = job.run(predict::Engine::analytic, {.advice = experiment::Advice::none}).assumptions;
  result.warnings = job.warnings();
  return result;
}

}  // namespace cairn::division
