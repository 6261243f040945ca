// What every instant of a stage's computation was spent on, found by walking back from it along whatever it awaited.
#pragma once

#include <vector>

#include "cairn/predict/account/breakdown.h"
#include "cairn/predict/evaluate/timeline.h"
#include "cairn/predict/price/price.h"
#include "cairn/program/program.h"

namespace cairn::predict {

enum class Spent : std::uint8_t {
  compute,
  recompute,
  optimizer,
  launch,    // the device waits for its next kernel to start
  exchange,  // a transfer of this rank, by the axis it is reported as
  copy,      // to or from the host and the drives
  host,
  message,  // from another stage: until it had come, whatever held it up
  ranks,    // others of this rank's group had not come to a transfer yet
  other,    // none, by construction
};
inline constexpr std::size_t k_spent = static_cast<std::size_t>(Spent::other) + 1;

struct Spell {
  Spent what = Spent::other;
  program::Axis axis = program::Axis::tensor;  // of exchanges
  std::int32_t pass = 0;                       // whose work it is, or what could not go on; by position
  Span during;
  core::Picoseconds time() const { return during.end - during.start; }
};

// The spells of [0, timeline.end): every instant lies in exactly one. Busy instants of the compute stream are spent on
// what runs; a gap is walked back from the step that ended it along what that step waited for, so that its spells stand
// latest first.
std::vector<Spell> walk_back(const program::Program& program, PriceTable& prices, const StageTimeline& timeline,
                             const Producers& producers);

// Attribution of the time, from the spells of the timeline.
Breakdown attribute(const std::vector<Spell>& spells, const StageTimeline& timeline);

}  // namespace cairn::predict
