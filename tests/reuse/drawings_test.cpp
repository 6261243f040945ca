// Random plans are worth what they vary: every setting is drawn by tests/support/random_plans.h.
#include <set>
#include <string>

#include "catch.h"
#include "reuse/settings_table.h"

using namespace cairn;
using namespace cairn::testing;

TEST_CASE("Random plans vary every setting") {
  // The strategy has its own numbers for the first three; schedules with passes of the vocabulary are not lowered.
  const std::set<std::string> never{"schedule_options.stages", "schedule_options.micro_batches",
                                    "schedule_options.chunks", "schedule_options.vocabulary"};
  std::vector<plan::Strategy> drawn;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    core::Random random(seed);
    const ir::Model model = random_model(random);
    drawn.push_back(random_strategy(random, model));
    random_context(random, drawn.back(), {.tokens = k_random_plan_sequence, .heads = 8});
    random_experts(random, drawn.back());
    const auto kinds = pipeline::generators();
    if (const auto of_kind = random_strategy(random, model, kinds[seed % kinds.size()])) drawn.push_back(*of_kind);
  }
  for (const Setting& setting : all_settings()) {
    INFO(setting.name);
    const bool varies = std::any_of(drawn.begin(), drawn.end(),
                                    [&](const plan::Strategy& each) { return !setting.same(each, drawn.front()); });
    CHECK(varies == !never.contains(setting.name));
  }
}
