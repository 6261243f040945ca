// Expectations by hand from the allocator's rules (hardware/caching_allocator.h).
#include "cairn/predict/account/allocator_replay.h"

#include <memory>
#include <utility>
#include <vector>

#include "cairn/pipeline/generators.h"
#include "cairn/pipeline/sweep.h"
#include "catch.h"

using namespace cairn;
using program::Category;

namespace {

constexpr double k_mib = 1 << 20;

struct Change {
  Category category;
  double mebibytes;
};

// Stages alike, whose forward and backward passes are a block each, in every chunk.
class OneStage {
 public:
  OneStage(const char* schedule, std::int32_t micro_batches, const std::vector<Change>& forward,
           const std::vector<Change>& backward)
      : OneStage(pipeline::generate(schedule, {.micro_batches = micro_batches}), forward, backward) {}
  OneStage(pipeline::Schedule schedule, const std::vector<Change>& forward, const std::vector<Change>& backward) {
    fill(forward_block_, forward_, forward);
    fill(backward_block_, backward_, backward);
    program_.schedule = std::make_shared<const pipeline::Schedule>(std::move(schedule));
    program_.order = std::make_shared<const pipeline::SweepOrder>(pipeline::sweep_order(*program_.schedule));
    program_.pass_order =
        std::make_shared<const program::PassOrder>(program::PassOrder::of(*program_.schedule, *program_.order));
    program::Stage stage;
    stage.passes.assign(static_cast<std::size_t>(program_.layout().size()), &nothing_);
    for (std::int32_t chunk = 0; chunk < program_.schedule->chunks; ++chunk)
      for (const bool special : {false, true}) {
        const auto slot = [&](program::PassKind kind) {
          return static_cast<std::size_t>(program_.layout().slot({.kind = kind, .chunk = chunk, .special = special}));
        };
        stage.passes[slot(program::PassKind::forward)] = &forward_;
        stage.passes[slot(program::PassKind::backward)] = &backward_;
      }
    program_.kinds = {stage};
    program_.kind_of_stage.assign(static_cast<std::size_t>(program_.schedule->stages), 0);
  }
  OneStage(const OneStage&) = delete;
  OneStage& operator=(const OneStage&) = delete;

  program::Stage& stage() { return program_.kinds.front(); }
  program::Pass& forward() { return forward_; }
  predict::AllocatorPeaks peaks(const hardware::CachingAllocator::Rules& rules = {},
                                predict::Repetition repetition = predict::Repetition::recurring_skipped) const {
    return predict::allocator_peaks(program_, 0, rules, 0.0, repetition);
  }

 private:
  static void fill(program::Block& block, program::Pass& pass, const std::vector<Change>& changes) {
    for (const Change& change : changes)
      block.memory.push_back({.category = change.category, .bytes = change.mebibytes * k_mib});
    pass.runs = {{&block, 1}};
  }

  program::Block forward_block_;
  program::Block backward_block_;
  program::Pass forward_;
  program::Pass backward_;
  program::Pass nothing_;
  program::Program program_;
};

constexpr auto k_saved = Category::activations;
constexpr auto k_passing = Category::workspace;

}  // namespace

TEST_CASE("A tensor that does not fit where a larger one was leaves a gap") {
  // 40 MiB come and go, 30 stay in their place, 20 find no room in the 10 left: 60 reserved, 50 allocated.
  const OneStage stage("1f1b", 1, {{k_passing, 40}, {k_passing, -40}, {k_saved, 30}, {k_passing, 20}, {k_passing, -20}},
                       {{k_saved, -30}});
  const predict::AllocatorPeaks peaks = stage.peaks();
  CHECK(peaks.allocated == 50 * k_mib);
  CHECK(peaks.reserved == 60 * k_mib);
  CHECK(peaks.unmatched == 0.0);
  // Pages of 20 MiB: the gap of 10 MiB lies at the end and grows.
  CHECK(stage.peaks({.expandable_segments = true}).reserved == 60 * k_mib);
}

