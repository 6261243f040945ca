// What a cluster costs while it runs.
//
//   price [USD/h]  of one accelerator: the cluster's `price.accelerator_hour`, else the accelerator's `hourly_price`
//   power [W]      pue (accelerators x limit + nodes x node_overhead)
//                  limit: the cluster's `power.accelerator`, else the accelerator's board limit
//
// Another accelerator in the same cluster brings its own price and limit. Boards are taken to draw their limit all the
// time: an upper estimate of the energy of a step.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cairn/core/quantity.h"
#include "cairn/hardware/files.h"

namespace cairn::hardware {

struct RunningCosts {
  std::optional<core::Dollars> accelerator_hour = {};  // empty: nobody has stated one
  core::Watts power = {};                              // of the whole cluster
  std::vector<std::string> assumptions = {};           // each figure with its source
};

RunningCosts running_costs(const Machine& machine);

}  // namespace cairn::hardware
