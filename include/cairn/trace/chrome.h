// A timeline in the Trace Event Format, which Perfetto (ui.perfetto.dev) and chrome://tracing load.
//
// One process per pipeline stage (one of the ranks it stands for), one thread per stream: a stream does one thing at a time, so
// slices of a thread never overlap. Arrows lead from the message a stage sends to the pass that waited for it. Times are in
// microseconds with six decimals: exact picoseconds.
//   {"name":"fc1","cat":"compute","ph":"X","ts":12.500000,"dur":4717.180000,"pid":0,"tid":0,"args":{...}}
// Source: "Trace Event Format", Google, revision of 2016; complete (X), metadata (M) and flow (s, f) events.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "cairn/plan/program.h"
#include "cairn/predict/timeline.h"

namespace cairn::trace {

// Takes the text piece by piece, in order.
using Sink = std::function<void(std::string_view)>;

// `timelines`: of every stage, as EventResult::timelines holds them with EventOptions::all_timelines.
void write_chrome(const plan::Program& program, const std::vector<predict::StageTimeline>& timelines, const Sink& sink);

}  // namespace cairn::trace