TEST_CASE("What the first update makes takes the place of the first step's tensors") {
  OneStage stage("1f1b", 1, {{k_saved, 40}}, {{k_saved, -40}});
  CHECK(stage.peaks().reserved == 40 * k_mib);
  const std::vector<program::HeldTensors> held{
      {.category = Category::parameters, .bytes = 10 * k_mib, .count = 2},
      {.category = Category::optimizer, .bytes = 12 * k_mib, .count = 2, .late = true}};
  stage.stage().held = held;
  // Both moments lie in the 40 MiB that activations left; the next step's need 40 MiB of their own.
  const predict::AllocatorPeaks peaks = stage.peaks();
  CHECK(peaks.allocated == (20 + 24 + 40) * k_mib);
  CHECK(peaks.reserved == (20 + 40 + 40) * k_mib);
}

TEST_CASE("Backward passes free what their micro-batch left, however it is told") {
  // Two tensors that come free at once; and a part of one.
  const OneStage at_once("gpipe", 3, {{k_saved, 12}, {k_saved, 14}}, {{k_saved, -26}});
  CHECK(at_once.peaks().allocated == 3 * 26 * k_mib);
  CHECK(at_once.peaks().unmatched == 0.0);
  const OneStage in_parts("gpipe", 2, {{k_saved, 32}}, {{k_saved, -16}, {k_saved, -16}});
  CHECK(in_parts.peaks().allocated == 2 * 32 * k_mib);
  CHECK(in_parts.peaks().unmatched == 0.0);
  CHECK(OneStage("gpipe", 1, {{k_saved, 12}}, {{k_saved, -14}}).peaks().unmatched >= 2 * k_mib);
}

TEST_CASE("What a communicator's stream uses comes free at the end of the pass") {
  OneStage stage("gpipe", 3, {{k_passing, 12}, {k_passing, 12}}, {});
  stage.forward().recorded = 24 * k_mib;
  CHECK(stage.peaks().allocated == 24 * k_mib);
  CHECK(stage.peaks().unmatched == 0.0);
}

TEST_CASE("Gathered parameters lie apart from what computes") {
  const OneStage stage(
      "1f1b", 1, {{Category::parameters, 40}, {Category::parameters, -40}, {k_passing, 40}, {k_passing, -40}}, {});
  CHECK(stage.peaks().allocated == 40 * k_mib);
  CHECK(stage.peaks().reserved == 80 * k_mib);
}

TEST_CASE("Repeated micro-batches are played a few times and count as often as they are") {
  const std::vector<Change> forward{{k_passing, 40}, {k_saved, 12}, {k_passing, -40}, {k_saved, 15}};
  const std::vector<Change> backward{{k_passing, 22}, {k_saved, -15}, {k_saved, -12}, {k_passing, -22}};
  const OneStage few("1f1b", 6, forward, backward);
  const OneStage many("1f1b", 5000, forward, backward);
  const predict::AllocatorPeaks skipped = many.peaks();
  const predict::AllocatorPeaks played = many.peaks({}, predict::Repetition::played);
  CHECK(skipped.reserved == played.reserved);
  CHECK(skipped.allocated == played.allocated);
  CHECK(skipped.reserved == few.peaks().reserved);
  CHECK(skipped.passes < 100);
  CHECK(played.passes >= 20000);
}

// The passes of one chunk repeat themselves for as many micro-batches as there are stages; what other chunks hold meanwhile
// stays theirs, and is not that of later micro-batches.
TEST_CASE("Micro-batches of one chunk that follow each other are not a step that repeats itself") {
  const std::vector<Change> forward{{k_saved, 13}, {k_passing, 40}, {k_saved, 21}, {k_passing, -40}, {k_saved, 34}};
  const std::vector<Change> backward{{k_passing, 30}, {k_saved, -34}, {k_saved, -13}, {k_passing, -30}, {k_saved, -21}};
  for (const std::int32_t chunks : {2, 4, 6}) {
    INFO(chunks << " chunks");
    const OneStage stage(pipeline::generate("interleaved-1f1b", {.stages = 8, .micro_batches = 64, .chunks = chunks}),
                         forward, backward);
    const predict::AllocatorPeaks played = stage.peaks({}, predict::Repetition::played);
    const predict::AllocatorPeaks skipped = stage.peaks({}, predict::Repetition::quiet_skipped);
    CHECK(skipped.reserved == played.reserved);
    CHECK(skipped.allocated == played.allocated);
    CHECK(skipped.unmatched == 0.0);
    CHECK(skipped.passes < played.passes);
  }
}
