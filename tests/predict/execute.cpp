// The meaning of a block, on blocks written by hand.
#include "catch.h"
#include "predict/hand_made.h"

using namespace cairn;
using namespace cairn::testing;
using plan::Stream;

TEST_CASE("Streams are first in, first out; dependencies and the host order the rest") {
  // compute:  a [10..30)            c [37..47): waits for the transfer
  // tensor:              t [30..37)
  // compute:             b [30..35) beside the transfer
  HandMade hand;
  const auto a = hand.compute(20);
  const auto t = hand.transfer(Stream::tensor, plan::Axis::tensor, 7, {a});
  const auto b = hand.compute(5);
  const auto c = hand.compute(10, {t});
  std::array<core::Picoseconds, plan::k_streams> frontier{};
  frontier[0] = 10;
  const auto spans = hand.run(frontier, 0);
  REQUIRE(spans[a] == std::pair<core::Picoseconds, core::Picoseconds>{10, 30});
  REQUIRE(spans[t] == std::pair<core::Picoseconds, core::Picoseconds>{30, 37});
  REQUIRE(spans[b] == std::pair<core::Picoseconds, core::Picoseconds>{30, 35});
  REQUIRE(spans[c] == std::pair<core::Picoseconds, core::Picoseconds>{37, 47});
  REQUIRE(frontier[static_cast<std::size_t>(Stream::compute)] == 47);
  REQUIRE(frontier[static_cast<std::size_t>(Stream::tensor)] == 37);
}

TEST_CASE("The host issues kernels one after the other") {
  // 4 per kernel: issued at 4, 8, 12 (and the transfer at 16); kernels of 1 wait for it.
  HandMade hand;
  const auto a = hand.compute(1);
  const auto b = hand.compute(9);
  const auto c = hand.compute(1);
  const auto t = hand.transfer(Stream::tensor, plan::Axis::tensor, 2, {b});
  std::array<core::Picoseconds, plan::k_streams> frontier{};
  const auto spans = hand.run(frontier, 4);
  REQUIRE(spans[a] == std::pair<core::Picoseconds, core::Picoseconds>{4, 5});
  REQUIRE(spans[b] == std::pair<core::Picoseconds, core::Picoseconds>{8, 17});
  REQUIRE(spans[c] == std::pair<core::Picoseconds, core::Picoseconds>{17, 18});
  REQUIRE(spans[t] == std::pair<core::Picoseconds, core::Picoseconds>{17, 19});
  REQUIRE(frontier[static_cast<std::size_t>(Stream::host)] == 16);
}

TEST_CASE("A dependency on an entry frontier sees the stream as it was on entry") {
  HandMade hand;
  const auto early = hand.transfer(Stream::data, plan::Axis::data, 100, {});
  const auto a = hand.compute(5, {plan::entry_of(Stream::data)});  // not the transfer above
  const auto b = hand.compute(5, {early});
  std::array<core::Picoseconds, plan::k_streams> frontier{};
  frontier[static_cast<std::size_t>(Stream::data)] = 30;
  const auto spans = hand.run(frontier, 0);
  REQUIRE(spans[early].second == 130);
  REQUIRE(spans[a].first == 30);
  REQUIRE(spans[b].first == 130);
}

TEST_CASE("Symbolic execution is numeric execution for every entry") {
  core::Random random(5);
  for (int trial = 0; trial < 300; ++trial) {
    const HandMade hand = HandMade::random(random);
    const auto host = static_cast<core::Picoseconds>(random.below(20));
    predict::Matrix matrix = predict::Matrix::identity();
    std::vector<predict::Form> forms;
    predict::execute(hand.block(), hand.prices(), host, matrix.row, forms, [](std::size_t, const auto&, const auto&) {});
    for (int entry = 0; entry < 5; ++entry) {
      predict::Frontiers x;
      for (core::Picoseconds& time : x) time = static_cast<core::Picoseconds>(random.below(500));
      predict::Frontiers y = x;
      (void)hand.run(y, host);
      REQUIRE(matrix(x) == y);
    }
  }
}
