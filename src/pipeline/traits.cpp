#include "cairn/pipeline/traits.h"

#include <algorithm>
#include <utility>

namespace cairn::pipeline {

std::int64_t messages(const Schedule& schedule) {
  const std::vector<std::int32_t> device_of = devices_of_virtual_stages(schedule);
  std::int64_t count = 0;
  for (std::int32_t device = 0; device < schedule.stages; ++device)
    for (const Operation& operation : schedule.row(device)) {
      const std::int32_t stage = schedule.virtual_stage(device, operation.chunk);
      const std::int32_t place = stage % schedule.chain_length;
      const bool up = operation.phase == Phase::forward && place + 1 < schedule.chain_length;
      const bool down = sends_gradient(operation.phase) && place > 0;
      if ((up && device_of[stage + 1] != device) || (down && device_of[stage - 1] != device)) ++count;
    }
  return count;
}

namespace {

// Calls visit(updates since its forward, updates since the oldest forward under way) for every gradient. Forwards come
// with ever more updates, so the oldest under way only moves on: all is linear in the operations.
template <typename Visit>
void for_each_gradient(const Schedule& schedule, std::int32_t device, Visit visit) {
  const auto width = static_cast<std::size_t>(schedule.micro_batches);
  std::vector<std::int32_t> seen(static_cast<std::size_t>(schedule.chunks) * width, 0);  // updates at the forward
  std::vector<std::int32_t> under_way{0};                                                // by updates at the forward
  std::size_t oldest = 0;
  for (const Operation& operation : schedule.row(device)) {
    if (operation.phase == Phase::optimizer) under_way.push_back(0);
    if (!on_chain(operation.phase)) continue;
    const auto updates = static_cast<std::int32_t>(under_way.size()) - 1;
    std::int32_t& forward = seen[static_cast<std::size_t>(operation.chunk) * width + operation.micro_batch];
    if (operation.phase == Phase::forward) ++under_way[forward = updates];
    if (!sends_gradient(operation.phase)) continue;
    while (under_way[oldest] == 0) ++oldest;
    visit(updates - forward, updates - static_cast<std::int32_t>(oldest));
    --under_way[forward];
  }
}

}  // namespace

std::vector<std::int32_t> gradient_delays(const Schedule& schedule) {
  std::vector<std::int32_t> delays(schedule.stages, 0);
  for (std::int32_t device = 0; device < schedule.stages; ++device)
    for_each_gradient(schedule, device,
                      [&](std::int32_t delay, std::int32_t) { delays[device] = std::max(delays[device], delay); });
  return delays;
}

std::vector<std::int32_t> weight_versions(const Schedule& schedule) {
  std::vector<std::int32_t> versions(schedule.stages, 1);
  for (std::int32_t device = 0; device < schedule.stages; ++device)
    for_each_gradient(schedule, device,
                      [&](std::int32_t, std::int32_t age) { versions[device] = std::max(versions[device], age + 1); });
  return versions;
}

}  // namespace cairn::pipeline
