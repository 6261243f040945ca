// 1F1B (PipeDream-flush, DAPPLE): device d runs min(m, p-1-d) forwards to warm up, then forward and backward in turn,
// then the backwards that are left. At most min(m, p-d) micro-batches are in flight on device d.
// Source: Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN Training", ICML 2021, section 3.2; Fan et al.,
// PPoPP 2021.
#include <algorithm>

#include "kinds.h"

namespace cairn::pipeline {

Schedule one_forward_one_backward(const Settings& settings) {
  ScheduleBuilder builder("1f1b", settings);
  for (std::int32_t device = 0; device < settings.stages; ++device) {
    const std::int32_t warm_up = std::min(settings.micro_batches, settings.stages - 1 - device);
    for (std::int32_t i = 0; i < warm_up; ++i) builder.push(Phase::forward, 0, i);
    for (std::int32_t i = warm_up; i < settings.micro_batches; ++i) {
      builder.push(Phase::forward, 0, i);
      builder.push(Phase::backward, 0, i - warm_up);
    }
    for (std::int32_t i = settings.micro_batches - warm_up; i < settings.micro_batches; ++i)
      builder.push(Phase::backward, 0, i);
    builder.end_row();
  }
  return builder.take();
}

}  // namespace cairn::pipeline
