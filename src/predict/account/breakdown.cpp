#include "cairn/predict/account/breakdown.h"

#include <algorithm>

#include "at.h"
#include "walk_back.h"

namespace cairn::predict {

core::Picoseconds Breakdown::total() const {
  core::Picoseconds sum = compute + recompute + optimizer + launch + offload + bubble + host + links + other;
  for (const core::Picoseconds part : exposed) sum += part;
  return sum;
}

Breakdown attribute(const program::Program& program, PriceTable& prices, const StageTimeline& timeline) {
  Breakdown breakdown;
  walk_back(program, prices, timeline, producers(program),
            [&](const Spell& spell) { attribute(spell, timeline, breakdown); });
  return breakdown;
}

void attribute(const Spell& spell, const StageTimeline& timeline, Breakdown& breakdown) {
  switch (spell.what) {
    case Spent::compute:
      breakdown.compute += spell.time();
      break;
    case Spent::recompute:
      breakdown.recompute += spell.time();
      break;
    case Spent::optimizer:
      breakdown.optimizer += spell.time();
      break;
    case Spent::launch:
      breakdown.launch += spell.time();
      break;
    case Spent::exchange:
      breakdown.exposed[static_cast<std::size_t>(spell.axis)] += spell.time();
      break;
    case Spent::copy:
      breakdown.offload += spell.time();
      break;
    case Spent::host:
      breakdown.host += spell.time();
      break;
    case Spent::message: {
      const core::Picoseconds sent =
          std::clamp(timeline.arrivals[at(spell.pass)].start, spell.during.start, spell.during.end);
      breakdown.exposed[static_cast<std::size_t>(program::Axis::pipeline)] += spell.during.end - sent;
      breakdown.bubble += sent - spell.during.start;
      break;
    }
    case Spent::ranks:
      breakdown.bubble += spell.time();
      break;
    case Spent::other:
      breakdown.other += spell.time();
      break;
  }
}

}  // namespace cairn::predict
