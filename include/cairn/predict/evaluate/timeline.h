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
// The name, for reports, of a pass that finalizes gradients or updates parameters.
std::string_view name_at_end(program::PassKind kind);

// How often a stage executes each block in the step. The order is that of first execution, so that sums of doubles do
// not depend on the addresses of blocks.
std::vector<std::pair<const program::Block*, std::int64_t>> block_counts(const program::Program& program,
                                                                         std::int32_t stage);

struct PassId {
  std::int32_t stage = -1;  // -1: none
  std::int32_t position = 0;
};
// For every pass of every stage: the pass whose message it waits for; none where it waits for no message.
using Producers = std::vector<std::vector<PassId>>;
Producers producers(const program::Program& program);

// When every step of one stage ran, on one of the ranks that the stage stands for: `steps` by stream, in stream order.
// `arrivals`, by pass: start and end of the message that the pass waits for; zero where there is none.
struct StageTimeline {
  std::int32_t stage = 0;
  std::array<std::vector<Span>, program::k_streams> steps;
  std::vector<Span> arrivals;
  core::Picoseconds end = 0;
};

// One pass of a stage: the message that it waits for (zero where there is none), and when it has computed.
struct PassTime {
  Span arrival;
  core::Picoseconds end = 0;
};
// By stage and position.
using PassTimes = std::vector<std::vector<PassTime>>;

// `arrivals`: the messages, by pass. `ends`: when each pass has computed; 0 where it computes nothing.
std::vector<PassTime> pass_times(const std::vector<Span>& arrivals, const std::vector<core::Picoseconds>& ends);

}  // namespace cairn::predict
