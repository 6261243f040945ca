// A swarm asked for as a program on the library does: times as exact fractions, step times by hand.
#include "cairn/swarm/answer.h"

#include "catch.h"
#include "support/complaints.h"

using namespace cairn;
using pipeline::Fraction;
using swarm::Request;
using swarm::Speed;
using test::complaints;
using test::contains;

namespace {

Fraction makespan(const Request& request) {
  const swarm::Answer answer = swarm::answer(request);
  return answer.in_units(answer.outcome.makespan);
}

}  // namespace

TEST_CASE("swarm: a step of equal peers and of unequal ones") {
  // One peer of speed 1 per stage: (m + p - 1)(F + B + W).
  for (const int stages : {1, 2, 5}) {
    const std::vector<std::vector<Speed>> peers(static_cast<std::size_t>(stages), {Speed{}});
    CHECK(makespan({.peers = peers, .micro_batches = 6}) == Fraction{3 * (6 + stages - 1)});
  }
  // The second stage's has half the speed and works on end from 1 on, 6 for each of m; the last gradient takes 2 more.
  CHECK(makespan({.peers = {{{}}, {{.numerator = 1, .denominator = 2}}}, .micro_batches = 8}) ==
        Fraction{1 + 6 * 8 + 2});
}

TEST_CASE("swarm: thirds, sevenths and fifths at two thirds of the speed are nothing rounded") {
  // (1/3 + 1/7 + 1/5) / (2/3) = 71/70 each.
  Request request{.peers = {{{.numerator = 2, .denominator = 3}}}, .micro_batches = 6};
  request.times = {.forward = {1, 3}, .input_gradient = {1, 7}, .weight_gradient = {1, 5}};
  CHECK(makespan(request) == Fraction{213, 35});
}

TEST_CASE("swarm: peers fail and join at the times that were given") {
  // Gradients go first: the only peer does the first micro-batch until 3 and fails at 7/2, within the second forward. The
  // next comes at 10 and takes 3 for all of the second micro-batch.
  Request request{.peers = {{{}}},
                  .micro_batches = 2,
                  .joins = {{.speed = {}, .time = {10, 1}}},
                  .failures = {{.peer = 0, .time = {7, 2}}}};
  const swarm::Answer answer = swarm::answer(request);
  CHECK(answer.outcome.failures == 1);
  CHECK(answer.in_units(answer.outcome.lost[0]) == Fraction{1, 2});
  CHECK(answer.in_units(answer.outcome.makespan) == Fraction{13});
  request.unit = core::k_microsecond;
  CHECK(swarm::answer(request).unit == core::k_microsecond);
  request.failures[0].peer = 9;
  CHECK(contains(complaints([&] { swarm::answer(request); }), "swarm.fail: there is no peer 9"));
}

TEST_CASE("swarm: times that have no common measure are refused") {
  // Ticks of 1/(1000 * 999999937) and a speed of 123456789/10000: the product has more than 63 bits.
  Request request{.peers = {{{.numerator = 123'456'789, .denominator = 10'000}, {}}}, .micro_batches = 2};
  request.times = {.forward = {1, 1000}, .input_gradient = {1, 999'999'937}};
  CHECK(contains(complaints([&] { swarm::answer(request); }), "times: a time is too long to be counted"));
  request.peers = {{{}}};
  request.times.weight_gradient = {1, 999'999'929};
  CHECK(contains(complaints([&] { swarm::answer(request); }), "no common measure"));
}
