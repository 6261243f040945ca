// Plans of one experiment that differ in nothing but their strategy, tried one after another: models, lowered blocks,
// schedules and prices are shared among them, so that a plan costs what is new in it. What it answers of a plan is what
// Job answers, bit for bit:
//
//   experiment::Trials trials(settings, parts);
//   trials.make(strategy);
//   trials.time() == Job({settings with strategy}, parts).run(predict::Engine::analytic).prediction.time
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cairn/experiment/parts.h"
#include "cairn/experiment/settings.h"
#include "cairn/ir/model.h"
#include "cairn/pipeline/schedule.h"
#include "cairn/plan/strategy.h"
#include "cairn/predict/prediction.h"

namespace cairn::experiment {

// What a layer takes at least of the compute stream, of one micro-batch, whatever is exchanged beside it. [ps]
// This is a time under the plan's prices; cost::LayerFloor (cost/layer_floor.h) is bytes that a layer must move.
struct LayerFloor {
  core::Picoseconds forward = 0;
  core::Picoseconds backward = 0;
};

class Trials {
 public:
  // `settings` but for their strategy. The files of `parts` are read; everything is copied.
  Trials(const Settings& settings, const Parts& parts);
  ~Trials();
  Trials(const Trials&) = delete;
  Trials& operator=(const Trials&) = delete;

  // Makes the plan of these settings. Throws core::ConfigurationError where they contradict one another, the model or
  // the machine; there is no plan then.
  void make(const StrategyChoice& strategy) {
    make_structure(strategy);
    make_exchanges(strategy);
  }
  // The same in two halves. The first makes all that zero, overlap.dp and overlap.pp have no part in; the second, as often
  // as there are plans of this structure, a plan with these three, and looks at no other key.
  void make_structure(const StrategyChoice& strategy);
  void make_exchanges(const StrategyChoice& strategy);

  // Of the plan that was made last:
  const plan::Strategy& strategy() const;
  const pipeline::Schedule& schedule() const;
  const ir::Model& model() const;
  std::int64_t global_batch() const;  // sequences
  // What every layer class takes at least on its stage, in the order of ir::Model::classes.
  std::vector<LayerFloor> layer_floors();
  // The step time by the analytic engine. [ps]
  core::Picoseconds time();
  // No more than least_memory(), and found without making the plan's passes. [bytes]
  double memory_floor();
  // What tensors and the process itself take of the fullest device: predict::MemoryReport::device_peak is this or more,
  // by what the allocator wastes. [bytes]
  double least_memory();
  predict::MemoryReport memory();
  double capacity() const;  // of a device, of which processes can have so much [bytes]

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace cairn::experiment
