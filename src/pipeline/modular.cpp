// Modular pipeline with layered gradient accumulation: breadth-first over single layers. Device d holds layers d, p+d,
// 2p+d, ...: a chunk is a layer. Sharded parameters are gathered once forward and once backward per chunk and their
// gradients reduced as soon as the chunk's last micro-batch is through, whatever the number of micro-batches; the
// gathers and reductions run beside the compute, a chunk ahead.
// Source: Lamy-Poirier, "Layered gradient accumulation and modular pipeline parallelism", 2021, sections 3 and 4.
#include <algorithm>
#include <vector>

#include "kinds.h"

namespace cairn::pipeline {
namespace {

enum Exchange : std::int32_t { gather_forward, gather_backward, reduce };

}  // namespace

Schedule modular(const Settings& settings) {
  Schedule schedule = breadth_first(settings);
  schedule.kind = "modular";
  const std::int32_t m = settings.micro_batches;
  const std::int32_t v = settings.chunks;
  for (std::int32_t device = 0; device < settings.stages; ++device) {
    schedule.side_rows.push_back(device);
    const std::int32_t compute = schedule.row_begin[device];
    // The row is v groups of m forwards, then v groups of m backwards, the last chunk's first.
    const auto forward = [&](std::int32_t chunk) { return compute + chunk * m; };
    const auto backward = [&](std::int32_t chunk) { return compute + (2 * v - 1 - chunk) * m; };
    const auto exchange = [&](Exchange what, std::int32_t chunk) {
      schedule.operations.push_back({.phase = Phase::communication, .chunk = chunk, .micro_batch = what});
      return static_cast<std::int32_t>(schedule.operations.size()) - 1;
    };
    // A gather may begin when the group before the one it serves does: two chunks' parameters are there at a time.
    for (std::int32_t chunk = 0; chunk < v; ++chunk) {
      const std::int32_t gather = exchange(gather_forward, chunk);
      schedule.waits.push_back({.operation = forward(chunk), .on = gather});
      if (chunk > 1) schedule.waits.push_back({.operation = gather, .on = forward(chunk - 1) - 1});
    }
    for (std::int32_t chunk = v - 1; chunk >= 0; --chunk) {
      const std::int32_t gather = exchange(gather_backward, chunk);
      schedule.waits.push_back({.operation = backward(chunk), .on = gather});
      if (chunk < v - 1) schedule.waits.push_back({.operation = gather, .on = backward(chunk + 1) - 1});
      if (chunk < v - 1)
        schedule.waits.push_back({.operation = exchange(reduce, chunk + 1), .on = backward(chunk + 1) + m - 1});
    }
    schedule.waits.push_back({.operation = exchange(reduce, 0), .on = backward(0) + m - 1});
    schedule.row_begin.push_back(static_cast<std::int32_t>(schedule.operations.size()));
  }
  std::sort(schedule.waits.begin(), schedule.waits.end());
  return schedule;
}

}  // namespace cairn::pipeline
