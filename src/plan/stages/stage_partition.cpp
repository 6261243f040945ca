#include "stage_partition.h"

#include <algorithm>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "recompute_layers.h"
#include "strategy/strategy_check.h"

namespace cairn::plan {

namespace {

constexpr std::int32_t k_no_group = -1;  // in no replica group

}  // namespace

std::size_t VirtualStage::hash() const {
  core::Hash hash;
  hash.add(static_cast<std::uint8_t>(below)).add(static_cast<std::uint8_t>(above)).add(relays).add(met.size());
  for (const LayerStretch& stretch : layers) hash.add(stretch.layer_class).add(stretch.count).add(stretch.recomputes);
  return hash.value();
}

std::size_t StageKind::hash() const {
  core::Hash hash;
  hash.add(apart).add(exchanged.size());
  for (const std::int32_t stage : virtual_stages) hash.add(stage);
  for (const std::int32_t chunk : order) hash.add(chunk);
  return hash.value();
}

std::size_t PartitionKey::hash() const {
  core::Hash hash;
  hash.add(schedule).add(stages_in_domain).add(recompute_in_groups).add(recompute_layers.count);
  for (const std::int64_t layers : stage_layers) hash.add(layers);
  return hash.value();
}

StagePartitioner::StagePartitioner(const ir::Model& model) {
  for (const ir::LayerRun& run : model.layers) {
    const ir::Position position = model.classes[at(run.layer_class)].position;
    auto& list = position == ir::Position::entry ? entry_ : position == ir::Position::exit ? exit_ : body_;
    list.push_back(run);
  }
  for (const ir::LayerClass& layer : model.classes) {
    auto& tags = tags_of_class_.emplace_back();
    for (const ir::Tensor& tensor : layer.graph.tensors()) {
      if (tensor.tied.empty()) continue;
      tags.push_back(tensor.tied);
      if (std::find(tags_.begin(), tags_.end(), tensor.tied) == tags_.end()) tags_.push_back(tensor.tied);
    }
  }
}

const StagePartition& StagePartitioner::of(const Structure& structure, const ScheduleEntry& entry,
                                           std::int64_t stages_in_domain) {
  key_.schedule = &entry;
  key_.stages_in_domain = stages_in_domain;
  key_.recompute_in_groups = recomputes_in_groups(structure);
  key_.recompute_layers = structure.recompute_layers;
  key_.stage_layers = structure.stage_layers;
  const std::size_t place = at(keys_.of(key_)) - 1;
  if (place >= partitions_.size()) partitions_.resize(place + 1);
  auto& slot = partitions_[place];
  if (!slot) slot = std::make_unique<StagePartition>(cut(key_));
  return *slot;
}

// Walks along the model, virtual stage by virtual stage.
class StagePartitioner::Cut {
 public:
  Cut(const StagePartitioner& model, const PartitionKey& key) : model_(model), key_(key) {}

  VirtualStage next() {
    VirtualStage stage;
    stage.body_layers = key_.stage_layers[index_];
    if (index_ == 0) append_all(stage, model_.entry_);
    if (key_.recompute_in_groups)
      append_groups(stage);
    else
      append_body(stage);
    if (++index_ == key_.stage_layers.size()) append_all(stage, model_.exit_);
    if (!stage.layers.empty())
      last_ = stage.layers.back().layer_class;
    else if (last_ < 0)
      throw wrong("stages", fmt::format("virtual stage 1 of {} would hold nothing", key_.stage_layers.size()),
                  "give it a layer: the model has no embedding that could stand there alone");
    else
      stage.relays = last_;
    return stage;
  }

 private:
  static void append_all(VirtualStage& stage, const std::vector<ir::LayerRun>& runs) {
    for (const ir::LayerRun& run : runs) stage.layers.push_back({.layer_class = run.layer_class, .count = run.count});
  }

  void append_body(VirtualStage& stage) {
    for (std::int64_t here = 0; here < stage.body_layers;) {
      const RecomputeStretch next = recompute_stretch(key_.recompute_layers, below_, here);
      const std::int64_t count = std::min({stage.body_layers - here, left_in_run(), next.layers});
      stage.layers.push_back({.layer_class = layer_class(), .count = count, .recomputes = next.recomputes});
      pass(count);
      here += count;
    }
  }

  void append_groups(VirtualStage& stage) {
    const std::int64_t together = key_.recompute_layers.count;
    for (std::int64_t here = 0; here < stage.body_layers; ++here) {
      const auto group = static_cast<std::int32_t>(here / together);
      if (!stage.layers.empty() && stage.layers.back().group == group &&
          stage.layers.back().layer_class == layer_class())
        ++stage.layers.back().count;
      else
        stage.layers.push_back({.layer_class = layer_class(), .count = 1, .recomputes = true, .group = group});
      pass(1);
    }
  }

  std::int32_t layer_class() const { return model_.body_[run_].layer_class; }
  std::int64_t left_in_run() const { return model_.body_[run_].count - used_; }
  void pass(std::int64_t count) {
    below_ += count;
    used_ += count;
    if (left_in_run() > 0) return;
    ++run_;
    used_ = 0;
  }

