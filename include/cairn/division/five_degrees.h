// PanGu-alpha's five degrees of an experiment's plan, by the prices of the plans themselves: a candidate is a strategy
// of the experiment, and what it takes is what `cairn run --engine analytic` says of it.
//
//   data, tensor, pipeline   strategy.dp, tp, pp
//   optimizer                strategy.zero: {stage: 1, shard: optimizer}, or nothing sharded where it is 1
//   rematerialised           strategy.recompute: {kind: full, method: block, count}: of every stage the first so many
//
// All else is as the experiment says: micro-batch, schedule, sequence parallelism where tensor > 1. Its own degrees
// need not be a plan. A candidate that model, machine or framework do not allow counts as one that does not fit. The
// fastest that fits is exact where memory does not grow with either degree and time does not shrink with rematerialised
// layers (allotment/five_dimensions.h); a larger optimizer degree may save time, since the update of the parameters is
// shared out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cairn/allotment/five_dimensions.h"
#include "cairn/core/diagnostics.h"
#include "cairn/core/quantity.h"
#include "cairn/experiment/parts.h"
#include "cairn/experiment/settings.h"

namespace cairn::division {

struct FiveDegrees {
  allotment::FiveDimensionsAnswer found = {};
  core::Bytes capacity = {};                     // of a device
  std::vector<std::string> settings = {};        // of the best, as --set takes them; empty where nothing fits
  bool allowed = false;                          // whether any candidate was that was looked at
  std::optional<core::Diagnostic> refused = {};  // why a candidate was not allowed, of the first one
  // What the best rests on, and what lies beyond what was measured or is tight, as its own run says.
  std::vector<std::string> assumptions = {};
  std::vector<std::string> warnings = {};
};

// The strategy of a candidate, and the settings that differ from the experiment's.
experiment::StrategyChoice with_degrees(const experiment::StrategyChoice& strategy, std::int64_t layers,
                                        const allotment::FiveDimensions& degrees);
std::vector<std::string> settings_of(const allotment::FiveDimensions& degrees, std::int64_t layers, bool shares_tokens);

// Errors: core::ConfigurationError for settings beside the five degrees, for what only a run event by event has
// (simulation), and for more accelerators, heads, layers or sequences than are searched.
// `progress`: candidates looked at so far.
FiveDegrees fastest_degrees(const experiment::Settings& settings, const experiment::Parts& parts,
                            const std::function<void(std::size_t)>& progress = {});

}  // namespace cairn::division
