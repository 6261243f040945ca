// A step time that no plan with these layers on these stages is below, whatever is exchanged beside computation.
//
// A device runs its operations one after the other on its compute stream. With F_s and B_s the least times of a
// micro-batch forward and backward through virtual stage s (experiment::LayerFloor, summed over its layers), m
// micro-batches, a device whose first operation is forward of stage x and whose last is backward of stage y takes
//
//   sum_{s < x} F'_s  +  m sum_{s on the device} ( F_s + B_s )  +  sum_{s < y} B'_s        filling, work, draining
//
// and the step no less than the largest of all devices. The primes leave out the largest layer of a stage: messages to
// the neighbour may leave before the last layer has ended. The update of parameters is taken to be free.
//   Example: two stages of two layers, F = B = 1 a layer, m = 3: the second takes 1 + 3 x 4 + 1 = 14.
//
// Where that is longer than simulated time reaches, where no plan has a time: core::k_reach.
//
// Of schedules whose devices run whole backward passes of one copy of the model. Of others 0: nothing is proved.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cairn/experiment/trials.h"
#include "cairn/ir/model.h"
#include "cairn/pipeline/schedule.h"

namespace cairn::search {

// `floors`: by layer class of `model`; `stage_layers`: body layers of each virtual stage.
core::Picoseconds window_bound(const ir::Model& model, std::span<const experiment::LayerFloor> floors,
                               const pipeline::Schedule& schedule, std::span<const std::int64_t> stage_layers);

// The same of any division into stages and any such schedule: all of m micro-batches through all layers, shared evenly by
// the devices,
//   m sum_layers ( F + B ) / devices
// Of schedules that split backward passes 0.
core::Picoseconds work_bound(const ir::Model& model, std::span<const experiment::LayerFloor> floors,
                             std::string_view schedule, std::int64_t micro_batches, std::int64_t devices);

}  // namespace cairn::search
