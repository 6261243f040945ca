// Work that a training step can do without, packed into the bubbles of a pipeline: curvature and its inversion for a
// second-order optimizer (PipeFisher), evaluation, anything that comes in pieces.
//
// One refresh of the work becomes due piece by piece during a step: `forward` and `backward` work of a micro-batch once
// that operation has ended on the device, `all` work once everything else of this refresh is done on it. Every gap of a
// device takes the pieces that are due and fit, longest waiting first, step after step, until the refresh is complete;
// the next begins with the following step. A gap takes a piece that needs `margin` times its duration.
//
//   refresh interval = steps until the slowest device has done one refresh
//   utilisation      = (interval * busy + refresh) / (interval * step), of all devices, step = makespan + exposed
//
// Source: Osawa et al., "PipeFisher: Efficient Training of Large Language Models Using Pipelining and Fisher
// Information Matrices", MLSys 2023, section 3.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cairn/pipeline/sweep.h"

namespace cairn::pipeline {

enum class ExtraAfter : std::uint8_t { forward, backward, all };

struct ExtraWork {
  std::string name = {};
  ExtraAfter after = ExtraAfter::forward;  // `all` comes once a refresh, the others once per micro-batch
  core::Picoseconds duration = 0;          // of a device's share of the model [ticks of the sweep]
  std::int32_t parts = 1;                  // equal pieces it may be cut into
};

struct FillRules {
  double margin = 1.0;            // >= 1
  core::Picoseconds exposed = 0;  // work at the end of every step, outside the bubbles (preconditioning)
  std::int32_t most_steps = 1000;
};

struct Filling {
  struct Piece {
    std::int32_t device = 0;
    std::int32_t work = 0;  // position in the list
    std::int32_t step = 0;
    core::Picoseconds start = 0;  // within the step
    core::Picoseconds end = 0;
  };
  std::int32_t interval = 0;        // 0: some piece fits in no gap
  double utilisation_before = 0.0;  // busy / makespan of the schedule alone
  double utilisation = 0.0;
  double work_over_bubble = 0.0;  // time of one refresh over the idle time of one step
  core::Picoseconds step = 0;
  std::vector<Piece> pieces;  // of one refresh
};

// `result` is the sweep of `order`. Work of duration 0 is done at once.
Filling fill_bubbles(const Schedule& schedule, const SweepOrder& order, const SweepResult& result,
                     const std::vector<ExtraWork>& work, const FillRules& rules = {});

}  // namespace cairn::pipeline
