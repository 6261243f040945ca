#include "cairn/plan/program.h"

#include <algorithm>

#include "cairn/core/assert.h"

namespace cairn::plan {
namespace {

void append_stretches(const std::vector<std::uint16_t>& row, std::uint16_t nothing,
                      std::vector<PassOrder::Stretch>& stretches) {
  for (std::size_t i = 0; i < row.size();) {
    std::size_t alone = i + 1;
    while (alone < row.size() && row[alone] == row[i]) ++alone;
    std::size_t pairs = i;
    while (pairs + 1 < row.size() && row[pairs] == row[i] && row[pairs + 1] == row[i + 1]) pairs += 2;
    const bool in_turn = pairs - i > 2 && alone == i + 1;
    stretches.push_back({.slot = row[i],
                         .then = in_turn ? row[i + 1] : nothing,
                         .times = static_cast<std::int32_t>(in_turn ? (pairs - i) / 2 : alone - i)});
    i = in_turn ? pairs : alone;
  }
}

}  // namespace

Stream stream_of(Axis axis) {
  switch (axis) {
    case Axis::tensor:
      return Stream::tensor;
    case Axis::context:
      return Stream::context;
    case Axis::data:
      return Stream::data;
    case Axis::expert:
      return Stream::expert;
    case Axis::expert_tensor:
      return Stream::expert_tensor;
    case Axis::expert_data:
      return Stream::expert_data;
    case Axis::pipeline:
      break;
  }
  CAIRN_ASSERT(!"axis has a communicator stream");
  return Stream::tensor;
}

PassOrder PassOrder::of(const pipeline::Schedule& schedule, const pipeline::SweepOrder& order) {
  CAIRN_ASSERT(schedule.stages <= 0xffff && 4 * schedule.chunks <= 0xffff);
  PassOrder result;
  result.sweep.reserve(order.steps.size());
  for (const pipeline::SweepStep& step : order.steps)
    result.sweep.push_back(
        {.producer = step.producer,
         .device = static_cast<std::uint16_t>(step.device),
         .slot = PassSlot::of(schedule, step.operation),
         .sends_to = step.operation.phase == pipeline::Phase::forward ? Stream::next : Stream::previous});
  for (std::int32_t device = 0; device < schedule.stages; ++device) {
    result.row_begin.push_back(static_cast<std::int32_t>(result.stretches.size()));
    std::vector<std::uint16_t> row;
    for (const pipeline::Operation& operation : schedule.row(device)) row.push_back(PassSlot::of(schedule, operation));
    append_stretches(row, static_cast<std::uint16_t>(4 * schedule.chunks), result.stretches);
  }
  result.row_begin.push_back(static_cast<std::int32_t>(result.stretches.size()));
  return result;
}

std::string_view name(Lane lane) {
  constexpr std::array<std::string_view, 4> k_names{"to device", "to host", "read from storage", "write to storage"};
  return k_names[static_cast<std::size_t>(lane)];
}

Stream stream_of(Lane lane) {
  if (lane == Lane::to_device) return Stream::to_device;
  return lane == Lane::to_host ? Stream::to_host : Stream::storage;
}

MemoryProfile profile_of(const std::vector<MemoryEvent>& events) {
  MemoryProfile profile;
  for (const MemoryEvent& event : events) {
    profile.delta += event.bytes;
    profile.peak = std::max(profile.peak, profile.delta);
  }
  return profile;
}

}  // namespace cairn::plan
