#include "cairn/partition/stage_plan.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"

namespace cairn::partition {
namespace {

// No stage or no plan: above every time, and two of them can be added.
constexpr core::Picoseconds k_no_plan = std::numeric_limits<core::Picoseconds>::max() / 2;

void require(bool holds, const char* key, std::int64_t value, const char* hint) {
  if (!holds) throw core::ConfigurationError(key, fmt::format("{} is out of range", value), hint);
}

// The times of all stages, by the stages that remain, the first layer, the last layer and the submesh, the last one
// fastest; k_no_plan where the stage does not exist.
class StageTimes {
 public:
  StageTimes(const StageProblem& problem, const StagePrice& price)
      : layers_(problem.layers),
        submeshes_(static_cast<std::int64_t>(problem.submeshes.size())),
        stages_(std::min(problem.layers, problem.devices)),
        times_(static_cast<std::size_t>(stages_ * layers_ * layers_ * submeshes_), k_no_plan) {
    for (std::int64_t remaining = 1; remaining <= stages_; ++remaining)
      for (std::int64_t first = 0; first + remaining <= layers_; ++first)
        for (std::int64_t last = earliest_last(first, remaining); last + remaining <= layers_; ++last)
          for (std::int64_t m = 0; m < submeshes_; ++m)
            times_[index(remaining, first, last, m)] =
                time_of(problem, price,
                        {.first = first, .last = last, .submesh = static_cast<std::size_t>(m), .remaining = remaining});
  }

  std::int64_t stages() const { return stages_; }
  // The last stage ends with the last layer.
  std::int64_t earliest_last(std::int64_t first, std::int64_t remaining) const {
    return remaining == 1 ? layers_ - 1 : first;
  }
  core::Picoseconds at(std::int64_t remaining, std::int64_t first, std::int64_t last, std::int64_t submesh) const {
    return times_[index(remaining, first, last, submesh)];
  }
  // Of the stages that exist, ascending, each once.
  std::vector<core::Picoseconds> distinct() const {
    std::vector<core::Picoseconds> result = times_;
    std::erase(result, k_no_plan);
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
  }

 private:
  static core::Picoseconds time_of(const StageProblem& problem, const StagePrice& price, const StageShape& shape) {
    if (problem.submeshes[shape.submesh].devices > problem.devices) return k_no_plan;
    const std::optional<StageCost> cost = price(shape);
    if (!cost) return k_no_plan;
    if (cost->time < 0 || cost->resident < 0 || cost->per_micro_batch < 0)
      throw core::ConfigurationError("stage",
                                     fmt::format("layers {} to {} on {} cost less than nothing", shape.first,
                                                 shape.last, problem.submeshes[shape.submesh].name),
                                     "give times and bytes of 0 or more");
    const std::int64_t held = std::min(shape.remaining, problem.micro_batches);
    const std::int64_t room = problem.capacity - cost->resident;
    if (room < 0 || cost->per_micro_batch > room / held) return k_no_plan;
    if (cost->time > core::k_reach / (problem.micro_batches - 1 + problem.layers))
      throw core::ConfigurationError(
          "stage",
          fmt::format("layers {} to {} take {} ps, and {} micro-batches of such stages pass "
                      "what simulated time reaches, {}",
                      shape.first, shape.last, cost->time, problem.micro_batches, core::reach_text()),
          "give times in picoseconds, or fewer micro-batches");
    return cost->time;
  }

  std::size_t index(std::int64_t remaining, std::int64_t first, std::int64_t last, std::int64_t submesh) const {
    return static_cast<std::size_t>((((remaining - 1) * layers_ + first) * layers_ + last) * submeshes_ + submesh);
  }

  std::int64_t layers_;
  std::int64_t submeshes_;
  std::int64_t stages_;
  std::vector<core::Picoseconds> times_;
};

// F of one t, of all s, k and d.
class LeastSums {
 public:
  LeastSums(const StageProblem& problem, const StageTimes& times)
      : problem_(problem),
        times_(times),
        sums_(static_cast<std::size_t>((times.stages() + 1) * (problem.layers + 1) * (problem.devices + 1))) {}

