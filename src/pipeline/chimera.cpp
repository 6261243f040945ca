// Chimera: 2f pipelines over 2f copies of the model, half of them entering at the first device and half at the last,
// rotated by p/f from one pair to the next; their bubbles are filled by one another's work.
//
// Order: every operation has a slot in a plan where all slots are equally long, and a device runs its operations in the
// order of their slots, which never collide. For a unit of p micro-batches, p/(2f) to each pipeline, at stage s:
//   forward of the pipeline's i-th    2i + s                 backward    2i + 2p-1-s            a unit lasts 2p slots
// and p/f - 2 slots are idle, once, when forward and backward take equally long. Where a backward takes as long as two
// forwards, a unit does so too when a slot holds two forwards or half a backward: forwards run joined in pairs, every
// half j of the pair's backward alone,
//   forward of the i-th pair          2i + s                 backward    p + 2j + p-1-s         a unit lasts 3p slots
// Forward doubling pairs two micro-batches; backward halving pairs the halves of one.
// Source: Li and Hoefler, "Chimera", SC 2021, sections 3.1, 3.5 and 3.6.
#include <algorithm>

#include "kinds.h"

namespace cairn::pipeline {
namespace {

struct Slot {
  std::int64_t time = 0;
  Operation operation;
};

class Units {
 public:
  explicit Units(const Settings& settings)
      : settings_(settings),
        pairs_(settings.continuation != Continuation::concatenate),
        unit_(settings.stages * (pairs_ ? 2 : 1)) {}

  std::vector<Slot> row(const Layout& layout, std::int32_t device) const {
    std::vector<Slot> slots;
    slots.reserve(std::size_t{2} * settings_.micro_batches);
    for (std::int32_t begin = 0; begin < settings_.micro_batches; begin += unit_) {
      const std::int32_t each = std::min(unit_, settings_.micro_batches - begin) / settings_.pipelines;
      for (std::int32_t chain = 0; chain < settings_.pipelines; ++chain) {
        const std::int32_t stage = layout.placement[device * layout.chunks + chain] % settings_.stages;
        for (std::int32_t i = 0; i < each; ++i) add(slots, begin, chain, stage, i, begin + chain * each + i);
      }
    }
    std::stable_sort(slots.begin(), slots.end(), [](const Slot& a, const Slot& b) { return a.time < b.time; });
    return slots;
  }

 private:
  void add(std::vector<Slot>& slots, std::int64_t begin, std::int32_t chain, std::int32_t stage, std::int32_t i,
           std::int32_t micro_batch) const {
    const std::int64_t p = settings_.stages;
    const std::int64_t start = pairs_ ? begin / unit_ * 3 * p : begin / unit_ * 2 * p;
    const std::int64_t item = pairs_ ? i / 2 : i;
    const std::int64_t turn = pairs_ ? p + p - 1 : 2 * p - 1;
    slots.push_back({.time = start + 2 * item + stage,
                     .operation = {.phase = Phase::forward,
                                   .joined = pairs_ && i % 2 == 0,
                                   .chunk = chunk_number(chain),
                                   .micro_batch = micro_batch}});
    slots.push_back(
        {.time = start + 2 * std::int64_t{i} + turn - stage,
         .operation = {.phase = Phase::backward, .chunk = chunk_number(chain), .micro_batch = micro_batch}});
  }

  const Settings& settings_;
  bool pairs_;
  std::int32_t unit_;  // micro-batches
};

void check(const Settings& settings) {
  const std::int32_t p = settings.stages;
  const std::int32_t pipelines = settings.pipelines;
  require(pipelines >= 2 && pipelines % 2 == 0, "pipelines",
          "chimera runs as many pipelines down as up, not " + std::to_string(pipelines) + " together",
          "use 2, 4, ... pipelines");
  require(
      p % pipelines == 0, "stages",
      "chimera needs a multiple of " + std::to_string(pipelines) + " stages (its pipelines), not " + std::to_string(p),
      "use " + multiples_near(p, pipelines) + " stages");
  const std::int32_t step = pipelines * (settings.continuation == Continuation::double_forward ? 2 : 1);
  require(settings.micro_batches % step == 0, "micro_batches",
          "chimera needs a multiple of " + std::to_string(step) + " micro-batches, not " +
              std::to_string(settings.micro_batches),
          "use " + multiples_near(settings.micro_batches, step) + " micro-batches");
}

}  // namespace

Schedule chimera(const Settings& settings) {
  check(settings);
  Settings listed = settings;
  const bool halves = settings.continuation == Continuation::halve_backward;
  if (halves) listed.micro_batches *= 2;
  const Units units(listed);
  const Layout layout = opposed_layout(settings.stages, settings.pipelines);
  ScheduleBuilder builder("chimera", listed, layout);
  for (std::int32_t device = 0; device < settings.stages; ++device) {
    for (const Slot& slot : units.row(layout, device)) builder.push(slot.operation);
    builder.end_row();
  }
  Schedule schedule = builder.take();
  schedule.pieces = halves ? 2 : 1;
  return schedule;
}

}  // namespace cairn::pipeline
