// Laws of the caching allocator under random plans.
#include "cairn/predict/account/allocator_replay.h"
#include "cairn/predict/account/memory.h"
#include "catch.h"
#include "support/random_plans.h"
#include "support/share.h"

using namespace cairn;
using namespace cairn::testing;

TEST_CASE("Random plans: every tensor that comes free is found; repetitions change nothing") {
  constexpr double k_rounding = 1e-9;
  constexpr double k_missed = 0.02;  // of what is reserved, by leaving out passes that repeat themselves
  for (std::uint64_t seed = 1; seed <= 400 / test::k_share; ++seed) {
    INFO("seed " << seed);
    const RandomPlan plan(seed);
    const program::Program& program = plan.program;
    const hardware::CachingAllocator::Rules rules{.expandable_segments = seed % 2 == 0};
    for (std::size_t index = 0; index < program.stages(); ++index) {
      const auto stage = static_cast<std::int32_t>(index);
      const auto played = predict::allocator_peaks(program, stage, rules, 0.0, predict::Repetition::played);
      const auto skipped = predict::allocator_peaks(program, stage, rules, 0.0, predict::Repetition::recurring_skipped);
      const auto quiet = predict::allocator_peaks(program, stage, rules, 0.0);
      REQUIRE(quiet.reserved <= played.reserved);
      REQUIRE(quiet.reserved >= (1.0 - k_missed) * played.reserved);
      const double allocated = predict::stage_memory(program, stage).allocated_peak;
      REQUIRE(skipped.reserved == played.reserved);
      REQUIRE(skipped.allocated == played.allocated);
      REQUIRE(skipped.passes <= played.passes);
      REQUIRE(skipped.unmatched <= k_rounding * allocated);
      REQUIRE(skipped.reserved >= skipped.allocated);
      REQUIRE(skipped.allocated >= (1.0 - k_rounding) * allocated);
      double held = 0.0;
      for (const program::HeldTensors& tensors : program.stage(index).held)
        held += tensors.bytes * static_cast<double>(tensors.count);
      double resident = 0.0;
      for (const double bytes : program.stage(index).resident) resident += bytes;
      REQUIRE(held == Approx(resident).epsilon(k_rounding));
    }
  }
}
