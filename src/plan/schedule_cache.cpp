#include "schedule_cache.h"

#include <algorithm>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/pipeline/generators.h"
#include "cairn/pipeline/traits.h"

namespace cairn::plan {
namespace {

core::ConfigurationError unlowerable(const pipeline::Schedule& schedule, const std::string& why,
                                     const std::string& instead) {
  return core::ConfigurationError("strategy.schedule", fmt::format("{} {}", schedule.kind, why), instead);
}

bool runs(const pipeline::Schedule& schedule, std::initializer_list<pipeline::Phase> phases) {
  return std::any_of(schedule.operations.begin(), schedule.operations.end(), [&](const auto& operation) {
    return std::find(phases.begin(), phases.end(), operation.phase) != phases.end();
  });
}

// What lowering has passes for: the operations of the chains, and updates, on the devices' compute streams; exchanges
// of parameters or copies of activations beside them.
void require_lowerable(const pipeline::Schedule& schedule) {
  using pipeline::Phase;
  if (schedule.pieces > 1)
    throw unlowerable(schedule, "cuts micro-batches, which a training step does not", "use whole micro-batches");
  if (runs(schedule, {Phase::vocabulary_forward, Phase::vocabulary_backward, Phase::extra}))
    throw unlowerable(schedule, "runs operations beside those of the layers",
                      "split the output layer with vocab_parallel");
  const bool exchanges = runs(schedule, {Phase::communication});
  const bool copies = runs(schedule, {Phase::offload, Phase::reload});
  if (!PassOrder::can_merge(schedule) || (exchanges && copies))
    throw unlowerable(schedule, "has side rows that await other devices, or both exchange and copy",
                      "let a side row await operations of its own device");
}

// The device that holds the other copy of what each holds.
std::vector<std::int32_t> partners(const pipeline::Schedule& schedule, const std::vector<std::int32_t>& devices) {
  if (schedule.weight_copies() == 1) return {};
  std::vector<std::int32_t> result(static_cast<std::size_t>(schedule.stages), -1);
  const auto length = static_cast<std::size_t>(schedule.chain_length);
  for (std::size_t stage = 0; stage < devices.size(); ++stage)
    for (std::size_t copy = stage % length; copy < devices.size(); copy += length) {
      if (copy == stage) continue;
      std::int32_t& partner = result[static_cast<std::size_t>(devices[stage])];
      if ((partner >= 0 && partner != devices[copy]) || devices[copy] == devices[stage])
        throw unlowerable(schedule, "holds copies of a stage on more than two devices, whose exchange is not modelled",
                          "use two pipelines");
      partner = devices[copy];
    }
  return result;
}

}  // namespace

const ScheduleEntry& ScheduleCache::of(const Strategy& strategy) {
  const auto known = std::find_if(kinds_.begin(), kinds_.end(), [&](const auto& kind) {
    return kind.first == strategy.schedule && kind.second == strategy.schedule_options;
  });
  const std::array<std::int64_t, 4> key{known - kinds_.begin(), strategy.pipeline, strategy.micro_batches,
                                        strategy.chunks};
  if (known == kinds_.end()) kinds_.emplace_back(strategy.schedule, strategy.schedule_options);
  auto& slot = entries_[key];
  if (slot) return *slot;
  auto entry = std::make_unique<ScheduleEntry>();
  entry->schedule =
      std::make_shared<const pipeline::Schedule>(pipeline::generate(strategy.schedule, schedule_settings(strategy)));
  require_lowerable(*entry->schedule);
  entry->order = std::make_shared<const pipeline::SweepOrder>(pipeline::sweep_order(*entry->schedule));
  entry->pass_order = std::make_shared<const PassOrder>(PassOrder::of(*entry->schedule, *entry->order));
  entry->whole_backwards = runs(*entry->schedule, {pipeline::Phase::backward});
  entry->exchanges = runs(*entry->schedule, {pipeline::Phase::communication});
  entry->copies = runs(*entry->schedule, {pipeline::Phase::offload});
  entry->devices = pipeline::devices_of_virtual_stages(*entry->schedule);
  if (entry->pass_order->update_table >= 0)
    entry->versions = pipeline::weight_versions(*entry->schedule);
  else
    entry->versions.assign(static_cast<std::size_t>(strategy.pipeline), 1);
  entry->partners = partners(*entry->schedule, entry->devices);
  entry->chunks.resize(entry->devices.size());
  for (std::int32_t device = 0; device < entry->schedule->stages; ++device)
    for (std::int32_t chunk = 0; chunk < entry->schedule->chunks; ++chunk)
      entry->chunks[static_cast<std::size_t>(entry->schedule->virtual_stage(device, chunk))] = chunk;
  slot = std::move(entry);
  return *slot;
}

}  // namespace cairn::plan
