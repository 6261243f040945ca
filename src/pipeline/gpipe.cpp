// GPipe (Huang et al., NeurIPS 2019): every device runs all forwards, then all backwards, both in micro-batch order.
#include "kinds.h"

namespace cairn::pipeline {

Schedule gpipe(const Settings& settings) {
  ScheduleBuilder builder("gpipe", settings);
  for (std::int32_t device = 0; device < settings.stages; ++device) {
    for (std::int32_t i = 0; i < settings.micro_batches; ++i) builder.push(Phase::forward, 0, i);
    for (std::int32_t i = 0; i < settings.micro_batches; ++i) builder.push(Phase::backward, 0, i);
    builder.end_row();
  }
  return builder.take();
}

}  // namespace cairn::pipeline
