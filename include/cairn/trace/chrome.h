// A timeline in the Trace Event Format, which Perfetto (ui.perfetto.dev) and chrome://tracing load.
//
// One process per pipeline stage (one of the ranks it stands for). Its thread "passes" shows the pipeline: a slice for
// each pass of a micro-batch (F3, B3; of split backwards b3 and w3; with several chunks on a device "F3 chunk 1"), from
// the start of its first operator to the end of its last, then the end of the step, and "idle" wherever none of these
// runs. Below it one thread per stream: a stream does one thing at a time, so slices of a thread never overlap. Arrows
// lead from the message a stage sends to the pass that waited for it. Times are in microseconds with six decimals:
// exact picoseconds. The counter "allocated memory" is what the stage's tensors take [bytes]; its peak is that of the
// memory report (predict::StageMemory). Where overlapping work shares units, a process also has one counter per unit:
// the share of it in use, 0 to 1.
//   {"name":"fc1","cat":"compute","ph":"X","ts":12.500000,"dur":4717.180000,"pid":0,"tid":0,"args":{...}}
// Source: "Trace Event Format", Google, revision of 2016; complete (X), metadata (M), flow (s, f) and counter (C)
// events.
#pragma once

#include <functional>
#include <string_view>

#include "cairn/predict/prediction.h"
#include "cairn/program/program.h"

namespace cairn::trace {

// Takes the text piece by piece, in order.
using Sink = std::function<void(std::string_view)>;

// `prediction`: of the event engine, with EventOptions::all_timelines.
void write_chrome(const program::Program& program, const predict::Prediction& prediction, const Sink& sink);

}  // namespace cairn::trace
