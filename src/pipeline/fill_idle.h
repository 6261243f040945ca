// Weight gradients put where a device would otherwise wait.
#pragma once

#include "cairn/pipeline/generators.h"
#include "cairn/pipeline/schedule.h"

namespace cairn::pipeline {

// `order` lists forwards and input gradients only. Under the durations (of one operation) every device runs its list;
// whenever the head of the list has to wait and weight gradients are due, the oldest of them runs, to its end. What is
// left runs last.
Schedule with_weight_gradients_in_gaps(Schedule order, const Durations& durations);

}  // namespace cairn::pipeline
