// Figures that every form of a schedule's report shows.
#pragma once

#include <vector>

#include "cairn/report/schedule.h"

namespace cairn::report {

struct ScheduleFigures {
  pipeline::Fraction makespan;
  pipeline::Fraction span;                            // of the longest device
  std::vector<pipeline::Fraction> idle;               // of every device
  pipeline::Fraction bubble;                          // of the most idle device, 1 = all of the makespan
  std::vector<pipeline::Fraction> peak_release_at_b;  // micro-batches of a full stage
  std::vector<pipeline::Fraction> peak_release_at_w;
  double steady_bubble = 0.0;  // of the most idle device where micro-batch follows micro-batch without end
  std::int64_t weight_copies = 1;
  std::vector<std::int32_t> weight_versions;
  std::vector<std::int32_t> gradient_delays;
  double messages = 1.0;  // of those of 1f1b
};

ScheduleFigures figures(const ScheduleAnswer& answer);

}  // namespace cairn::report
