// Breadth-first: every device takes all micro-batches through its first chunk, then all through the next, and back
// alike. A chunk's weights are needed once forward and once backward, and its gradients are whole as soon as its last
// micro-batch is through: few gathers and early reductions where parameters are sharded.
// Source: Lamy-Poirier, "Breadth-First Pipeline Parallelism", MLSys 2023, section 3.
#include "kinds.h"

namespace cairn::pipeline {

Schedule breadth_first(const Settings& settings) {
  ScheduleBuilder builder("breadth-first", settings);
  for (std::int32_t device = 0; device < settings.stages; ++device) {
    for (std::int32_t chunk = 0; chunk < settings.chunks; ++chunk)
      for (std::int32_t i = 0; i < settings.micro_batches; ++i) builder.push(Phase::forward, chunk, i);
    for (std::int32_t chunk = settings.chunks - 1; chunk >= 0; --chunk)
      for (std::int32_t i = 0; i < settings.micro_batches; ++i) builder.push(Phase::backward, chunk, i);
    builder.end_row();
  }
  return builder.take();
}

}  // namespace cairn::pipeline