  void solve(core::Picoseconds longest) {
    longest_ = longest;
    std::fill(sums_.begin(), sums_.end(), k_no_plan);
    sum(0, problem_.layers, 0) = 0;
    for (std::int64_t remaining = 1; remaining <= times_.stages(); ++remaining)
      for (std::int64_t first = 0; first + remaining <= problem_.layers; ++first)
        for (std::int64_t last = times_.earliest_last(first, remaining); last + remaining <= problem_.layers; ++last)
          relax(remaining, first, last);
  }

  // The least sum of all layers on all devices, over any number of stages.
  core::Picoseconds least() const {
    core::Picoseconds result = k_no_plan;
    for (std::int64_t stages = 1; stages <= times_.stages(); ++stages)
      result = std::min(result, sum(stages, 0, problem_.devices));
    return result;
  }

  // The plan of least(), from its sums again.
  StagePlan plan() const {
    std::int64_t stages = 1;
    while (sum(stages, 0, problem_.devices) != least()) ++stages;
    StagePlan result;
    std::int64_t first = 0, devices = problem_.devices;
    for (; stages > 0; --stages) {
      result.stages.push_back(first_stage(stages, first, devices));
      const PlannedStage& stage = result.stages.back();
      result.sum += stage.time;
      result.bottleneck = std::max(result.bottleneck, stage.time);
      first = stage.last + 1;
      devices -= problem_.submeshes[stage.submesh].devices;
    }
    CAIRN_ASSERT(first == problem_.layers && devices == 0);
    result.total = result.sum + (problem_.micro_batches - 1) * result.bottleneck;
    return result;
  }

 private:
  std::size_t index(std::int64_t stages, std::int64_t first, std::int64_t devices) const {
    return static_cast<std::size_t>((stages * (problem_.layers + 1) + first) * (problem_.devices + 1) + devices);
  }
  core::Picoseconds& sum(std::int64_t stages, std::int64_t first, std::int64_t devices) {
    return sums_[index(stages, first, devices)];
  }
  core::Picoseconds sum(std::int64_t stages, std::int64_t first, std::int64_t devices) const {
    return sums_[index(stages, first, devices)];
  }

  void relax(std::int64_t remaining, std::int64_t first, std::int64_t last) {
    const core::Picoseconds* const after = &sums_[index(remaining - 1, last + 1, 0)];
    for (std::size_t m = 0; m < problem_.submeshes.size(); ++m) {
      const core::Picoseconds time = times_.at(remaining, first, last, static_cast<std::int64_t>(m));
      if (time > longest_) continue;
      const std::int64_t size = problem_.submeshes[m].devices;
      core::Picoseconds* const here = &sum(remaining, first, size);
      for (std::int64_t rest = 0; rest + size <= problem_.devices; ++rest)
        here[rest] = std::min(here[rest], time + after[rest]);
    }
  }

  PlannedStage first_stage(std::int64_t remaining, std::int64_t first, std::int64_t devices) const {
    for (std::int64_t last = times_.earliest_last(first, remaining); last + remaining <= problem_.layers; ++last)
      for (std::size_t m = 0; m < problem_.submeshes.size(); ++m) {
        const core::Picoseconds time = times_.at(remaining, first, last, static_cast<std::int64_t>(m));
        const std::int64_t rest = devices - problem_.submeshes[m].devices;
        if (time > longest_ || rest < 0) continue;
        if (time + sum(remaining - 1, last + 1, rest) == sum(remaining, first, devices))
          return {.first = first, .last = last, .submesh = m, .time = time};
      }
    CAIRN_ASSERT(false);
    return {};
  }

