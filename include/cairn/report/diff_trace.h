// What `cairn diff --trace` answers, as JSON (cairn.diff_trace/1) and as text: how far the predicted step is from a
// measured one, and which kernels, transfers and gaps make the difference.
//
// Sample of the text:
//   Measured 1.020 s, predicted 950.0 ms: the prediction is 6.9 % low.
//   Largest differences: matrix products: 45 ms more of the step than predicted; all-reduce, as far as nothing hides it: ...
//
//                                    measured             predicted              of the step
//                              kernels       time   kernels       time  measured predicted difference
//   matrix products                420   522.0 ms       420   477.0 ms  522.0 ms  477.0 ms   +45.0 ms
//
// `of the step` counts every instant once (profile/step.h), so its columns add up to the steps and to their difference;
// `time` is the sum of durations, whatever ran beside them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cairn/profile/difference.h"
#include "cairn/profile/kineto.h"
#include "cairn/profile/measured_step.h"
#include "cairn/report/run.h"

namespace cairn::report {

struct TraceDifference {
  const profile::Trace& trace;
  const std::vector<profile::StepTimes>& steps;
  std::size_t chosen = 0;  // of them
  std::string experiment;  // its name
  std::int32_t stage = 0;
  std::size_t stages = 1;
  const profile::Difference& difference;
  std::vector<std::string> warnings;
  Tool tool;
};

// The answer in a sentence or two.
std::string sentence(const TraceDifference& answer);
std::string text(const TraceDifference& answer, const TextStyle& style = {});
std::string json(const TraceDifference& answer);
std::string diff_trace_schema();  // of cairn.diff_trace/1

}  // namespace cairn::report
