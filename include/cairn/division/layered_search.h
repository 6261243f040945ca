// Galvatron's search: for every number of stages and of micro-batches, how each layer is shared so that its stage is
// fastest and fits.
//
//   stages   every p that divides the accelerators, of consecutive layers cut by cut_chain() at the times that layers
//            take at their fastest
//   m        every divisor of the batch, p m <= 2^18 passes
//   ways     the leaves of Galvatron's decision trees (allotment/layer_strategies.h) in which tensor-parallel ranks are
//            neighbours; of a stage of 2^k r accelerators, r odd, those of 2^k with r times as many copies
//   stage    least S = m (f + b) + once with memory <= capacity, exactly: for every bound W on what lives within a
//            pass, the layers' ways that keep it, chosen by fastest_strategies() with W less; where layers of the stage
//            share parameters, once for each way of storing them alike, and once for layers that store them apart
//
// Of all p and m the plan of the least step T (layered_model.h) is taken, or the fastest with one way for all layers
// where that is faster. Plans whose stages need longer than the best so far, whatever their memory, are left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cairn/division/layered_model.h"

namespace cairn::division {

struct LayeredAnswer {
  LayeredPlan plan = {};
  PricedPlan priced = {};
};

struct LayeredSearch {
  std::optional<LayeredAnswer> best = {};        // nothing where nothing fits
  std::optional<LayeredAnswer> uniform = {};     // the best with one way for all layers
  std::size_t pipelines = 0;                     // numbers of stages and micro-batches whose layers were searched
  std::size_t ways = 0;                          // of the model's layers that were priced, at most in one of them
  std::optional<core::Diagnostic> refused = {};  // where there are none: why the first one was not allowed
};

// `progress`: pipelines done, of how many.
LayeredSearch search_layers(LayeredModel& model, const std::function<void(std::size_t, std::size_t)>& progress = {});

}  // namespace cairn::division
