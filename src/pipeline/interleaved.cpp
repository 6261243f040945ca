// Interleaved 1F1B: every device holds v chunks, so the pipeline fills v times faster and sends v times as much.
//
// The k-th forward of a device (k = 0 .. m*v-1) takes micro-batches in groups of p through all its chunks:
//   chunk(k) = (k mod p*v) div p        micro_batch(k) = (k div p*v)*p + k mod p
// and the k-th backward takes them alike with chunk v-1-chunk(k). Device d warms up with min(m*v, 2(p-d-1) + (v-1)p)
// forwards, then runs forward and backward in turn, then the backwards that are left. m must be a multiple of p. With v
// = 1 there is nothing to interleave and the order is 1f1b's.
// Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC 2021,
// section 2.2; the warm-up count is that of Megatron-LM's schedules.py.
#include <algorithm>
#include <string>
#include <vector>

#include "kinds.h"

namespace cairn::pipeline {

Schedule interleaved_one_forward_one_backward(const Settings& settings) {
  if (settings.chunks == 1) {
    Schedule schedule = one_forward_one_backward(settings);
    schedule.kind = "interleaved-1f1b";
    return schedule;
  }
  const std::int32_t stages = settings.stages;
  require(settings.micro_batches % stages == 0, "micro_batches",
          "interleaved-1f1b needs a multiple of " + std::to_string(stages) +
              " micro-batches (the number of stages), not " + std::to_string(settings.micro_batches),
          "use " + multiples_near(settings.micro_batches, stages) + " micro-batches, or the schedule 1f1b");
  const std::int32_t chunks = settings.chunks;
  const std::int32_t group = stages * chunks;
  const std::int32_t total = settings.micro_batches * chunks;
  // The same on every device.
  std::vector<Operation> forwards, backwards;
  forwards.reserve(total);
  backwards.reserve(total);
  for (std::int32_t k = 0; k < total; ++k) {
    const std::int32_t chunk = k % group / stages;
    const std::int32_t micro_batch = k / group * stages + k % stages;
    forwards.push_back({.phase = Phase::forward, .chunk = chunk_number(chunk), .micro_batch = micro_batch});
    backwards.push_back(
        {.phase = Phase::backward, .chunk = chunk_number(chunks - 1 - chunk), .micro_batch = micro_batch});
  }
  ScheduleBuilder builder("interleaved-1f1b", settings);
  for (std::int32_t device = 0; device < stages; ++device) {
    const std::int32_t warm_up = std::min(total, 2 * (stages - device - 1) + (chunks - 1) * stages);
    for (std::int32_t k = 0; k < warm_up; ++k) builder.push(forwards[k]);
    for (std::int32_t k = warm_up; k < total; ++k) {
      builder.push(forwards[k]);
      builder.push(backwards[k - warm_up]);
    }
    for (std::int32_t k = total - warm_up; k < total; ++k) builder.push(backwards[k]);
    builder.end_row();
  }
  return builder.take();
}

}  // namespace cairn::pipeline
