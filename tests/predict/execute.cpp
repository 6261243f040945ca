// The meaning of a block, on blocks written by hand.
#include "catch.h"
#include "predict/hand_made.h"

using namespace cairn;
using namespace cairn::testing;
using program::Stream;

TEST_CASE("Streams are first in, first out; dependencies order the rest") {
  // compute:  a 0-20, b 20-25 beside the transfer, c 27-37 after it
  // tensor:   t 20-27
  HandMadeBlock hand;
  const auto a = hand.compute(20);
  const auto t = hand.transfer(Stream::tensor, 7, {a});
  hand.compute(5);
  hand.compute(10, {t});
  HandMadeProgram program({{&hand.block(), 1}}, 0);
  REQUIRE(on(program.timeline(), Stream::compute) == Times{{0, 20}, {20, 25}, {27, 37}});
  REQUIRE(on(program.timeline(), Stream::tensor) == Times{{20, 27}});
  REQUIRE(on(program.event().last, Stream::compute) == Times{{0, 20}, {20, 25}, {27, 37}});
  REQUIRE(program.analytic() == 37);
}

TEST_CASE("The host issues kernels one after the other") {
  // 4 to issue each, at 4, 8, 12, 16: short kernels wait for it, long ones let it run ahead.
  HandMadeBlock hand;
  hand.compute(1);
  const auto b = hand.compute(9);
  hand.compute(1);
  hand.transfer(Stream::tensor, 2, {b});
  HandMadeProgram program({{&hand.block(), 1}}, 4);
  REQUIRE(on(program.timeline(), Stream::compute) == Times{{4, 5}, {8, 17}, {17, 18}});
  REQUIRE(on(program.timeline(), Stream::tensor) == Times{{17, 19}});
  REQUIRE(on(program.timeline(), Stream::host) == Times{{0, 4}, {4, 8}, {8, 12}, {12, 16}});
  REQUIRE(program.analytic() == 19);
}

TEST_CASE("A dependency on an entry frontier sees the stream as it was when the block was entered") {
  // First block: a transfer until 30. Second: one more until 130; the first kernel waits for the former only.
  HandMadeBlock before;
  before.transfer(Stream::data, 30, {});
  HandMadeBlock block;
  const auto later = block.transfer(Stream::data, 100, {});
  block.compute(5, {program::entry_of(Stream::data)});
  block.compute(5, {later});
  HandMadeProgram program({{&before.block(), 1}, {&block.block(), 1}}, 0);
  REQUIRE(on(program.timeline(), Stream::data) == Times{{0, 30}, {30, 130}});
  REQUIRE(on(program.timeline(), Stream::compute) == Times{{30, 35}, {130, 135}});
  REQUIRE(on(program.event().last, Stream::compute) == Times{{30, 35}, {130, 135}});
}

TEST_CASE("Sends that queue across equal layers: 126 of them") {
  // Compute for 3, then send for 5 beside the next layer: 3 + 126 x 5. At 2 the sends hide, all but the last: 126 x 3
  // + 2.
  for (const auto& [send, expected] : {std::pair{5, 3 + 126 * 5}, std::pair{2, 126 * 3 + 2}}) {
    HandMadeBlock layer;
    const auto computed = layer.compute(3);
    layer.transfer(Stream::data, send, {computed});
    HandMadeProgram program({{&layer.block(), 126}}, 0);
    REQUIRE(program.analytic() == expected);
    REQUIRE(program.event().makespan.time == expected);
  }
}

TEST_CASE("Random blocks in random repetition: the power of a matrix is step-by-step execution") {
  core::Random random(5);
  for (int trial = 0; trial < 500; ++trial) {
    const HandMadeBlock a = HandMadeBlock::random(random);
    const HandMadeBlock b = HandMadeBlock::random(random);
    const auto times = [&] { return static_cast<std::int64_t>(1 + random.below(random.below(2) == 0 ? 4 : 126)); };
    HandMadeProgram program({{&a.block(), times()}, {&b.block(), times()}, {&a.block(), times()}},
                            static_cast<core::Picoseconds>(random.below(40)));
    const core::Picoseconds expected = program.timeline().end;  // executed number by number
    REQUIRE(program.analytic() == expected);
    REQUIRE(program.event().makespan.time == expected);
  }
}
