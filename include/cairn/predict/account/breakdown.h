// What the time of a step was spent on.
#pragma once

#include <array>

#include "cairn/predict/evaluate/timeline.h"

namespace cairn::predict {

// Parts of the step, by instant of the compute stream of the rank that ends last; they add up to the step time.
struct Breakdown {
  core::Picoseconds compute = 0;                             // operators of forward and backward passes
  core::Picoseconds recompute = 0;                           // operators that run again in the backward pass
  core::Picoseconds optimizer = 0;                           // the update of the parameters
  core::Picoseconds launch = 0;                              // the device waits for its next kernel to start
  std::array<core::Picoseconds, program::k_axes> exposed{};  // awaiting transfers, by their axis (program::reported_as)
  core::Picoseconds offload = 0;                             // awaiting copies to and from the host and the drives
  core::Picoseconds bubble = 0;                              // awaiting another stage's or rank's computation
  core::Picoseconds host = 0;   // awaiting the host, which issues kernels, or computes what is offloaded to it
  core::Picoseconds links = 0;  // after all work: until links that overlapping transfers share have carried everything
  core::Picoseconds other = 0;  // 0 by construction; tested
  core::Picoseconds total() const;
};

// Attribution: busy instants go to the running step's term; a gap before a step is walked back along whatever the step
// waited for: a transfer (its label), an arrival (pipeline label while the message was under way, bubble before), the
// host, and, where a transfer itself started later than this rank was ready for it, a peer (bubble).
Breakdown attribute(const program::Program& program, PriceTable& prices, const StageTimeline& timeline);

}  // namespace cairn::predict
