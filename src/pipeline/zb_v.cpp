// ZB-V: a V-shaped pipeline of two chunks per device with split backwards, within the memory of 1f1b. List scheduling
// under that limit, by the best of a few rules, leaves no idle time between a device's first and last operation where
// F = B = W and m >= 2p (tested for 2 to 16 stages).
// Memory counts half of a forward's activations as free after its input gradient, the rest after its weight gradient.
// Source: Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, section 6 (the placement and the limit; the order
// is this module's).
#include <algorithm>
#include <utility>

#include "cairn/pipeline/sweep.h"
#include "list_order.h"

namespace cairn::pipeline {
namespace {

// Where every operation takes one unit of time.
core::Picoseconds longest_device(const Schedule& schedule) {
  StageTimes times(schedule.virtual_stages());
  for (const Phase phase : {Phase::forward, Phase::input_gradient, Phase::weight_gradient})
    times.set_duration(phase, 1);
  const SweepResult result = sweep(schedule, times);
  return *std::max_element(result.span.begin(), result.span.end());
}

}  // namespace

Schedule zb_v(const Settings& settings) {
  const std::vector<std::int32_t> chain_of(settings.micro_batches, 0);
  const std::int32_t limit = settings.memory_limit.value_or(settings.stages);
  require(limit >= 1, "memory_limit", "a limit of " + std::to_string(limit) + " micro-batches holds no pipeline",
          "the least is 1, the default the number of stages");
  constexpr std::int32_t k_halves_per_stage = 4;  // two chunks
  Schedule best;
  core::Picoseconds least = 0;
  for (const bool forwards_first : {false, true})
    for (const bool deepest_first : {false, true}) {
      Schedule schedule = list_order("zb-v", settings, wave_layout(settings.stages, 2), chain_of,
                                     {.split = true,
                                      .forwards_first = forwards_first,
                                      .deepest_first = deepest_first,
                                      .most_halves = k_halves_per_stage * limit,
                                      .keep_room = true});
      const core::Picoseconds longest = longest_device(schedule);
      if (!best.operations.empty() && longest >= least) continue;
      best = std::move(schedule);
      least = longest;
    }
  return best;
}

}  // namespace cairn::pipeline
