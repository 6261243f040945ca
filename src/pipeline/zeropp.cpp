// ZeroPP: pipeline parallelism over parameters that are sharded over the data-parallel ranks. Micro-batches are taken
// in blocks of `group`: all of a block's forwards, chunk by chunk, then its input gradients, and weight gradients
// wherever a device would wait. A chunk's parameters are gathered twice and its gradients reduced once per block, so
// the exchanges of an iteration fall with the size of the blocks, while activations grow with it. Source: Tang et al.,
// "ZeroPP: Unleashing Exceptional Parallelism Efficiency through Tensor-Parallelism-Free Methodology", 2024, section 3.
// The default of 2p-1 micro-batches a block is its recommendation.
#include <algorithm>

#include "fill_idle.h"
#include "kinds.h"
#include "sharded_parameters.h"

namespace cairn::pipeline {

Schedule zeropp(const Settings& settings) {
  const std::int32_t v = settings.chunks;
  const std::int32_t group = settings.group == 0 ? 2 * settings.stages - 1 : settings.group;
  require(group >= 1, "group", "blocks of " + std::to_string(group) + " micro-batches are empty", "use 1 or more");
  ScheduleBuilder builder("zeropp", settings);
  for (std::int32_t device = 0; device < settings.stages; ++device) {
    for (std::int32_t begin = 0; begin < settings.micro_batches; begin += group) {
      const std::int32_t end = std::min(begin + group, settings.micro_batches);
      for (std::int32_t chunk = 0; chunk < v; ++chunk)
        for (std::int32_t i = begin; i < end; ++i) builder.push(Phase::forward, chunk, i);
      for (std::int32_t chunk = v - 1; chunk >= 0; --chunk)
        for (std::int32_t i = begin; i < end; ++i) builder.push(Phase::input_gradient, chunk, i);
    }
    builder.end_row();
  }
  // Durations are of a full stage: in units of 1/v, an operation takes as many as the stage does and a message v times.
  Durations of_chunk = settings.durations;
  of_chunk.delay *= v;
  return with_exchanges(with_weight_gradients_in_gaps(builder.take(), of_chunk));
}

}  // namespace cairn::pipeline