  const StagePartitioner& model_;
  const PartitionKey& key_;
  std::size_t index_ = 0;
  std::size_t run_ = 0;
  std::int64_t used_ = 0;   // of the run
  std::int64_t below_ = 0;  // body layers passed
  std::int32_t last_ = -1;  // class of the last layer passed
};

StagePartition StagePartitioner::cut(const PartitionKey& key) {
  const ScheduleEntry& entry = *key.schedule;
  const std::int64_t stages_in_domain = key.stages_in_domain;
  const std::size_t length = key.stage_layers.size();
  const auto hop = [&](std::size_t from, std::size_t to) {
    const std::int64_t a = entry.devices[from];
    const std::int64_t b = entry.devices[to];
    if (a == b) return Hop::none;
    return stages_in_domain > 1 && a / stages_in_domain == b / stages_in_domain ? Hop::inside : Hop::across;
  };
  std::vector<StageKind> stages(static_cast<std::size_t>(entry.schedule->stages));
  for (std::size_t device = 0; device < stages.size(); ++device) {
    StageKind& stage = stages[device];
    stage.virtual_stages.resize(static_cast<std::size_t>(entry.schedule->chunks));
    stage.replicated = entry.model_copies.whole;
    stage.versions = entry.versions[device];
  }
  StagePartition result{.kinds = {}, .kind_of_stage = {}, .pass_order = nullptr};
  ReplicaGroups replicas = entry.model_copies;
  for (std::size_t chain = 0; chain < entry.devices.size(); chain += length) {
    Cut walk(*this, key);
    Holders holders(tags_.size());
    for (std::size_t place = 0; place < length; ++place) {
      const std::size_t index = chain + place;
      VirtualStage next = walk.next();
      if (place > 0) next.below = hop(index - 1, index);
      if (place + 1 < length) next.above = hop(index, index + 1);
      const std::int32_t device = entry.devices[index];
      meet(next, device, holders);
      StageKind& stage = stages[at(device)];
      stage.body_layers += next.body_layers;
      stage.order.push_back(entry.chunks[index]);
      stage.virtual_stages[at(entry.chunks[index])] = virtual_stages_.of(next);
    }
    exchange(holders, entry.updates, stages, replicas);
  }
  result.pass_order = entry.pass_order(replicas);
  for (const StageKind& stage : stages) {
    const std::int32_t number = kinds_.of(stage);
    auto known = std::find(result.kinds.begin(), result.kinds.end(), number);
    if (known == result.kinds.end()) known = result.kinds.insert(known, number);
    result.kind_of_stage.push_back(static_cast<std::uint16_t>(known - result.kinds.begin()));
  }
  return result;
}

// Sets VirtualStage::met, the tied parameters that its device holds already, and adds those of the stage to `holders`.
void StagePartitioner::meet(VirtualStage& stage, std::int32_t device, Holders& holders) const {
  const auto holds = [device](const std::vector<std::int32_t>& devices) {
    return std::find(devices.begin(), devices.end(), device) != devices.end();
  };
  for (std::size_t tag = 0; tag < tags_.size(); ++tag)
    if (holds(holders[tag])) stage.met.push_back(tags_[tag]);
  for (const LayerStretch& stretch : stage.layers)
    for (const std::string& tag : tags_of_class_[at(stretch.layer_class)]) {
      auto& known = holders[static_cast<std::size_t>(index_of(tag))];
      if (!holds(known)) known.push_back(device);
    }
}

// Notes the tied parameters that two stages hold: they exchange the gradients of these.
void StagePartitioner::exchange(const Holders& holders, bool updates, std::vector<StageKind>& stages,
                                ReplicaGroups& replicas) const {
  replicas.group_of_stage.resize(stages.size(), k_no_group);
  for (std::size_t tag = 0; tag < tags_.size(); ++tag) {
    if (holders[tag].size() < 2) continue;
    const auto [low, high] = std::minmax(holders[tag][0], holders[tag][1]);
    std::int32_t& group = replicas.group_of_stage[at(low)];
    const bool elsewhere = group != replicas.group_of_stage[at(high)] || (group == k_no_group && replicas.whole);
    if (holders[tag].size() > 2 || elsewhere)
      throw core::ConfigurationError(
          "strategy.pp",
          fmt::format("'{}' and other shared parameters live on more than two stages; their gradients are exchanged "
                      "between two at most",
                      tags_[tag]),
          "use fewer stages, or list stages so that the layers that share parameters lie on one or two of them");
    if (updates)
      throw core::ConfigurationError(
          "strategy.schedule",
          fmt::format("'{}' is shared by two stages, which update it several times within a step", tags_[tag]),
          "use a model whose first and last layers share nothing, or a schedule that updates once");
    if (group == k_no_group) {
      group = replicas.group_of_stage[at(high)] = static_cast<std::int32_t>(replicas.groups.size());
      replicas.groups.push_back({low, high});
    }
    // In a larger group each stage holds the whole model part: the reduction over its copies includes the shared
    // parameters.
    if (replicas.groups[at(group)].size() > 2) continue;
    for (const std::int32_t stage : {low, high}) {
      stages[at(stage)].exchanged.push_back(tags_[tag]);
      stages[at(stage)].apart = high - low;
    }
  }
}

std::int64_t StagePartitioner::index_of(const std::string& tag) const {
  return std::find(tags_.begin(), tags_.end(), tag) - tags_.begin();
}

}  // namespace cairn::plan
