// An experiment whose layers may differ in how they are shared among the accelerators of a stage: what each way costs
// each layer, what a change of ways between two layers costs, and what a whole plan takes.
//
//   D accelerators a stage, m micro-batches of G = batch / m sequences; way s of a layer: D / tp copies, each with
//   G tp / D sequences of every micro-batch, lowered and priced as in a plan of that way alone (layer_prices.h)
//
//   stage   f = sum forward(l) + sum change forward     b likewise     once = sum once(l)
//           S = m (f + b) + once                                                      what a search makes least
//   step    T = max over stages of ( end of its last pass under 1F1B + once ) + the host's own time of a step
//           A message takes the way between neighbouring stages that are farthest apart; where sends do not overlap
//           computation, its way is part of its sender's pass
//   memory  of stage k of p: sum state(l) + min(m, p - k) sum saved(l) + max transient(l)
//           Parameters that layers of one stage share (tied embeddings) count once where all of these store them alike
//
// A change of tp by a factor r moves the tensor between two layers of G s h elements over groups of r ranks, as
// program/placement.h joins the two placements:
//
//   tensors whole on the ranks of tp    an all-gather of sequences where tp grows, forward; backward, of the gradient,
//                                       where it falls; the other way each rank has what it needs
//   sequence parallelism                an all-to-all, sequences against tokens, both ways
//
// Source of the additive model: Galvatron (allotment/layer_strategies.h). Ours: prices, the exact run under 1F1B.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cairn/core/diagnostics.h"
#include "cairn/core/quantity.h"
#include "cairn/core/time.h"
#include "cairn/division/layer_prices.h"
#include "cairn/division/layered_plan.h"
#include "cairn/experiment/parts.h"
#include "cairn/experiment/settings.h"

namespace cairn::division {

// Of one micro-batch.
struct WayChange {
  core::Picoseconds forward = 0;
  core::Picoseconds backward = 0;
};

struct PricedStage {
  core::Picoseconds forward = 0;
  core::Picoseconds backward = 0;
  core::Picoseconds once = 0;
  std::int64_t memory = 0;  // bytes
};

struct PricedPlan {
  std::vector<PricedStage> stages = {};
  core::Picoseconds time = 0;
  std::int64_t memory = 0;  // bytes of the fullest device
};

struct Basis {
  std::vector<std::string> assumptions = {};
  // What a framework cannot do of the plan's ways, what of them lies beyond what was measured, and what of the
  // experiment's strategy is left out.
  std::vector<std::string> warnings = {};
};

class LayeredModel {
 public:
  // `settings` with these parts; both must outlive it. Throws core::ConfigurationError for settings under which layers
  // cannot differ: experts, shared sequences, offload, other schedules than 1f1b, another order of axes. Degrees,
  // micro-batches, stages, shards and recomputation of its strategy are not looked at, and need not be a plan.
  LayeredModel(const experiment::Settings& settings, const experiment::Parts& parts);
  ~LayeredModel();
  LayeredModel(const LayeredModel&) = delete;
  LayeredModel& operator=(const LayeredModel&) = delete;

  std::int64_t accelerators() const;
  std::int64_t sequences() const;  // of a step
  core::Bytes memory() const;      // that a plan may fill of a device
  const LayerPrices::Layers& layers() const;

  // By class of layer; null where the model, the batch or the accelerators do not allow the way, and why() says why,
  // with what would help.
  const std::vector<LayerCost>* costs(const LayerWay& way, std::int64_t devices, std::int64_t micro_batch_of_stage);
  core::Diagnostic why(const LayerWay& way, std::int64_t devices, std::int64_t micro_batch_of_stage);
  // Between a layer of one degree and the next of the other.
  WayChange change(std::int64_t from_tp, std::int64_t to_tp, std::int64_t devices, std::int64_t micro_batch_of_stage);

  // Throws core::ConfigurationError at the plan's keys: micro_batches, stages, stages[i].layers[j].tp.
  PricedPlan priced(const LayeredPlan& plan);

  // What the figures of a plan rest on, whatever other plans were priced before; of none, what holds for all of them.
  Basis basis() const;
  // Prices it once more, by prices of their own. Throws as priced() does.
  Basis basis(const LayeredPlan& plan) const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace cairn::division
