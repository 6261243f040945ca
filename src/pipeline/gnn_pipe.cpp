// GNNPipe: the layers of a graph neural network over devices, the whole graph in K chunks that pass them one behind the
// other. A chunk's vertices read neighbours in the chunks before it, so forwards run in the order of the chunks on
// every device and gradients in the opposite one. Micro-batches stand for chunks. Source: Chen et al., "GNNPipe:
// Scaling Deep GNN Training with Pipelined Model Parallelism", 2023, section 4.
#include "kinds.h"

namespace cairn::pipeline {

Schedule gnn_pipe(const Settings& settings) {
  ScheduleBuilder builder("gnn-pipe", settings);
  for (std::int32_t device = 0; device < settings.stages; ++device) {
    for (std::int32_t i = 0; i < settings.micro_batches; ++i) builder.push(Phase::forward, 0, i);
    for (std::int32_t i = settings.micro_batches - 1; i >= 0; --i) builder.push(Phase::backward, 0, i);
    builder.end_row();
  }
  return builder.take();
}

}  // namespace cairn::pipeline
