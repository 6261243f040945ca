// Labels every instant of a stage's compute stream. What the stream waited for is found by walking back along the
// dependencies of the step that ended the wait.
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
  message,  // waiting for a message of another stage, for whatever reason it was late (causes.cpp finds that)
  ranks,    // waiting for other ranks of its group to reach a collective
  other,    // zero by construction; tests check it
};
inline constexpr std::size_t k_spent = static_cast<std::size_t>(Spent::other) + 1;

struct Spell {  // an interval with one label
  Spent what = Spent::other;
  program::Axis axis = program::Axis::tensor;  // of exchanges
  std::int32_t pass = 0;                       // position of the pass that computed, or that waited
  Span during;
  core::Picoseconds time() const { return during.end - during.start; }
};

// The spells of [0, timeline.end): each instant lies in exactly one. Where the compute stream is busy, the label is
// that of the running step. A gap is walked back from the step that ended it along what that step waited for, so the
// spells of a gap come latest first.
std::vector<Spell> walk_back(const program::Program& program, PriceTable& prices, const StageTimeline& timeline,
                             const Producers& producers);

// Attribution of the time, from the spells of the timeline.
Breakdown attribute(const std::vector<Spell>& spells, const StageTimeline& timeline);

}  // namespace cairn::predict
