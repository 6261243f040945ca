#include "schedule_cache.h"

#include <algorithm>

#include "cairn/core/diagnostics.h"
#include "cairn/pipeline/generators.h"

namespace cairn::plan {
namespace {

// What lowering has passes for: forward and backward in one operation each, on one copy of the model whose layers go
// round the devices in a loop.
void require_lowerable(const pipeline::Schedule& schedule, std::int64_t chunks) {
  const bool whole = std::all_of(schedule.operations.begin(), schedule.operations.end(), [](const auto& operation) {
    return !operation.joined &&
           (operation.phase == pipeline::Phase::forward || operation.phase == pipeline::Phase::backward);
  });
  bool lowerable = schedule.chunks == chunks;
  for (std::int32_t device = 0; lowerable && device < schedule.stages; ++device)
    for (std::int32_t chunk = 0; lowerable && chunk < schedule.chunks; ++chunk)
      lowerable = schedule.virtual_stage(device, chunk) == chunk * schedule.stages + device;
  // Collectives hang on a chunk's first forward and last backward, which are told by their micro-batches.
  for (std::int32_t device = 0; lowerable && whole && device < schedule.stages; ++device) {
    std::vector<std::int32_t> first(schedule.chunks, -1), last(schedule.chunks, -1);
    for (const pipeline::Operation& operation : schedule.row(device)) {
      const auto chunk = static_cast<std::size_t>(operation.chunk);
      if (operation.phase == pipeline::Phase::forward && first[chunk] < 0) first[chunk] = operation.micro_batch;
      if (operation.phase == pipeline::Phase::backward) last[chunk] = operation.micro_batch;
    }
    for (std::size_t chunk = 0; chunk < first.size(); ++chunk)
      lowerable = lowerable && first[chunk] == 0 && last[chunk] == schedule.micro_batches - 1;
  }
  if (whole && lowerable && schedule.weight_copies() == 1 && schedule.pieces == 1 && schedule.waits.empty()) return;
  throw core::ConfigurationError(
      "strategy.schedule", "the schedule " + schedule.kind + " is not yet priced for a training step",
      "its order is what `cairn schedule` shows; here use gpipe, 1f1b, interleaved-1f1b or breadth-first");
}

}  // namespace

const ScheduleEntry& ScheduleCache::of(const Strategy& strategy) {
  const auto known = std::find(kinds_.begin(), kinds_.end(), strategy.schedule);
  const std::array<std::int64_t, 4> key{known - kinds_.begin(), strategy.pipeline, strategy.micro_batches,
                                        strategy.chunks};
  if (known == kinds_.end()) kinds_.push_back(strategy.schedule);
  auto& slot = entries_[key];
  if (slot) return *slot;
  const pipeline::Settings settings{.stages = static_cast<std::int32_t>(strategy.pipeline),
                                    .micro_batches = static_cast<std::int32_t>(strategy.micro_batches),
                                    .chunks = static_cast<std::int32_t>(strategy.chunks)};
  auto entry = std::make_unique<ScheduleEntry>();
  entry->schedule = std::make_shared<const pipeline::Schedule>(pipeline::generate(strategy.schedule, settings));
  require_lowerable(*entry->schedule, strategy.chunks);
  entry->order = std::make_shared<const pipeline::SweepOrder>(pipeline::sweep_order(*entry->schedule));
  entry->pass_order = std::make_shared<const PassOrder>(PassOrder::of(*entry->schedule, *entry->order));
  entry->devices = pipeline::devices_of_virtual_stages(*entry->schedule);
  entry->chunks.resize(entry->devices.size());
  for (std::int32_t device = 0; device < entry->schedule->stages; ++device)
    for (std::int32_t chunk = 0; chunk < entry->schedule->chunks; ++chunk)
      entry->chunks[static_cast<std::size_t>(entry->schedule->virtual_stage(device, chunk))] = chunk;
  slot = std::move(entry);
  return *slot;
}

}  // namespace cairn::plan
