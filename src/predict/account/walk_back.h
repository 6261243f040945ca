// Labels every instant of a stage's compute stream. What the stream waited for is found by walking back along the
// dependencies of the step that ended the wait.
#pragma once

#include <cstdint>
#include <functional>

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

// Tells the spells of [0, timeline.end) one by one: each instant lies in exactly one. Where the compute stream is busy,
// the label is that of the running step. A gap is walked back from the step that ended it along what that step waited
// for, so the spells of a gap come latest first. Besides the timeline it holds only steps that still run beside or
// after the last computation, since no gap is walked back further.
using SpellReader = std::function<void(const Spell&)>;
void walk_back(const program::Program& program, PriceTable& prices, const StageTimeline& timeline,
               const Producers& producers, const SpellReader& tell);

// Adds a spell of the timeline to the attribution of its time.
void attribute(const Spell& spell, const StageTimeline& timeline, Breakdown& breakdown);

}  // namespace cairn::predict
