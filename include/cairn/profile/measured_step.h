// The steps of a trace.
//
// Kernels belong to the step in which the host issued them: the one whose annotation (ProfilerStep) holds the call with
// the kernel's correlation, or the kernel itself where the trace has no such call. The device runs behind the host, so
// that
//
//   a step begins   where its first kernel does
//   and ends        where the next step's first kernel begins; the last one with its last kernel or its annotation,
//                   whichever is later
//
// What crosses that border is cut there. A trace without annotations is one step.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cairn/profile/kineto.h"
#include "cairn/profile/step.h"

namespace cairn::profile {

struct StepTimes {
  std::string name;  // "ProfilerStep#3"; empty: the whole trace
  Nanoseconds start = 0;
  Nanoseconds end = 0;
};

// In their order; those without a kernel are left out. Throws core::ConfigurationError where steps are annotated and no
// kernel lies in any: mixed units or clocks.
std::vector<StepTimes> steps_of(const Trace& trace);

// Which of them is compared: the one that `asked` names ("ProfilerStep#3", "3"), or the median by length, the shorter of
// two. Throws core::ConfigurationError with the names there are.
std::size_t chosen_step(const std::vector<StepTimes>& steps, const std::string& asked);

Step measured_step(const Trace& trace, const StepTimes& times);

}  // namespace cairn::profile
