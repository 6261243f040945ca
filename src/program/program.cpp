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

namespace {

// `profile(slot)`: of the pass in a slot; of nothing where the slot is the layout's size.
template <class Profile>
MemoryProfile over(std::span<const PassOrder::Stretch> stretches, MemoryProfile before, Profile profile) {
  for (const PassOrder::Stretch& stretch : stretches)
    before = then(before, repeated(then(profile(stretch.slot), profile(stretch.then)), stretch.times));
  return before;
}

}  // namespace

std::vector<MemoryProfile> Program::memory_before_ends() const {
  const auto slots = static_cast<std::size_t>(layout().size());
  const std::size_t distinct = set(PassPart::plain).passes.size() / layout().width(PassPart::plain);
  // By kind of stage and slot, and nothing.
  std::vector<MemoryProfile> profiles(distinct * (slots + 1));
  for (const PassPart part : k_all_pass_parts) {
    const std::size_t width = layout().width(part);
    for (std::size_t kind = 0; kind < distinct && width > 0 && part != PassPart::end; ++kind)
      std::copy_n(set(part).profiles.data() + kind * width, width,
                  profiles.data() + kind * (slots + 1) + layout().begin(part));
  }
  std::vector<MemoryProfile> result;
  result.reserve(stages());
  for (std::size_t stage = 0; stage < stages(); ++stage)
    result.push_back(over(
        pass_order->before_ends(stage), {},
        [passes = profiles.data() + kind_of_stage[stage] * (slots + 1)](std::uint16_t slot) { return passes[slot]; }));
  return result;
}

MemoryProfile Program::memory(std::size_t stage) const {
  return over(pass_order->from_ends(stage), course->memory[stage], [&](std::uint16_t slot) {
    if (slot == layout().size()) return MemoryProfile{};
    const PassPart part = layout().part(slot);
    return set(part).profiles[kind_of_stage[stage] * layout().width(part) + slot - layout().begin(part)];
  });
}

std::vector<const Pass*> Program::passes() const {
  std::vector<const Pass*> result;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind)
    for (std::size_t slot = 0; slot < static_cast<std::size_t>(layout().size()); ++slot)
      result.push_back(&pass_of_kind(kind, slot));
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
