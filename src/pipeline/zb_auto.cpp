// Zero-bubble orders found by search under a limit of memory: list schedules for several rules and the handcrafted
// orders that keep to the limit, the best of which has then adjacent operations of a device exchanged by threshold
// accepting (Dueck and Scheuer, 1990): a change stays when the longest device gets longer by no more than a threshold
// that falls to 0, a few times over from the best order seen, which is kept. Equally long ones are told apart by all
// devices together, then the makespan. Memory counts half of a forward's activations as free after its input gradient,
// the rest after its weight gradient.
// Source: Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, section 4 (the problem; the search is this
// module's).
#include <algorithm>
#include <array>
#include <compare>
#include <numeric>
#include <span>
#include <utility>

#include "cairn/core/random.h"
#include "cairn/pipeline/span_bound.h"
#include "cairn/pipeline/sweep.h"
#include "list_order.h"

namespace cairn::pipeline {
namespace {

constexpr std::int32_t k_halves = 2;  // of a micro-batch's activations
// Operations swept in all during the exchange of neighbours: a fraction of a second.
constexpr std::int64_t k_budget = 12'000'000;
constexpr std::int64_t k_most_attempts = 20'000;
constexpr std::int64_t k_rounds = 10;
constexpr std::uint64_t k_seed = 1;

// time x part / whole, rounded down, where the product may be larger than any time; 0 <= part <= whole < 2^31.
core::Picoseconds part_of(core::Picoseconds time, std::int64_t part, std::int64_t whole) {
  return time / whole * part + time % whole * part / whole;
}

struct Cost {
  core::Picoseconds longest = 0;
  core::Picoseconds all = 0;
  core::Picoseconds makespan = 0;
  auto operator<=>(const Cost&) const = default;
};

class Search {
 public:
  explicit Search(const Settings& settings) : settings_(settings), times_(settings.stages) {
    const Durations& full = settings.durations;
    times_.set_duration(Phase::forward, full.forward);
    times_.set_duration(Phase::input_gradient, full.input_gradient);
    times_.set_duration(Phase::weight_gradient, full.weight_gradient);
    times_.set_delay(full.delay);
    most_halves_ = k_halves * settings.memory_limit.value_or(settings.stages);
  }

  Schedule run() {
    start();
    const core::Picoseconds bound = span_lower_bound(settings_);
    core::Random random(k_seed);
    const auto size = static_cast<std::int64_t>(best_.operations.size());
    const std::int64_t attempts = std::min(k_most_attempts, k_budget / std::max<std::int64_t>(size, 1));
    const std::int64_t round = std::max<std::int64_t>(attempts / k_rounds, 1);
    const Durations& t = settings_.durations;
    const core::Picoseconds widest = (t.forward + t.input_gradient + t.weight_gradient) / 2;
    Cost now = cost_;
    for (std::int64_t i = 0; i < attempts && cost_.longest > bound; ++i) {
      if (i % round == 0) {
        current_ = best_;
        now = cost_;
      }
      const auto at = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(size)));
      const core::Picoseconds threshold = part_of(widest, round - 1 - i % round, round);
      now = exchange(at, now, threshold);
      if (now >= cost_) continue;
      cost_ = now;
      best_ = current_;
    }
    return std::move(best_);
  }

 private:
  void start() {
    const Layout layout = loop_layout(settings_.stages, 1);
    const std::vector<std::int32_t> chain_of(settings_.micro_batches, 0);
    for (const bool forwards_first : {false, true})
      for (const std::int32_t most_due : {0, 1, 2, settings_.stages})
        offer(list_order("zb-auto", settings_, layout, chain_of,
                         {.of_operation = settings_.durations,
                          .split = true,
                          .forwards_first = forwards_first,
                          .most_halves = most_halves_,
                          .most_due = most_due}));
    offer(zb_h1(settings_));
    offer(zb_h2(settings_));
    best_.kind = "zb-auto";
  }

