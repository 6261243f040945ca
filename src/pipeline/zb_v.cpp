// ZB-V: a V-shaped pipeline of two chunks per device with split backwards, within the memory of 1f1b. List scheduling
// under that limit leaves no idle time between a device's first and last operation where F = B = W and m >= 2p.
// Memory counts half of a forward's activations as free after its input gradient, the rest after its weight gradient.
// Source: Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, section 6 (the placement and the limit; the order
// is this module's).
#include "list_order.h"

namespace cairn::pipeline {

Schedule zb_v(const Settings& settings) {
  const std::vector<std::int32_t> chain_of(settings.micro_batches, 0);
  const std::int32_t limit = settings.memory_limit.value_or(settings.stages);
  require(limit >= 1, "memory_limit", "a limit of " + std::to_string(limit) + " micro-batches holds no pipeline",
          "the least is 1, the default the number of stages");
  constexpr std::int32_t k_halves_per_stage = 4;  // two chunks
  return list_order("zb-v", settings, wave_layout(settings.stages, 2), chain_of,
                    {.split = true, .most_halves = k_halves_per_stage * limit, .keep_room = true});
}

}  // namespace cairn::pipeline
