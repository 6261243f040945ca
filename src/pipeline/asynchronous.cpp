// Pipelines that are never emptied: parameters change while micro-batches are under way, so a gradient is taken, or
// applied, some updates after its forward. What that costs in versions of the weights and in age of the gradients
// follows from the order lists (traits.h).
//
//   pipelined-backpropagation   device s runs 2(p-1-s) forwards ahead and updates after every backward: gradients are
//                               2(p-1-s) updates old
//   pipedream                   1f1b with an update after every backward: device s keeps p-s versions
//   pipedream-2bw               1f1b with an update after every `group` backwards, at least p of them: two versions
// Source: Petrowski et al. 1993, Kosson et al., MLSys 2021 (pipelined backpropagation); Narayanan et al., SOSP 2019
// (PipeDream), ICML 2021 (2BW).
#include <algorithm>

#include "kinds.h"

namespace cairn::pipeline {
namespace {

// One forward and one backward in turn behind `ahead` forwards, an update after every `every` backwards and at the end.
void push_row(ScheduleBuilder& builder, std::int32_t micro_batches, std::int32_t ahead, std::int32_t every) {
  std::int32_t updates = 0;
  std::int32_t forwards = std::min(micro_batches, ahead);
  for (std::int32_t i = 0; i < forwards; ++i) builder.push(Phase::forward, 0, i);
  for (std::int32_t i = 0; i < micro_batches; ++i) {
    if (forwards < micro_batches) builder.push(Phase::forward, 0, forwards++);
    builder.push(Phase::backward, 0, i);
    if ((i + 1) % every == 0 || i + 1 == micro_batches) builder.push(Phase::optimizer, 0, updates++);
  }
  builder.end_row();
}

}  // namespace

Schedule pipelined_backpropagation(const Settings& settings) {
  ScheduleBuilder builder("pipelined-backpropagation", settings);
  for (std::int32_t s = 0; s < settings.stages; ++s)
    push_row(builder, settings.micro_batches, 2 * (settings.stages - 1 - s), 1);
  return builder.take();
}

Schedule pipedream(const Settings& settings) {
  ScheduleBuilder builder("pipedream", settings);
  for (std::int32_t s = 0; s < settings.stages; ++s)
    push_row(builder, settings.micro_batches, settings.stages - 1 - s, 1);
  return builder.take();
}

Schedule pipedream_2bw(const Settings& settings) {
  const std::int32_t group = settings.group == 0 ? settings.stages : settings.group;
  require(group >= settings.stages, "group",
          "pipedream-2bw accumulates at least as many micro-batches as it has stages (" +
              std::to_string(settings.stages) + "), not " + std::to_string(group),
          "two versions of the weights do not suffice for fewer");
  ScheduleBuilder builder("pipedream-2bw", settings);
  for (std::int32_t s = 0; s < settings.stages; ++s)
    push_row(builder, settings.micro_batches, settings.stages - 1 - s, group);
  return builder.take();
}

}  // namespace cairn::pipeline