  // Keeps the candidate if it is within the limit and better than what is there.
  void offer(Schedule candidate) {
    for (std::int32_t device = 0; device < candidate.stages; ++device)
      if (!within_limit(candidate.row(device))) return;
    const Cost cost = cost_of(candidate);
    if (!best_.operations.empty() && cost >= cost_) return;
    best_ = std::move(candidate);
    cost_ = cost;
  }

  Cost cost_of(const Schedule& schedule) const {
    const SweepResult result = sweep(schedule, times_);
    return {.longest = *std::max_element(result.span.begin(), result.span.end()),
            .all = std::accumulate(result.span.begin(), result.span.end(), core::Picoseconds{0}),
            .makespan = result.makespan};
  }

  // Operation `at` and the one behind it on its device change places, if they may and if that makes the longest device
  // longer by less than the threshold or is no loss at all. Returns the cost that holds.
  Cost exchange(std::int32_t at, const Cost& now, core::Picoseconds threshold) {
    const auto row_end = std::upper_bound(current_.row_begin.begin(), current_.row_begin.end(), at);
    if (at + 1 == *row_end) return now;
    Operation& first = current_.operations[at];
    Operation& second = current_.operations[at + 1];
    // Micro-batches keep their order in each phase, and the phases theirs in each micro-batch.
    if (first.phase == second.phase || first.micro_batch == second.micro_batch) return now;
    std::swap(first, second);
    if (can_run(static_cast<std::int32_t>(row_end - current_.row_begin.begin()) - 1)) {
      const Cost cost = cost_of(current_);
      if (cost <= now || cost.longest < now.longest + threshold) return cost;
    }
    std::swap(first, second);
    return now;
  }

  bool within_limit(std::span<const Operation> row) const {
    std::int32_t halves = 0;
    for (const Operation& operation : row) {
      halves += operation.phase == Phase::forward ? k_halves : -1;
      if (halves > most_halves_) return false;
    }
    return true;
  }

  // Within the limit, and without order lists that wait for each other.
  bool can_run(std::int32_t device) const { return within_limit(current_.row(device)) && runs_through(device); }

  // Input gradient i of a device waits for that of the device behind it, which has been sent as many forwards as this
  // device runs before: no fewer than the device behind runs before its own.
  bool runs_through(std::int32_t changed) const {
    const std::int32_t to = std::min(changed + 1, settings_.stages - 1);
    for (std::int32_t device = std::max(changed - 1, 0); device < to; ++device) {
      const std::vector<std::int32_t> here = forwards_before_gradient(device);
      const std::vector<std::int32_t> behind = forwards_before_gradient(device + 1);
      for (std::size_t i = 0; i < here.size(); ++i)
        if (here[i] < behind[i]) return false;
    }
    return true;
  }

  std::vector<std::int32_t> forwards_before_gradient(std::int32_t device) const {
    std::vector<std::int32_t> counts;
    std::int32_t forwards = 0;
    for (const Operation& operation : current_.row(device)) {
      if (operation.phase == Phase::forward) ++forwards;
      if (operation.phase == Phase::input_gradient) counts.push_back(forwards);
    }
    return counts;
  }

  const Settings& settings_;
  StageTimes times_;
  std::int32_t most_halves_ = 0;
  Schedule current_;
  Schedule best_;
  Cost cost_;
};

}  // namespace

core::Picoseconds span_lower_bound(const Settings& settings) {
  const Durations& t = settings.durations;
  const std::int64_t m = settings.micro_batches;
  const std::int64_t ahead = std::min<std::int64_t>(settings.memory_limit.value_or(settings.stages), m);
  const core::Picoseconds round_trip = (settings.stages - 1) * (t.forward + t.input_gradient + 2 * t.delay);
  const core::Picoseconds waiting = std::max<core::Picoseconds>(0, round_trip - (ahead - 1) * t.forward);
  return m * (t.forward + t.input_gradient + t.weight_gradient) + waiting;
}

Schedule zb_auto(const Settings& settings) {
  const std::int32_t limit = settings.memory_limit.value_or(settings.stages);
  require(limit >= 1, "memory_limit", "a limit of " + std::to_string(limit) + " micro-batches holds no pipeline",
          "the least is 1, the default the number of stages");
  return Search(settings).run();
}

}  // namespace cairn::pipeline
