// The schedules asked for so far, with what lowering derives from each.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cairn/pipeline/schedule.h"
#include "cairn/pipeline/sweep.h"
#include "cairn/plan/strategy.h"
#include "cairn/program/program.h"
#include "interned.h"
#include "state/unit_settings.h"
#include "vocabulary.h"

namespace cairn::plan {

struct ScheduleEntry {
  std::shared_ptr<const pipeline::Schedule> schedule;
  std::shared_ptr<const pipeline::SweepOrder> order;
  std::vector<std::int32_t> devices;   // of virtual stages
  std::vector<std::int32_t> chunks;    // of virtual stages, on their devices
  std::vector<std::int32_t> versions;  // weight versions that a device must keep for the micro-batches in flight
  bool whole_backwards = false;        // some backward passes are not split
  bool exchanges = false;              // side rows gather parameters and reduce gradients
  bool copies = false;                 // side rows copy activations to the host and back
  bool updates = false;                // the schedule updates parameters by operations of its own
  ReplicaGroups model_copies;          // stages that hold the same layers, in bidirectional pipelines

  // How long parameters stay that are not resharded after forward. The schedule is read once a plan asks: few do.
  Gathered kept() const;
  // What every stage runs where these hold the same parameters.
  std::shared_ptr<const PassOrder> pass_order(const ReplicaGroups& replicas) const;

 private:
  mutable std::optional<Gathered> kept_;
  mutable std::vector<std::pair<ReplicaGroups, std::shared_ptr<const PassOrder>>> pass_orders_;
};

class ScheduleCache {
 public:
  // Throws core::ConfigurationError for settings that the schedule's kind does not take.
  const ScheduleEntry& of(const Structure& structure);
  // A strategy's schedule that was generated elsewhere.
  void use_schedule(const Structure& structure, std::shared_ptr<const pipeline::Schedule> schedule);

 private:
  struct Key {
    std::ptrdiff_t kind = 0;  // position in kinds_: a kind and its options
    std::int64_t pipeline = 1;
    std::int64_t micro_batches = 1;
    std::int64_t chunks = 1;
    friend bool operator==(const Key&, const Key&) = default;
    std::size_t hash() const { return core::Hash::of(kind, pipeline, micro_batches, chunks); }
  };
  struct Given {
    std::string kind;
    pipeline::Settings settings;
    std::shared_ptr<const pipeline::Schedule> schedule;
  };

  std::shared_ptr<const pipeline::Schedule> generated(const Structure& structure) const;

  std::vector<std::pair<std::string, pipeline::Settings>> kinds_;
  std::unordered_map<Key, std::unique_ptr<ScheduleEntry>, KeyHash> entries_;
  std::vector<Given> given_;
};

}  // namespace cairn::plan
