#include "schedule_figures.h"

#include <algorithm>

#include "cairn/pipeline/residency.h"
#include "cairn/pipeline/traits.h"

namespace cairn::report {
namespace {

using pipeline::Fraction;

std::vector<Fraction> peaks(const pipeline::ExactRun& run, pipeline::Release release) {
  std::vector<Fraction> result;
  for (const std::int32_t sets : pipeline::peak_residency(run.schedule, run.order, run.result, release))
    result.push_back(pipeline::fraction(sets, run.schedule.operations_per_stage()));
  return result;
}

}  // namespace

ScheduleFigures figures(const ScheduleAnswer& answer) {
  const pipeline::ExactRun& run = answer.run;
  const pipeline::Schedule& schedule = run.schedule;
  ScheduleFigures f{.makespan = run.in_units(run.result.makespan),
                    .span = run.in_units(run.span()),
                    .idle = {},
                    .bubble = {},
                    .peak_release_at_b = peaks(run, pipeline::Release::at_input_gradient),
                    .peak_release_at_w = peaks(run, pipeline::Release::at_weight_gradient),
                    .steady_bubble = 0.0,
                    .weight_copies = schedule.weight_copies(),
                    .weight_versions = pipeline::weight_versions(schedule),
                    .gradient_delays = pipeline::gradient_delays(schedule),
                    .messages = 0.0};
  std::int64_t most_idle = 0;
  for (std::int32_t device = 0; device < schedule.stages; ++device) {
    f.idle.push_back(run.in_units(run.result.idle[device]));
    most_idle = std::max(most_idle, run.result.idle[device]);
  }
  if (run.result.makespan > 0) f.bubble = pipeline::fraction(most_idle, run.result.makespan);
  if (answer.steady && answer.steady->numerator > 0) {
    const auto micro_batches = static_cast<double>(schedule.micro_batches) / schedule.pieces;
    const double busy = run.in_units(run.result.makespan - most_idle).value() / micro_batches;
    f.steady_bubble = 1.0 - busy / answer.steady->value();
  }
  const std::int64_t plain = std::int64_t{2} * schedule.micro_batches / schedule.pieces * (schedule.stages - 1);
  if (plain > 0)
    f.messages = static_cast<double>(pipeline::messages(schedule)) / schedule.pieces / static_cast<double>(plain);
  return f;
}

}  // namespace cairn::report
