// A measured step against its prediction: the gap, and whether one fact that the experiment may have wrong would explain
// it.
//
//   gap           measured - predicted
//   residual_i    measured - time of the experiment with fact i changed      every time is that of a run
//
// Facts that are tried, where they apply:
//
//   another release of the framework, of those that its file has
//   another attention kernel: those that the accelerator's calibration has timings of, and those that keep scores in memory
//   each overlap of transfers with computation off, where ranks exchange anything on its axis
//   recomputation of another kind
//   overlapping transfers that share links, and kernels and transfers that share the device (event engine)
//   links of one network slower, and the clock of a training step lower, where the step is slower than predicted: by the
//   factor, to three digits, at which the gap closes; by k_least_factor where it does not close before
//
// A fact that changes nothing, or with which the experiment cannot run, is none.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cairn/config/loader.h"
#include "cairn/core/time.h"
#include "cairn/experiment/job.h"
#include "cairn/predict/prediction.h"

namespace cairn::contrast {

inline constexpr double k_least_factor = 0.25;

struct Fact {
  std::string sentence = {};               // "the attention kernel is flash2"
  std::vector<std::string> settings = {};  // as --set takes them
  std::optional<double> factor = {};       // of the bandwidth or the clock
  core::Picoseconds time = 0;              // of the step with it
  core::Picoseconds residual = 0;          // measured - time
};

struct Explanation {
  core::Picoseconds measured = 0;
  core::Picoseconds predicted = 0;
  std::vector<Fact> facts = {};  // the smallest residual first, whatever its sign
  bool tried = true;             // false: the step has more work than is run again (experiment::k_most_tried)
  core::Picoseconds gap() const { return measured - predicted; }
};

// `predicted`: of `job` by `engine`.
Explanation explain(const experiment::Job& job, const config::Loader& loader, predict::Engine engine,
                    core::Picoseconds predicted, core::Picoseconds measured,
                    const std::function<void(std::size_t done, std::size_t of)>& progress = {});

}  // namespace cairn::contrast
