// How a pipeline cuts a model into stages: which layers each virtual stage holds, and which stages are alike. Sizes of
// layers do not matter here.
//
// Two virtual stages are alike when they hold the same layers, exchange messages with neighbours that are equally far,
// and are the first on their device to hold the same tied parameters; two stages are alike when all their virtual
// stages are. A pipeline of many stages has few kinds of them (the ends, one or two in the middle), and plans have
// kinds in common. Both are numbered, and Lowering finds the parts that it has made by these numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "cairn/ir/model.h"
#include "cairn/plan/strategy.h"
#include "cairn/program/program.h"
#include "interned.h"
#include "schedule_cache.h"
#include "vocabulary.h"

namespace cairn::plan {

// Where the neighbouring virtual stage is.
enum class Hop : std::uint8_t {
  none,    // on the same device, or nowhere
  inside,  // on a device of the same domain
  across   // in another one
};

struct LayerStretch {
  std::int32_t layer_class = 0;
  std::int64_t count = 1;
  bool recomputes = true;   // as the strategy says; else not at all
  std::int32_t group = -1;  // layers of a group recompute together
  friend bool operator==(const LayerStretch&, const LayerStretch&) = default;
};

struct VirtualStage {
  std::vector<LayerStretch> layers;  // in execution order
  std::int32_t relays = -1;          // without layers: the class of the layer below, whose output is passed on
  Hop below = Hop::none;
  Hop above = Hop::none;
  std::vector<std::string> met;  // tied parameters that another virtual stage of the device holds already
  std::int64_t body_layers = 0;
  friend bool operator==(const VirtualStage&, const VirtualStage&) = default;
  std::size_t hash() const;
};

struct StageKind {
  std::vector<std::int32_t> virtual_stages;  // numbers, by chunk
  std::vector<std::int32_t> order;           // chunks in the order in which a micro-batch passes them
  // Tied parameters that the stage `apart` stages away holds as well: the two exchange their gradients.
  std::vector<std::string> exchanged;
  std::int64_t apart = 0;
  bool replicated = false;    // another stage holds the same layers (bidirectional pipelines)
  std::int64_t versions = 1;  // versions of its parameters that it keeps for the micro-batches in flight
  std::int64_t body_layers = 0;
  friend bool operator==(const StageKind&, const StageKind&) = default;
  std::size_t hash() const;
};

// What a partition depends on; members as in Strategy.
struct PartitionKey {
  const ScheduleEntry* schedule = nullptr;
  std::int64_t stages_in_domain = 1;  // neighbouring stages joined by the fastest links
  bool recompute_in_groups = false;
  RecomputeLayers recompute_layers;
  std::vector<std::int64_t> stage_layers;
  friend bool operator==(const PartitionKey&, const PartitionKey&) = default;
  std::size_t hash() const;
};

struct StagePartition {
  std::vector<std::int32_t> kinds;           // numbers of the kinds there are
  std::vector<std::uint16_t> kind_of_stage;  // positions in `kinds`
  std::shared_ptr<const PassOrder> pass_order;
};

class StagePartitioner {
 public:
  explicit StagePartitioner(const ir::Model& model);

  // Throws core::ConfigurationError where the first virtual stage holds nothing and for parameters shared by more than
  // two stages.
  const StagePartition& of(const Structure& structure, const ScheduleEntry& entry, std::int64_t stages_in_domain);

  const VirtualStage& virtual_stage(std::int32_t number) const { return virtual_stages_.key(number); }
  const StageKind& kind(std::int32_t number) const { return kinds_.key(number); }
  // Whether layers share parameters with others.
  bool shares_parameters() const { return !tags_.empty(); }

 private:
  class Cut;
  using Holders = std::vector<std::vector<std::int32_t>>;  // devices, by shared parameter, of one copy of the model

  static std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }
  StagePartition cut(const PartitionKey& key);
  void meet(VirtualStage& stage, std::int32_t device, Holders& holders) const;
  // `updates`: the schedule updates parameters within the step.
  void exchange(const Holders& holders, bool updates, std::vector<StageKind>& stages, ReplicaGroups& replicas) const;
  std::int64_t index_of(const std::string& tag) const;

  std::vector<ir::LayerRun> entry_;
  std::vector<ir::LayerRun> body_;
  std::vector<ir::LayerRun> exit_;
  std::vector<std::string> tags_;  // of shared parameters
  std::vector<std::vector<std::string>> tags_of_class_;
  PartitionKey key_;  // of the plan under way; kept for the memory that its lists have
  Interned<PartitionKey> keys_;
  std::vector<std::unique_ptr<StagePartition>> partitions_;  // by number of the key
  Interned<VirtualStage> virtual_stages_;
  Interned<StageKind> kinds_;
};

}  // namespace cairn::plan
