// The generator functions behind kinds.def and what they share.
#pragma once

#include <string>
#include <vector>

#include "cairn/pipeline/generators.h"

namespace cairn::pipeline {

#define CAIRN_SCHEDULE_KIND(function, name, options, splits, goldens, summary, source) \
  Schedule function(const Settings& settings);
#include "kinds.def"
#undef CAIRN_SCHEDULE_KIND

// Which virtual stages a device holds.
struct Layout {
  std::int32_t chunks = 1;
  std::int32_t chain_length = 1;
  std::vector<std::int32_t> placement;  // of [device * chunks + chunk]
};

// Chunk c of device d is virtual stage c*p + d.
Layout loop_layout(std::int32_t stages, std::int32_t chunks);
// One chain that turns at either end: chunk c of device d is stage c*p + d where c is even, c*p + p-1-d where it is
// odd.
Layout wave_layout(std::int32_t stages, std::int32_t chunks);
// `pipelines` chains of one stage per device. Chain 2j enters at device j*p/f and goes down, chain 2j+1 is its mirror
// image: stage s of chain 2j is on device (j*p/f + s) mod p, of chain 2j+1 on (j*p/f + p-1-s) mod p, f = pipelines/2.
Layout opposed_layout(std::int32_t stages, std::int32_t pipelines);

// An empty schedule. Rows are appended in device order: push operations, then end_row().
class ScheduleBuilder {
 public:
  ScheduleBuilder(std::string_view kind, const Settings& settings);  // with the loop layout
  ScheduleBuilder(std::string_view kind, const Settings& settings, Layout layout);

  void push(Phase phase, std::int32_t chunk, std::int32_t micro_batch) {
    schedule_.operations.push_back({.phase = phase, .chunk = chunk_number(chunk), .micro_batch = micro_batch});
  }
  void push(const Operation& operation) { schedule_.operations.push_back(operation); }
  void join() { schedule_.operations.back().joined = true; }  // the last one with the next
  void end_row() { schedule_.row_begin.push_back(static_cast<std::int32_t>(schedule_.operations.size())); }
  Schedule take();

 private:
  Schedule schedule_;
};

// Throws core::ConfigurationError about schedule.<key> unless `holds`.
void require(bool holds, const char* key, const std::string& message, const std::string& remedy);
// "2, 4 or 6"-like remedies: the multiples of `step` next to `value`.
std::string multiples_near(std::int32_t value, std::int32_t step);

}  // namespace cairn::pipeline
