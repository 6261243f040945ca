// Messages of the LogGOPS model as flows: one message takes o + L + o + (s-1) G, a sender's overhead o, the wire's L and
// its time per byte G, a receiver's overhead o. Every rank sends over a link of its own.
// Source: Hoefler, Schneider, Lumsdaine, "LogGOPSim", HPDC 2010 (O = 0, S huge, g no longer than a message).
// Times in nanoseconds, as its tool has them; the kernel's picoseconds carry them exactly.
#include <cstdint>
#include <vector>

#include "cairn/sim/flows.h"
#include "catch.h"

using namespace cairn;

namespace {

constexpr core::Picoseconds k_nanosecond = 1000;

struct Parameters {
  std::int64_t latency, overhead, gap_per_byte;  // L, o, G [ns]
};

// Step after step, every rank sends to the one `distance` further, after it has received in the step before.
std::int64_t shifts(std::uint32_t ranks, const std::vector<std::uint32_t>& distances, std::int64_t bytes,
                    const Parameters& p) {
  sim::FlowProblem problem;
  problem.links.assign(ranks, {.capacity = 1e9 / static_cast<double>(p.gap_per_byte),
                               .latency = (p.latency + 2 * p.overhead) * k_nanosecond});
  for (sim::LinkId rank = 0; rank < ranks; ++rank) problem.routes.add({&rank, 1});
  problem.after_begin.push_back(0);
  for (std::uint32_t step = 0; step < distances.size(); ++step)
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      problem.flows.push_back({.route = rank, .bytes = static_cast<double>(bytes - 1)});
      if (step > 0) problem.after.push_back((step - 1) * ranks + (rank + ranks - distances[step - 1]) % ranks);
      problem.after_begin.push_back(static_cast<std::uint32_t>(problem.after.size()));
    }
  const core::Picoseconds makespan = sim::run_flows(problem).makespan;
  CHECK(makespan % k_nanosecond == 0);
  return makespan / k_nanosecond;
}

std::int64_t ring(std::uint32_t ranks, std::int64_t chunk, const Parameters& p) {
  return shifts(ranks, std::vector<std::uint32_t>(2 * (ranks - 1), 1), chunk, p);
}

std::int64_t dissemination(std::uint32_t ranks, std::int64_t bytes, const Parameters& p) {
  std::vector<std::uint32_t> distances;
  for (std::uint32_t distance = 1; distance < ranks; distance *= 2) distances.push_back(distance);
  return shifts(ranks, distances, bytes, p);
}

}  // namespace

TEST_CASE("LogGOPS: rings take 2 (P-1) (L + 2o + (s-1) G)") {
  // 2 x 63 x (1000 + 999,999) = 126,125,874; with o = 200: 510 x (1000 + 400 + 999,999) = 510,713,490.
  CHECK(ring(64, 1'000'000, {.latency = 1000, .overhead = 0, .gap_per_byte = 1}) == 126'125'874);
  CHECK(ring(256, 1'000'000, {.latency = 1000, .overhead = 0, .gap_per_byte = 1}) == 510'509'490);
  CHECK(ring(256, 1'000'000, {.latency = 1000, .overhead = 200, .gap_per_byte = 1}) == 510'713'490);
}

TEST_CASE("LogGOPS: dissemination takes ceil(log2 P) (L + 2o + (s-1) G)") {
  const Parameters p{.latency = 1000, .overhead = 200, .gap_per_byte = 1};
  // A message of 1024 bytes takes 1000 + 400 + 1023 = 2423: 6 of them 14,538, 10: 24,230, 16: 38,768.
  CHECK(dissemination(64, 1024, p) == 14'538);
  CHECK(dissemination(1024, 1024, p) == 24'230);
  CHECK(dissemination(65536, 1024, p) == 38'768);
}

TEST_CASE("LogGOPS: a large ring, message by message") {
  // 1022 steps of 512 ranks, of 1000 + 999,999 ns.
  CHECK(ring(512, 1'000'000, {.latency = 1000, .overhead = 0, .gap_per_byte = 1}) == 1'023'020'978);
}
