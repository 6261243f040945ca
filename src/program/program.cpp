#include "cairn/program/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "cairn/core/assert.h"

namespace cairn::program {

Stream stream_of(Axis axis) {
  switch (axis) {
    case Axis::tensor:
      return Stream::tensor;
    case Axis::context:
      return Stream::context;
    case Axis::data:
    case Axis::expert_data:
      return Stream::data;
    case Axis::expert:
      return Stream::expert;
    case Axis::expert_tensor:
      return Stream::expert_tensor;
    case Axis::pipeline:
      break;
  }
  CAIRN_ASSERT(!"axis has a communicator stream");
  return Stream::tensor;
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

std::string name(const Work& work, Axis axis) {
  return visit(
      work, [](const ir::Shard& shard) { return shard.op->name; },
      [&](const Transfer& transfer) { return fmt::format("{} {}", label(axis), name(transfer.collective)); },
      [](const Copy& copy) { return fmt::format("copy {}", name(copy.lane)); },
      [](const OnProcessor&) { return std::string("update by the host"); },
      [](HostWork host) { return std::string(host == HostWork::per_step ? "per step" : "per micro-batch"); },
      [&](const Interference& beside) {
        return fmt::format("beside {} {}", label(axis), name(beside.transfer.collective));
      });
}

}  // namespace cairn::program
