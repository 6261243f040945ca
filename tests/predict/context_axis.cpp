// Ranks that share the tokens of every sequence: the mesh, the tokens, the gradients, and who meets whom. Models whose
// tokens need each other are refused.
#include "cairn/predict/evaluate/analytic.h"
#include "cairn/predict/evaluate/event.h"
#include "catch.h"
#include "support/complaints.h"
#include "support/passes.h"
#include "support/prices.h"
#include "support/random_plans.h"
#include "support/transfers.h"
#include "support/two_products.h"

using namespace cairn;
using namespace cairn::testing;
using program::Axis;

namespace {

constexpr std::int64_t k_sequence = 8;

// Two layers; ranks tp 2, cp 2, dp 3.
plan::Strategy twelve_ranks(std::int64_t context) {
  plan::Strategy s;
  s.tensor = 2;
  s.context = context;
  s.data = 6 / context;
  s.stage_layers = {2};
  return s;
}

// Over which ranks the gradients are reduced at the end of the step, and how much.
program::Transfer reduction(const program::Program& program) {
  for (const program::BlockRun& run : finalize_pass(program, 0).runs)
    for (const program::Work& work : run.block->works)
      if (const auto* transfer = std::get_if<program::Transfer>(&work);
          transfer != nullptr && transfer->group.axis == Axis::data)
        return *transfer;
  return {};
}

}  // namespace

TEST_CASE("Ranks that share sequences have a part of the tokens and reduce the gradients of the whole") {
  const ir::Model model = two_products({.layers = 2});
  plan::Lowering lowering(model, k_sequence, {});
  const double alone = lowering.layer_state(twelve_ranks(1), 0).saved_bytes;
  const double shared = lowering.layer_state(twelve_ranks(2), 0).saved_bytes;
  REQUIRE(alone > 0.0);
  REQUIRE(shared == alone / 2);
  const double bytes = reduction(lowering.lower(twelve_ranks(1))).bytes;
  const program::Program& program = lowering.lower(twelve_ranks(2));
  REQUIRE(program.mesh.ranks() == 12);
  REQUIRE(program.mesh.group(Axis::context).stride == 2);
  REQUIRE(program.mesh.group(Axis::data).stride == 4);
  const program::Transfer sum = reduction(program);
  REQUIRE(sum.collective == program::Collective::all_reduce);
  REQUIRE(sum.bytes == bytes);
  REQUIRE(sum.group == program::Group{.axis = Axis::data, .size = 6, .stride = 2});
  // Every shard of the optimizer is a sixth.
  plan::Strategy sharded = twelve_ranks(2);
  sharded.sharded = plan::Sharded::optimizer;
  const auto optimizer = static_cast<std::size_t>(program::Category::optimizer);
  const double whole = lowering.lower(twelve_ranks(2)).stage(0).resident[optimizer];
  REQUIRE(lowering.lower(sharded).stage(0).resident[optimizer] * 6 >= whole);
  REQUIRE(lowering.lower(sharded).stage(0).resident[optimizer] * 6 < 1.1 * whole);
}

TEST_CASE("Ranks that share sequences apart from those that hold copies form rows") {
  const ir::Model model = two_products({.layers = 2});
  plan::Lowering lowering(model, k_sequence, {});
  plan::Strategy s = twelve_ranks(2);
  s.order = {Axis::context, Axis::tensor, Axis::data, Axis::pipeline};  // rank = c + 2 t + 4 d
  const program::Group group = reduction(lowering.lower(s)).group;
  REQUIRE(group == program::Group{.axis = Axis::data, .size = 6, .stride = 1, .rows = 3, .apart = 4});
  REQUIRE(group.members(2) == 2);  // 0 1, 4 5, 8 9
  REQUIRE(group.members(8) == 4);
  REQUIRE(group.extent() == 12);
}

TEST_CASE("Sequences that cannot be shared are refused") {
  const auto refused = [](const ir::Model& model, std::int64_t context, const plan::AttentionSharing& sharing = {}) {
    plan::Strategy s = twelve_ranks(2);
    s.context = context;
    s.attention = sharing;
    s.data = 1;
    s.stage_layers = {model.body_layers()};
    plan::Lowering lowering(model, k_sequence, {});
    return test::complaints([&] { lowering.lower(s); });
  };
  CHECK(test::contains(refused(two_products({.layers = 2}), 3), "strategy.cp: 3 does not divide the 8 tokens"));
  CHECK(test::contains(refused(small_transformer(), 2), "does not say how the ranks of cp share attention"));
  const sequence::Scheme& ring = sequence::scheme("ring");
  CHECK(test::contains(refused(small_transformer(), 2, {.scheme = &ring, .grid = ring.grids(4).front()}),
                       "a grid of 4 ranks, and cp is 2"));
  CHECK(refused(small_transformer(), 2, {.scheme = &ring, .grid = ring.grids(2).front()}).empty());
  CHECK(test::contains(refused(multilayer_perceptron(8, 16, 4), 2), "no sequences"));
  CHECK(refused(two_products({.layers = 2}), 4).empty());
}

TEST_CASE("Ranks that share sequences: the evaluators agree, folded and rank by rank") {
  std::int64_t met = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    core::Random random(seed);
    const ir::Model model = two_products({.layers = 8});
    plan::Strategy s = random_strategy(random, model);
    s.recompute = plan::Recompute::none;
    s.recompute_layers = {};
    s.context = s.tensor == 4 ? 1 : 2;  // halves of the tokens are whole on every rank
    plan::Lowering lowering = random_lowering(random, model);
    const program::Program* program = nullptr;
    try {
      program = &lowering.lower(s);
    } catch (const core::ConfigurationError&) {
      continue;  // shards that do not divide the ranks with copies
    }
    INFO("seed " << seed << ", tp " << s.tensor << ", cp " << s.context << ", dp " << s.data << ", pp " << s.pipeline);
    RandomPricer pricer(seed, 1000, 3, 20);
    predict::PriceTable prices(pricer);
    const core::Picoseconds expected = predict::Analytic(prices).makespan(*program).time;
    REQUIRE(predict::simulate(*program, prices).makespan.time == expected);
    // Every coordinate on its own, at full speed.
    std::vector<predict::SlowRank> named;
    for (std::int64_t rank = 0; rank < program->mesh.ranks(); ++rank) named.push_back({.rank = rank, .speed = 1.0});
    const predict::EventResult unfolded = predict::simulate(*program, prices, {.slow_ranks = named});
    REQUIRE(unfolded.actors == program->mesh.ranks());
    REQUIRE(unfolded.makespan.time == expected);
    met += s.context > 1 ? 1 : 0;
  }
  REQUIRE(met > 50);
}
