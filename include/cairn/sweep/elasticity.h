// How sensitive the step time of a plan is to the figures of the machine that it runs on.
//
//   elasticity of T to a figure x = d ln T / d ln x:   -0.3 means that 1 % more of x takes 0.3 % off the step
//
// Figures are rates (bandwidths, peaks, a clock) and times (latencies, times of the host and of software). The plan stays
// as it is; its steps are priced again with x (1 + h) and x / (1 + h), h = k_step, and evaluated by the analytic engine in
// picoseconds:
//
//   above   = ln( T(x (1+h)) / T(x) ) / ln(1+h)
//   below   = ln( T(x) / T(x / (1+h)) ) / ln(1+h)
//   central = (above + below) / 2
//
// The time is piecewise smooth: at a kink, where another kernel, protocol or stream begins to decide, the two sides differ
// and neither is wrong. They are kinked where they differ by more than k_kink of the larger, and by more than what
// rounding prices to picoseconds can make (k_noise).
//
// Homogeneity. Every price is a sum, maximum, minimum or norm of  amount / rate  and of times, so with all rates s times
// and all times 1/s of what they were, every price and the step take 1/s. Differentiated at s = 1 (Euler):
//
//   sum over rates of elasticities  -  sum over times of elasticities  =  -1          (Elasticities::sum)
//
// One constant has a dimension and is no figure: the 10 ms within which a long kernel slows down (cost::droop_time). It
// matters where that law exceeds the sustained clock, and then the sum differs from -1 by the step's elasticity to it.
//   Example: one accelerator, one kernel that computes alone: elasticity -1 to the peak, 0 to everything else.
//
// The capacity of memory is none of the figures: the time of a plan does not depend on it, only whether the plan fits, which
// Elasticities::headroom answers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cairn/config/units.h"
#include "cairn/core/time.h"
#include "cairn/experiment/job.h"

namespace cairn::sweep {

inline constexpr double k_step = 0.002;
inline constexpr double k_kink = 0.01;
inline constexpr double k_noise = 2e-4;

struct Elasticity {
  std::string figure = {};           // its key path in the experiment; of fitted software: calibration.times
  std::optional<double> value = {};  // in base units; none where the figure stands for several
  config::Dimension dimension = config::Dimension::bytes_per_second;
  bool is_time = false;  // more of it makes the step longer
  double below = 0.0;
  double above = 0.0;

  double central() const { return (below + above) / 2.0; }
  bool kinked() const;
};

struct Elasticities {
  core::Picoseconds time = 0;  // of the plan as it is
  double headroom = 0.0;       // memory of a device that the plan leaves free; negative: so much is missing [bytes]
  std::vector<Elasticity> figures = {};  // the greatest first

  double sum() const;  // of rates less that of times: -1
};

// Of the plan of `job`, whose prices it does not change. `threads` evaluate figures beside one another; the answer is the
// same for any number. `stop` is asked between figures: those that are left then are left out.
// Throws core::ConfigurationError where the job cannot be evaluated.
Elasticities elasticities(experiment::Job& job, std::size_t threads = 1, const std::function<bool()>& stop = {});

}  // namespace cairn::sweep
