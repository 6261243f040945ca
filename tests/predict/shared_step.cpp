// Work that overlaps slows each other down by amounts derived by hand.
#include "catch.h"
#include "predict/hand_made.h"
#include "predict/timed.h"
#include "support/demands.h"
#include "support/two_products.h"

using namespace cairn;
using namespace cairn::testing;
using program::Stream;

namespace {

// Works of hand-made blocks are told apart by their price.
StatedDemands by_price(std::vector<predict::SharedUnit> units,
                       std::map<core::Picoseconds, predict::UnitDemands> demands) {
  StatedDemands result;
  result.all = std::move(units);
  result.of_work = [demands = std::move(demands)](const program::Work&, core::Picoseconds price) {
    const auto known = demands.find(price);
    return known == demands.end() ? predict::UnitDemands{} : known->second;
  };
  return result;
}

predict::UnitDemands takes(double amount) { return {{.unit = 0, .amount = amount}}; }

// Two transfers beside each other from 0 on.
predict::EventResult beside(core::Picoseconds first, core::Picoseconds second, StatedDemands& demands) {
  HandMadeBlock hand;
  hand.transfer(Stream::data, first, {});
  hand.transfer(Stream::next, second, {});
  HandMadeProgram program({{&hand.block(), 1}}, 0);
  return program.event(&demands);
}

// Transfers of one label take `amount` of unit 0, messages on the side said.
StatedDemands of_axis(program::Axis axis, double amount, std::int64_t ranks, bool at_receiver = false) {
  StatedDemands result;
  result.all = {unit(ranks)};
  result.of_work = [=](const program::Work& work, core::Picoseconds) -> predict::UnitDemands {
    const auto* transfer = std::get_if<program::Transfer>(&work);
    if (transfer == nullptr || transfer->group.axis != axis) return {};
    return {{.unit = 0, .at_receiver = at_receiver, .amount = amount}};
  };
  return result;
}

}  // namespace

TEST_CASE("A bucket's reduction and a message through one adapter") {
  // Each alone at 0.8 of the adapter: half of it each, 0.625 of full speed: 160 instead of 100.
  StatedDemands equal = by_price({unit()}, {{100, takes(0.8)}});
  const predict::EventResult both = beside(100, 100, equal);
  CHECK(on(both.last, Stream::data) == Times{{0, 160}});
  CHECK(on(both.last, Stream::next) == Times{{0, 160}});
  CHECK(both.makespan.time == 160);
  REQUIRE(both.uses.size() == 1);
  CHECK(both.uses[0].mean == Approx(1.0));
  CHECK(both.uses[0].peak == Approx(1.0));

  // 0.9 and 0.4: the message takes the 0.4 it wants until 120, less than half. The reduction at 0.6/0.9: 80 done by
  // then, and the other 70 at full speed. In use: all, then 0.9: (120 + 0.9 x 70)/190.
  StatedDemands unequal = by_price({unit()}, {{150, takes(0.9)}, {120, takes(0.4)}});
  const predict::EventResult one = beside(150, 120, unequal);
  CHECK(on(one.last, Stream::next) == Times{{0, 120}});
  CHECK(on(one.last, Stream::data) == Times{{0, 190}});
  REQUIRE(one.uses.size() == 1);
  CHECK(one.uses[0].mean == Approx((120 + 0.9 * 70) / 190));
  REQUIRE(one.uses[0].samples.size() == 3);
  CHECK(one.uses[0].samples[0].time == 0);
  CHECK(one.uses[0].samples[0].share == Approx(1.0));
  CHECK(one.uses[0].samples[1].time == 120);
  CHECK(one.uses[0].samples[1].share == Approx(0.9));
  CHECK(one.uses[0].samples[2].time == 190);
  CHECK(one.uses[0].samples[2].share == 0.0);

  // What fits is not slowed down, to the last picosecond.
  StatedDemands enough = by_price({unit()}, {{101, takes(0.7)}, {103, takes(0.3)}});
  CHECK(on(beside(101, 103, enough).last, Stream::data) == Times{{0, 101}});
  CHECK(on(beside(101, 103, enough).last, Stream::next) == Times{{0, 103}});
}

TEST_CASE("A product beside a reduction that wants memory and multiprocessors") {
  // The product takes all multiprocessors and 0.75 of the memory, the reduction 0.1 and 0.5 of them. Shares of what
  // each needs most: 1 and 0.5. The reduction has its 0.5 of the memory; the product has the other half, 2/3 of its
  // speed (multiprocessors would allow 0.9): 200 of its 1000 in 300, ends at 1100.
  StatedDemands demands = by_price({unit(), unit()}, {{1000, {{.unit = 0, .amount = 1.0}, {.unit = 1, .amount = 0.75}}},
                                                      {300, {{.unit = 0, .amount = 0.1}, {.unit = 1, .amount = 0.5}}}});
  HandMadeBlock hand;
  hand.compute(1000);
  hand.transfer(Stream::data, 300, {});
  HandMadeProgram program({{&hand.block(), 1}}, 0);
  const predict::EventResult result = program.event(&demands);
  CHECK(on(result.last, Stream::data) == Times{{0, 300}});
  CHECK(on(result.last, Stream::compute) == Times{{0, 1100}});
  // Where memory is no matter, the product goes on with nine tenths of the multiprocessors: 270 in 300, 1030.
  StatedDemands few = by_price({unit()}, {{1000, takes(1.0)}, {300, takes(0.1)}});
  CHECK(on(program.event(&few).last, Stream::compute) == Times{{0, 1030}});
}

