// V-Min and V-Half: V-shaped pipelines of two chunks per device whose memory is set by a building block, the slots in
// which one micro-batch's operations run. The block repeats every 6 slots, once per micro-batch; weight gradients take
// the slots left free, those of chunk 1 first, and everything then runs as soon as it can. On device i, slots of the
// first and second forward and of the second and first input gradient:
//
//   v-min    i, 2p-1-i, 2p+I+i, 4p+I-1-i              I = 2 if p mod 3 = 0, else 0       alive (p+4) div 3
//   v-half   2i, 3p-2-i, 3p+I+2i-1, 6p+I-2-i          I = 3 if p is even, else 0         alive (p+2) div 2
//
// With `reorder`, what precedes the first and follows the last full repetition then moves into earlier slots as far as
// that leaves the peak of memory alone.
// Source: Qi et al., "Pipeline Parallelism with Controllable Memory", NeurIPS 2024, sections 3 and 4.
#include <algorithm>
#include <array>
#include <cstdint>

#include "building_block.h"
#include "kinds.h"

namespace cairn::pipeline {
namespace {

constexpr std::int32_t k_period = 6;

// Reordering looks at a device's whole order for every operation that it may move: some ten seconds at most.
constexpr double k_most_comparisons = 1 << 27;

Schedule from_block(std::string_view kind, const Settings& settings,
                    const std::vector<building_block::Offsets>& offsets) {
  const double comparisons =
      static_cast<double>(settings.stages) * settings.micro_batches * static_cast<double>(settings.micro_batches);
  require(!settings.reorder || comparisons <= k_most_comparisons, "reorder",
          "the order of " + std::to_string(settings.micro_batches) + " micro-batches on " +
              std::to_string(settings.stages) +
              " stages takes too long to improve on: stages x micro-batches^2 above " +
              std::to_string(static_cast<std::int64_t>(k_most_comparisons)),
          "leave it out (--no-reorder, reorder: false), or use fewer micro-batches");
  building_block::Plan plan(offsets, k_period, settings.micro_batches);
  if (settings.reorder) plan.reorder();
  ScheduleBuilder builder(kind, settings, wave_layout(settings.stages, 2));
  for (std::int32_t device = 0; device < settings.stages; ++device) {
    for (const Operation& operation : plan.row(device)) builder.push(operation);
    builder.end_row();
  }
  return builder.take();
}

}  // namespace

Schedule v_min(const Settings& settings) {
  const std::int32_t p = settings.stages;
  const std::int32_t interval = p % 3 == 0 ? 2 : 0;
  std::vector<building_block::Offsets> offsets;
  for (std::int32_t i = 0; i < p; ++i)
    offsets.push_back({i, 2 * p - 1 - i, 2 * p + interval + i, 4 * p + interval - 1 - i});
  return from_block("v-min", settings, offsets);
}

Schedule v_half(const Settings& settings) {
  const std::int32_t p = settings.stages;
  const std::int32_t interval = p % 2 == 0 ? 3 : 0;
  std::vector<building_block::Offsets> offsets;
  for (std::int32_t i = 0; i < p; ++i)
    offsets.push_back({2 * i, 3 * p - 2 - i, 3 * p + interval + 2 * i - 1, 6 * p + interval - 2 - i});
  return from_block("v-half", settings, offsets);
}

}  // namespace cairn::pipeline