  const StageProblem& problem_;
  const StageTimes& times_;
  core::Picoseconds longest_ = 0;
  std::vector<core::Picoseconds> sums_;
};

}  // namespace

std::vector<Submesh> submesh_shapes(std::int64_t nodes, std::int64_t devices_per_node) {
  if (devices_per_node < 1 || devices_per_node > k_most_devices)
    throw core::ConfigurationError("devices_per_node", fmt::format("{} is out of range", devices_per_node),
                                   "give the devices of one node, at least one");
  if (nodes < 1 || nodes > k_most_devices / devices_per_node)
    throw core::ConfigurationError("nodes", fmt::format("{} is out of range", nodes),
                                   "give at least one node, and at most 1,000,000 devices");
  std::vector<Submesh> result;
  for (std::int64_t devices = 1; devices < devices_per_node; devices *= 2)
    result.push_back({.name = fmt::format("1x{}", devices), .devices = devices});
  for (std::int64_t count = 1; count <= nodes; ++count)
    result.push_back({.name = fmt::format("{}x{}", count, devices_per_node), .devices = count * devices_per_node});
  return result;
}

void require_stage_problem(const StageProblem& problem) {
  require(problem.layers >= 1, "layers", problem.layers, "give at least one layer");
  require(problem.devices >= 1 && problem.devices <= k_most_devices, "devices", problem.devices,
          "give between 1 and 1,000,000 devices");
  require(problem.micro_batches >= 1 && problem.micro_batches <= core::k_reach, "micro_batches", problem.micro_batches,
          "give at least one micro-batch, and no more than a step can hold");
  require(problem.capacity >= 0, "capacity", problem.capacity, "give the bytes of a device");
  if (problem.submeshes.empty())
    throw core::ConfigurationError("submeshes", "there is none", "give the submeshes that a stage can have");
  for (const Submesh& each : problem.submeshes)
    if (each.devices < 1)
      throw core::ConfigurationError("submeshes", fmt::format("{} has {} devices", each.name, each.devices),
                                     "give each at least one device");
  const auto layers = static_cast<double>(problem.layers);
  const auto devices = static_cast<double>(problem.devices);
  const double stages = std::min(layers, devices);
  const double prices = stages * layers * layers * static_cast<double>(problem.submeshes.size());
  if (std::max(prices, (stages + 1) * (layers + 1) * (devices + 1)) > k_most_stage_prices)
    throw core::ConfigurationError(
        "layers",
        fmt::format("{} layers on {} devices make too many stages to remember", problem.layers, problem.devices),
        "give fewer layers, as blocks of them, or fewer devices and submeshes");
}

std::optional<StagePlan> plan_stages(const StageProblem& problem, const StagePrice& price, core::Picoseconds epsilon) {
  require_stage_problem(problem);
  require(epsilon >= 0 && epsilon <= core::k_reach, "epsilon", epsilon, "give 0 for the exact plan");
  const StageTimes times(problem, price);
  const std::vector<core::Picoseconds> candidates = times.distinct();
  if (candidates.empty()) return std::nullopt;
  LeastSums sums(problem, times);
  std::size_t tried = 0;
  const auto least_with = [&](core::Picoseconds longest) {
    ++tried;
    sums.solve(longest);
    return sums.least();
  };

  // No plan has a smaller sum than this, whatever its longest stage.
  const core::Picoseconds least_sum = least_with(candidates.back());
  if (least_sum >= k_no_plan) return std::nullopt;
  auto next = std::partition_point(candidates.begin(), candidates.end(),
                                   [&](core::Picoseconds t) { return least_with(t) >= k_no_plan; });
  std::optional<StagePlan> best;
  while (next != candidates.end()) {
    if (best && least_sum + (problem.micro_batches - 1) * *next >= best->total) break;
    const auto after = std::upper_bound(next, candidates.end(), *next + epsilon);
    const core::Picoseconds least = least_with(*std::prev(after));
    CAIRN_ASSERT(least < k_no_plan);
    StagePlan plan = sums.plan();
    if (!best || plan.total < best->total) best = std::move(plan);
    next = after;
  }
  best->tried = tried;
  return best;
}

}  // namespace cairn::partition