TEST_CASE("What comes after waits for what was slowed down, also on another stream") {
  // Two transfers at 0.8 each, 100 and 200: 160 for the first; the second has done 100 by then, its other 100 at full
  // speed: 260. A kernel of 10 after each of them.
  HandMadeBlock hand;
  const auto a = hand.transfer(Stream::data, 100, {});
  const auto b = hand.transfer(Stream::next, 200, {});
  hand.compute(10, {a});
  hand.compute(10, {b});
  HandMadeProgram program({{&hand.block(), 1}}, 0);
  StatedDemands demands = by_price({unit()}, {{100, takes(0.8)}, {200, takes(0.8)}});
  CHECK(on(program.event(&demands).last, Stream::compute) == Times{{160, 170}, {260, 270}});
}

TEST_CASE("Two groups share the adapters of a node with 4 for 8 ranks") {
  // Stages 0 and 1 alternate over the ranks, 4 replicas each; ranks 2i and 2i + 1 have an adapter between them.
  // Forward 0-200, 200-400, backward 400-800 on stage 1, 800-1200 on stage 0, then the gradients for 1000: stage 1 from
  // 800, stage 0 from 1200. Each alone takes 0.8 of an adapter. By 1200 stage 1 has 600 left; both at 0.625 until 2160,
  // when stage 0 has 400 left: 2560. Updates of 7.
  const ir::Model model = two_products({.layers = 2});
  plan::Strategy s;
  s.pipeline = 2;
  s.data = 4;
  s.schedule = "gpipe";
  s.stage_layers = {1, 1};
  s.order = {program::Axis::pipeline, program::Axis::tensor, program::Axis::context, program::Axis::data};
  Timed timed(model, s, {.kernels = kernels_of_100(7), .transfers = {{program::Axis::data, 1000}}});
  REQUIRE(timed.event().makespan.time == 2200 + 7);
  StatedDemands shared = of_axis(program::Axis::data, 0.8, 2);
  CHECK(timed.event_with(shared).makespan.time == 2560 + 7);
  // Priced as if all ranks sent at once, half an adapter each: nothing changes.
  StatedDemands half = of_axis(program::Axis::data, 0.5, 2);
  CHECK(timed.event_with(half).makespan.time == 2200 + 7);
  // An adapter each: nothing is shared.
  StatedDemands own = of_axis(program::Axis::data, 0.8, 1);
  CHECK(timed.event_with(own).makespan.time == 2200 + 7);
  // With the stages on ranks 0-3 and 4-7, two replicas of one stage share an adapter and take 1.6 of it: 1.6 times as
  // long, for as long as there are two.
  s.order = {program::Axis::tensor, program::Axis::context, program::Axis::data, program::Axis::pipeline};
  Timed blocks(model, s, {.kernels = kernels_of_100(7), .transfers = {{program::Axis::data, 1000}}});
  CHECK(blocks.event_with(shared).makespan.time == 1200 + 1600 + 7);
}

TEST_CASE("Messages are counted where they are received") {
  // Two replicas of stage 1 share an adapter, and each of their messages takes 0.75 of it: 150 instead of 100. Forward
  // 0-200, message -350, 350-550, backward -950, message -1100, -1500, update 7.
  const ir::Model model = two_products({.layers = 2});
  plan::Strategy s;
  s.pipeline = 2;
  s.data = 2;
  s.schedule = "gpipe";
  s.stage_layers = {1, 1};
  Timed timed(model, s, {.kernels = kernels_of_100(7), .transfers = {{program::Axis::pipeline, 100}}});
  REQUIRE(timed.event().makespan.time == 1400 + 7);
  StatedDemands received = of_axis(program::Axis::pipeline, 0.75, 2, true);
  const predict::EventResult result = timed.event_with(received);
  CHECK(result.makespan.time == 1500 + 7);
  // Used by stage 1 forward and by stage 0 backward, 150 each.
  REQUIRE(result.uses.size() == 2);
  for (const predict::UnitUse& use : result.uses) CHECK(use.mean == Approx(150.0 / 1507));
}

TEST_CASE("A slow rank's transfers are shared with those of the others they meet") {
  // tp 2, rank 1 at half speed until 150: the all-reduce waits until 275 (see straggler.cpp). Both ranks have a message
  // unit between them of which the all-reduce takes 0.75 per rank: 1.5 times 10 forward and backward, of which the
  // backward one runs beside a kernel of 100.
  const ir::Model model = two_products();
  plan::Strategy s;
  s.stage_layers = {1};
  s.tensor = 2;
  Timed timed(model, s, {.kernels = kernels_of_100(7), .transfers = {{program::Axis::tensor, 10}}});
  StatedDemands demands = of_axis(program::Axis::tensor, 0.75, 2);
  const predict::SlowRank slow{.rank = 1, .speed = 0.5, .until = 150};
  const predict::EventResult result = timed.event_with(demands, {slow});
  CHECK(result.actors == 2);
  CHECK(result.makespan.time == 617 + 75 + 5);
}
