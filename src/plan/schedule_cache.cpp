#include "schedule_cache.h"

#include <algorithm>

#include "cairn/pipeline/generators.h"

namespace cairn::plan {

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
