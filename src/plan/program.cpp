#include "cairn/plan/program.h"

#include <algorithm>

#include "cairn/core/assert.h"

namespace cairn::plan {

Stream stream_of(Axis axis) {
  switch (axis) {
    case Axis::tensor: return Stream::tensor;
    case Axis::context: return Stream::context;
    case Axis::data: return Stream::data;
    case Axis::expert:
    case Axis::pipeline: break;
  }
  CAIRN_ASSERT(!"axis has a communicator stream");
  return Stream::tensor;
}

PassOrder PassOrder::of(const pipeline::Schedule& schedule, const pipeline::SweepOrder& order) {
  CAIRN_ASSERT(schedule.stages <= 0xffff && 4 * schedule.chunks <= 0xffff);
  PassOrder result;
  result.sweep.reserve(order.steps.size());
  for (const pipeline::SweepStep& step : order.steps)
    result.sweep.push_back({.producer = step.producer,
                            .device = static_cast<std::uint16_t>(step.device),
                            .slot = PassSlot::of(schedule, step.operation),
                            .sends_to = step.operation.phase == pipeline::Phase::forward ? Stream::next : Stream::previous});
  result.rows.reserve(schedule.operations.size());
  for (const pipeline::Operation& operation : schedule.operations)
    result.rows.push_back(PassSlot::of(schedule, operation));
  return result;
}

MemoryProfile then(const MemoryProfile& first, const MemoryProfile& second) {
  return {first.delta + second.delta, std::max(first.peak, first.delta + second.peak)};
}

MemoryProfile repeated(const MemoryProfile& profile, std::int64_t times) {
  if (times == 0) return {};
  const auto n = static_cast<double>(times);
  return {n * profile.delta, profile.peak + std::max(0.0, (n - 1.0) * profile.delta)};
}

}  // namespace cairn::plan
