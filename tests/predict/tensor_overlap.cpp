// Products and tensor-parallel transfers beside each other: each kind reaches the larger of the two and a stated tail,
// by hand.
//
// Layers of two products, b = 1, 8 tokens, tp 2: fc1 takes 8 c, fc2 as much (c for each token), an all-reduce 8 m.
#include "cairn/plan/lowering.h"
#include "cairn/predict/evaluate/analytic.h"
#include "cairn/predict/evaluate/event.h"
#include "catch.h"
#include "support/prices.h"
#include "support/two_products.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

constexpr double k_stream_bytes = 8 * 8 * 2;

// Forward products cost c for each token, backward nothing; a transfer of the stream 8 m, of a part of it its share.
StatedPricer priced(core::Picoseconds c, core::Picoseconds m) {
  StatedPricer pricer;
  pricer.of_shard = [c](const ir::Shard& shard) {
    const int tokens = shard.op->domain.find("sequence");
    return shard.op->phase == ir::Phase::forward && tokens >= 0
               ? c * shard.box[static_cast<std::size_t>(tokens)].extent()
               : 0;
  };
  pricer.of_transfer = [m](const program::Transfer& transfer) {
    return static_cast<core::Picoseconds>(transfer.bytes / k_stream_bytes * 8.0 * static_cast<double>(m));
  };
  return pricer;
}

plan::Strategy strategy(plan::TensorPieces::Kind kind, std::int64_t count, std::int64_t layers = 1) {
  plan::Strategy s;
  s.tensor = 2;
  s.stage_layers = {layers};
  s.tensor_pieces = {.kind = kind, .count = count};
  return s;
}

core::Picoseconds forward_alone(const plan::Strategy& s, StatedPricer pricer) {
  const ir::Model model = two_products();
  plan::Lowering lowering(model, 8, {});
  predict::PriceTable prices(pricer);
  predict::Analytic analytic(prices);
  return analytic.alone(lowering.forward_block(s, 0));
}

// Both evaluators, which must agree.
core::Picoseconds makespan(const plan::Strategy& s, StatedPricer pricer) {
  const ir::Model model = two_products({.layers = s.stage_layers.front()});
  plan::Lowering lowering(model, 8, {});
  predict::PriceTable prices(pricer);
  predict::Analytic analytic(prices);
  const program::Program& program = lowering.lower(s);
  const core::Picoseconds time = analytic.makespan(program).time;
  REQUIRE(predict::simulate(program, prices).makespan.time == time);
  return time;
}

}  // namespace

TEST_CASE("In pieces: the larger of product and transfer, and one piece of the smaller") {
  using Kind = plan::TensorPieces::Kind;
  // One after the other: fc1, fc2, all-reduce.
  REQUIRE(forward_alone(strategy(Kind::none, 1), priced(100, 50)) == 800 + 800 + 400);
  // Transfers hidden but for the last piece: 800 + 800 + 400 / 4.
  REQUIRE(forward_alone(strategy(Kind::chunked, 4), priced(100, 50)) == 1700);
  REQUIRE(forward_alone(strategy(Kind::chunked, 2), priced(100, 50)) == 1800);
  // Products hidden but for the first piece: 800 + 800 / 4 + 1600.
  REQUIRE(forward_alone(strategy(Kind::chunked, 4), priced(100, 200)) == 2600);
  // With sequence parallelism the gather is in pieces, too: the first piece, then max per piece, then the last scatter.
  plan::Strategy s = strategy(Kind::chunked, 4);
  s.sequence_parallel = true;
  REQUIRE(forward_alone(s, priced(100, 50)) == 100 + 800 + 800 + 100);
}

TEST_CASE(
    "Results reduced as the kernel makes them: max(product, reduce-scatter) and one rank's share of the smaller") {
  using Kind = plan::TensorPieces::Kind;
  plan::Strategy s = strategy(Kind::triggered, 1);
  s.sequence_parallel = true;
  // Gather 400, fc1 800, then max(800, 400) + 400 / 2.
  REQUIRE(forward_alone(s, priced(100, 50)) == 400 + 800 + 800 + 200);
  // Gather 1600, fc1 800, then max(800, 1600) + 800 / 2.
  REQUIRE(forward_alone(s, priced(100, 200)) == 1600 + 800 + 1600 + 400);
  // Wanted whole: the reduction is hidden, the gather after it is not.
  s.sequence_parallel = false;
  REQUIRE(forward_alone(s, priced(100, 50)) == 800 + 800 + 200 + 400);
}

TEST_CASE("Two halves take turns: L max(compute, transfer) and half of the smaller") {
  using Kind = plan::TensorPieces::Kind;
  const std::int64_t layers = 3;
  // Backward is transfers alone here, L of them one after the other.
  for (const core::Picoseconds m : {50, 100, 200, 400}) {
    const core::Picoseconds compute = 1600, transfer = 8 * m;
    const core::Picoseconds forward = layers * std::max(compute, transfer) + std::min(compute, transfer) / 2;
    INFO("transfer " << transfer);
    REQUIRE(makespan(strategy(Kind::halves, 1, layers), priced(100, m)) == forward + layers * transfer);
    REQUIRE(makespan(strategy(Kind::none, 1, layers), priced(100, m)) ==
            layers * (compute + transfer) + layers * transfer);
  }
}
