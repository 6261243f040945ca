// Who does what when, in characters and as SVG.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cairn/pipeline/exact_run.h"
#include "cairn/report/schedule.h"
#include "schedule_figures.h"

namespace cairn::report {

// How an operation is shown.
struct PhaseLook {
  std::string_view terminal;  // colours of ISO 6429
  const char* fill;           // of a picture
  const char* name;
};
const PhaseLook& look(pipeline::Phase phase);

// The rows of a run that a picture shows, from top to bottom: those of all devices, and those beside their computation
// in which something takes time.
std::vector<std::int32_t> shown_rows(const pipeline::ExactRun& run);

// A row per device, at most k_text_width columns, the time from 0 to `makespan` and a legend; of a longer run the
// beginning and the end. Where an operation has room it shows its micro-batch. `row`: what a row is, "stage".
std::string schedule_picture(const pipeline::ExactRun& run, std::string_view row, const std::string& makespan,
                             bool color);
std::string schedule_svg(const ScheduleAnswer& answer, const ScheduleFigures& figures, std::string_view row);

}  // namespace cairn::report
