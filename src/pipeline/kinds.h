// The generator functions behind kinds.def and what they share.
#pragma once

#include "cairn/pipeline/generators.h"

namespace cairn::pipeline {

#define CAIRN_SCHEDULE_KIND(function, name, summary) Schedule function(const Settings& settings);
#include "kinds.def"
#undef CAIRN_SCHEDULE_KIND

// An empty schedule of one chain with the loop placement: chunk c of device d is virtual stage c*stages + d. Rows are
// appended in device order: push operations, then end_row().
class ScheduleBuilder {
 public:
  ScheduleBuilder(std::string_view kind, const Settings& settings);
  void push(Phase phase, std::int32_t chunk, std::int32_t micro_batch) {
    schedule_.operations.push_back({.phase = phase, .chunk = chunk, .micro_batch = micro_batch});
  }
  void end_row() { schedule_.row_begin.push_back(static_cast<std::int32_t>(schedule_.operations.size())); }
  Schedule take();

 private:
  Schedule schedule_;
};

// Throws core::ConfigurationError when the kind has no chunks but more than one is asked for.
void require_single_chunk(std::string_view kind, const Settings& settings);

}  // namespace cairn::pipeline
