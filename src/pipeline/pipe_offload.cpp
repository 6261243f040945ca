// PipeOffload: interleaved 1f1b whose longest-lived activations wait on the host. Micro-batches are taken in groups of
// g <= p instead of p, which lowers what is alive at the price of a longer warm-up; of the chunks, the first one's
// activations live longest, so these are sent to the host after their forward and fetched back a few operations before
// their backward, by a copy stream of their own.
//
//   k-th forward   chunk (k mod g v) div g, micro-batch (k div g v) g + k mod g;   backwards with chunk v-1-that
//   warm-up        (p-1-d) + (v-1) g forwards on device d: enough for backwards twice as long as forwards; order lists
//                  wait for each other where g < p/2
// Source: Wan et al., "PipeOffload: Improving Scalability of Pipeline Parallelism with Memory Optimization", 2025,
// sections 3 and 4.
#include <algorithm>
#include <vector>

#include "kinds.h"

namespace cairn::pipeline {
namespace {

// A reload begins this many operations of its device ahead of the backward that needs it, per chunk.
constexpr std::int32_t k_ahead_per_chunk = 2;

// Appends the device's copy row: every activation set of chunk 0 that lives longer than `ahead` operations leaves and
// returns; a return waits for the operation that runs `ahead` before the one it is for.
void push_copies(Schedule& schedule, std::int32_t device, std::int32_t ahead) {
  const std::int32_t begin = schedule.row_begin[device];
  const std::int32_t end = schedule.row_begin[device + 1];
  std::vector<std::int32_t> forward_of(schedule.micro_batches, -1);
  std::vector<std::int32_t> backward_of(schedule.micro_batches, -1);
  for (std::int32_t i = begin; i < end; ++i) {
    const Operation& operation = schedule.operations[i];
    if (operation.chunk == 0) (operation.phase == Phase::forward ? forward_of : backward_of)[operation.micro_batch] = i;
  }
  const auto copy = [&](Phase phase, std::int32_t micro_batch) {
    schedule.operations.push_back({.phase = phase, .chunk = 0, .micro_batch = micro_batch});
    return static_cast<std::int32_t>(schedule.operations.size()) - 1;
  };
  const auto leaves = [&](std::int32_t micro_batch) {
    return backward_of[micro_batch] - forward_of[micro_batch] > 2 * ahead;
  };
  for (std::int32_t i = begin; i < end; ++i) {
    const Operation now = schedule.operations[i];
    if (now.chunk == 0 && now.phase == Phase::forward && leaves(now.micro_batch))
      schedule.waits.push_back({.operation = copy(Phase::offload, now.micro_batch), .on = i});
    if (i + ahead >= end) continue;
    const Operation later = schedule.operations[i + ahead];
    if (later.chunk != 0 || later.phase == Phase::forward || !leaves(later.micro_batch)) continue;
    const std::int32_t back = copy(Phase::reload, later.micro_batch);
    schedule.waits.push_back({.operation = back, .on = i});
    schedule.waits.push_back({.operation = i + ahead, .on = back});
  }
  schedule.side_rows.push_back(device);
  schedule.row_begin.push_back(static_cast<std::int32_t>(schedule.operations.size()));
}

}  // namespace

Schedule pipe_offload(const Settings& settings) {
  const std::int32_t p = settings.stages;
  const std::int32_t v = settings.chunks;
  const std::int32_t group = settings.group == 0 ? p : settings.group;
  const std::int32_t least = (p + 1) / 2;
  require(group >= least && group <= p, "group",
          "pipeoffload takes groups of " + std::to_string(least) + " to " + std::to_string(p) + " micro-batches, not " +
              std::to_string(group),
          "half to all of the number of stages");
  require(settings.micro_batches % group == 0, "micro_batches",
          "pipeoffload needs a multiple of " + std::to_string(group) + " micro-batches (its group), not " +
              std::to_string(settings.micro_batches),
          "use " + multiples_near(settings.micro_batches, group) + " micro-batches");
  const std::int32_t total = settings.micro_batches * v;
  ScheduleBuilder builder("pipeoffload", settings);
  const auto push = [&](Phase phase, std::int32_t k) {
    const std::int32_t turn = k % (group * v) / group;
    builder.push(phase, phase == Phase::forward ? turn : v - 1 - turn, k / (group * v) * group + k % group);
  };
  for (std::int32_t device = 0; device < p; ++device) {
    const std::int32_t warm_up = std::min(total, p - device - 1 + (v - 1) * group);
    for (std::int32_t k = 0; k < warm_up; ++k) push(Phase::forward, k);
    for (std::int32_t k = warm_up; k < total; ++k) {
      push(Phase::forward, k);
      push(Phase::backward, k - warm_up);
    }
    for (std::int32_t k = total - warm_up; k < total; ++k) push(Phase::backward, k);
    builder.end_row();
  }
  Schedule schedule = builder.take();
  for (std::int32_t device = 0; device < p; ++device) push_copies(schedule, device, k_ahead_per_chunk * v);
  std::sort(schedule.waits.begin(), schedule.waits.end());
  return schedule;
}

}  // namespace cairn::pipeline
