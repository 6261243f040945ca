// When everything happened on one stage, and what its time was spent on.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/core/time.h"
#include "cairn/predict/price/price.h"
#include "cairn/program/program.h"

namespace cairn::predict {

struct Span {
  core::Picoseconds start = 0;
  core::Picoseconds end = 0;
};

// The passes of a stage in execution order.
std::vector<const program::Pass*> passes_of(const program::Program& program, std::int32_t stage);
// What an entry of a stage's row is called that is no operation of the schedule's chains.
std::string_view name_at_end(program::PassKind kind);

// How often a stage executes each block in the step, in the order of first execution: sums of doubles must not depend
// on where blocks lie in memory.
std::vector<std::pair<const program::Block*, std::int64_t>> block_counts(const program::Program& program,
                                                                         std::int32_t stage);

struct PassId {
  std::int32_t stage = -1;  // -1: none
  std::int32_t position = 0;
};
// For every pass of every stage: which pass of which stage its arrival comes from; none where nothing arrives.
using Producers = std::vector<std::vector<PassId>>;
Producers producers(const program::Program& program);

// The times of one stage (of one of the ranks it stands for). Steps of a stream in stream order; `arrivals` by pass:
// the send it waits for, zero where nothing arrives.
struct StageTimeline {
  std::int32_t stage = 0;
  std::array<std::vector<Span>, program::k_streams> steps;
  std::vector<Span> arrivals;
  core::Picoseconds end = 0;
};

// One pass of a stage: the message it awaits (zero where none comes), and when the stage's computation is through it.
struct PassTime {
  Span arrival;
  core::Picoseconds end = 0;
};
// By stage and position.
using PassTimes = std::vector<std::vector<PassTime>>;

// From the messages that came, and when the computation of each pass ended: 0 where a pass computes nothing.
std::vector<PassTime> pass_times(const std::vector<Span>& arrivals, const std::vector<core::Picoseconds>& ends);

}  // namespace cairn::predict
