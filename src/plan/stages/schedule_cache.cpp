#include "schedule_cache.h"

#include <algorithm>
#include <map>

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

// Throws core::ConfigurationError unless lowering can make passes for all operations of a schedule: chain operations
// and updates in the devices' rows, exchanges of parameters or copies of activations in side rows.
void require_lowerable(const pipeline::Schedule& schedule) {
  using pipeline::Phase;
  if (schedule.pieces > 1)
    throw unlowerable(schedule, "cuts micro-batches, which a training step does not",
                      "use continuation: double-forward or concatenate");
  if (runs(schedule, {Phase::vocabulary_forward, Phase::vocabulary_backward}))
    throw unlowerable(schedule,
                      "shares the output layer among all stages by passes of its own, which a step is not lowered to",
                      "leave vocabulary out, and split the output layer over tp with vocab_parallel; `cairn schedule "
                      "--vocabulary` says what the passes would gain");
  if (runs(schedule, {Phase::extra}))
    throw unlowerable(schedule, "runs extra work beside that of the layers", "leave it out");
  const bool exchanges = runs(schedule, {Phase::communication});
  const bool copies = runs(schedule, {Phase::offload, Phase::reload});
  if (!PassOrder::can_merge(schedule) || (exchanges && copies))
    throw unlowerable(schedule, "has side rows that await other devices, or both exchange and copy",
                      "let a side row await operations of its own device");
}

// Devices that hold the same stages of every copy of the model.
ReplicaGroups model_copies(const pipeline::Schedule& schedule, const std::vector<std::int32_t>& devices) {
  ReplicaGroups result;
  if (schedule.weight_copies() == 1) return result;
  result.whole = true;
  std::vector<std::vector<std::int32_t>> held(static_cast<std::size_t>(schedule.stages));
  for (std::size_t stage = 0; stage < devices.size(); ++stage)
    held[static_cast<std::size_t>(devices[stage])].push_back(static_cast<std::int32_t>(stage) % schedule.chain_length);
  std::map<std::vector<std::int32_t>, std::int32_t> known;
  for (std::int32_t device = 0; device < schedule.stages; ++device) {
    std::vector<std::int32_t>& stages = held[static_cast<std::size_t>(device)];
    std::sort(stages.begin(), stages.end());
    const auto [group, fresh] = known.try_emplace(stages, static_cast<std::int32_t>(result.groups.size()));
    if (fresh) result.groups.emplace_back();
    result.groups[static_cast<std::size_t>(group->second)].push_back(device);
    result.group_of_stage.push_back(group->second);
  }
  for (const auto& [stages, group] : known)
    if (std::ssize(result.groups[static_cast<std::size_t>(group)]) != schedule.weight_copies() ||
        std::adjacent_find(stages.begin(), stages.end()) != stages.end())
      throw unlowerable(schedule,
                        "holds copies of a stage on devices that otherwise hold different ones, whose exchange is not "
                        "modelled",
                        "use two pipelines");
  return result;
}

// Whether a device ever has two micro-batches of one chunk between their forward and backward passes.
bool several_under_way(const pipeline::Schedule& schedule) {
  if (schedule.micro_batches == 1) return false;
  for (std::int32_t device = 0; device < schedule.stages; ++device) {
    std::vector<std::int32_t> under_way(static_cast<std::size_t>(schedule.chunks), 0);
    for (const pipeline::Operation& operation : schedule.row(device)) {
      std::int32_t& count = under_way[static_cast<std::size_t>(operation.chunk)];
      if (operation.phase == pipeline::Phase::forward && ++count > 1) return true;
      if (pipeline::sends_gradient(operation.phase)) count = std::max(0, count - 1);
    }
  }
  return false;
}

}  // namespace

Gathered ScheduleEntry::kept() const {
  if (kept_) return *kept_;
  // What an operation of the schedule updates is gathered anew by the passes behind it.
  const Gathered where_several = updates ? Gathered::for_a_pass : Gathered::for_the_step;
  kept_ = several_under_way(*schedule) ? where_several : Gathered::for_a_micro_batch;
  return *kept_;
}

std::shared_ptr<const PassOrder> ScheduleEntry::pass_order(const ReplicaGroups& replicas) const {
  for (const auto& [known, made] : pass_orders_)
    if (known == replicas) return made;
  return pass_orders_
      .emplace_back(replicas, std::make_shared<const PassOrder>(PassOrder::of(*schedule, *order, replicas)))
      .second;
}

void ScheduleCache::use_schedule(const Structure& structure, std::shared_ptr<const pipeline::Schedule> schedule) {
  given_.push_back(
      {.kind = structure.schedule, .settings = schedule_settings(structure), .schedule = std::move(schedule)});
}

std::shared_ptr<const pipeline::Schedule> ScheduleCache::generated(const Structure& structure) const {
  const pipeline::Settings settings = schedule_settings(structure);
  for (const Given& given : given_)
    if (given.kind == structure.schedule && given.settings == settings) return given.schedule;
  return std::make_shared<const pipeline::Schedule>(pipeline::generate(structure.schedule, settings));
}

const ScheduleEntry& ScheduleCache::of(const Structure& structure) {
  const auto known = std::find_if(kinds_.begin(), kinds_.end(), [&](const auto& kind) {
    return kind.first == structure.schedule && kind.second == structure.schedule_options;
  });
  const Key key{.kind = known - kinds_.begin(),
                .pipeline = structure.pipeline,
                .micro_batches = structure.micro_batches,
                .chunks = structure.chunks};
  if (known == kinds_.end()) kinds_.emplace_back(structure.schedule, structure.schedule_options);
  auto& slot = entries_[key];
  if (slot) return *slot;
  auto entry = std::make_unique<ScheduleEntry>();
  entry->schedule = generated(structure);
  require_lowerable(*entry->schedule);
  entry->order = std::make_shared<const pipeline::SweepOrder>(pipeline::sweep_order(*entry->schedule));
  entry->whole_backwards = runs(*entry->schedule, {pipeline::Phase::backward});
  entry->exchanges = runs(*entry->schedule, {pipeline::Phase::communication});
  entry->copies = runs(*entry->schedule, {pipeline::Phase::offload});
  entry->devices = pipeline::devices_of_virtual_stages(*entry->schedule);
  entry->updates = runs(*entry->schedule, {pipeline::Phase::optimizer});
  if (entry->updates)
    entry->versions = pipeline::weight_versions(*entry->schedule);
  else
    entry->versions.assign(static_cast<std::size_t>(structure.pipeline), 1);
  entry->model_copies = model_copies(*entry->schedule, entry->devices);
  entry->chunks.resize(entry->devices.size());
  for (std::int32_t device = 0; device < entry->schedule->stages; ++device)
    for (std::int32_t chunk = 0; chunk < entry->schedule->chunks; ++chunk)
      entry->chunks[static_cast<std::size_t>(entry->schedule->virtual_stage(device, chunk))] = chunk;
  slot = std::move(entry);
  return *slot;
}

}  // namespace cairn::plan
