// Times as options of `cairn schedule` give them.
#pragma once

#include "arguments.h"
#include "cairn/pipeline/exact_run.h"
#include "cairn/pipeline/written_times.h"

namespace cairn::cli {

// Given times; where some have a unit, those that are left out are 0, else an operation takes 1.
pipeline::ExactTimes given_times(const ScheduleArguments& arguments, pipeline::WrittenTimes& times);

}  // namespace cairn::cli
