#include "check.h"

#include <string>

#include "cairn/core/diagnostics.h"

namespace cairn::swarm {
namespace {

constexpr core::Picoseconds k_latest = core::Picoseconds{1} << 50;
constexpr std::int64_t k_most_requests = std::int64_t{1} << 21;

void require(bool holds, const char* key, const std::string& message, const std::string& remedy) {
  if (!holds) throw core::ConfigurationError(std::string("swarm.") + key, message, remedy);
}

void require_time(core::Picoseconds time, core::Picoseconds least, const char* key) {
  require(time >= least && time<k_latest, key, least> 0 ? "the time must be more than 0 and not out of all measure"
                                                        : "the time is negative or too long",
          "give a time of the size of those of the operations");
}

void check_peers(const Problem& problem) {
  constexpr std::int64_t k_most_ratio = 1'000'000;
  require_peers(std::ssize(problem.peers));
  std::vector<std::int32_t> serving(problem.stages, 0);
  for (const Peer& peer : problem.peers) {
    const Speed& speed = peer.speed;
    require(speed.numerator > 0 && speed.denominator > 0 && speed.numerator <= k_most_ratio * speed.denominator &&
                speed.denominator <= k_most_ratio * speed.numerator,
            "peers", "a peer's speed must be more than 0 and within a million of 1", "give a speed such as 0.5");
    require_time(peer.joins, 0, "join");
    if (peer.joins > 0) continue;
    require(peer.stage >= 0 && peer.stage < problem.stages, "peers",
            "a peer serves stage " + std::to_string(peer.stage) + " of " + std::to_string(problem.stages),
            "stages are counted from 0");
    ++serving[peer.stage];
  }
  for (std::int32_t stage = 0; stage < problem.stages; ++stage)
    require(serving[stage] > 0, "peers", "no peer serves stage " + std::to_string(stage) + " at the start",
            "give every stage at least one");
}

}  // namespace

void require_peers(std::int64_t count) {
  require(count <= k_most_peers, "peers",
          std::to_string(count) + " peers are more than the " + std::to_string(k_most_peers) + " that can be run",
          "fewer stages, or fewer peers at each");
}

void check(const Problem& problem) {
  require(problem.stages >= 1, "stages", "there are no stages", "set stages to 1 or more");
  require(problem.micro_batches >= 1, "micro_batches", "there are no micro-batches", "set micro_batches to 1 or more");
  require(std::int64_t{2} * problem.stages * problem.micro_batches <= k_most_requests, "micro_batches",
          "stages x micro-batches is too large to be run request by request", "use fewer micro-batches");
  check_peers(problem);
  require_time(problem.forward, 0, "forward");
  require_time(problem.backward, 0, "backward");
  require(problem.forward + problem.backward > 0, "forward", "neither forwards nor backwards take time",
          "give one of them a time");
  require_time(problem.delay, 0, "p2p");
  require_time(problem.migration, 0, "migration");
  require(problem.in_flight >= 0, "in_flight", "fewer than one micro-batch may be under way",
          "set in_flight to 1 or more");
  require(problem.smoothing > 0.0 && problem.smoothing <= 1.0, "smoothing",
          "the weight of a measurement lies in (0, 1]", "leave it out");
  if (problem.mean_life) require_time(*problem.mean_life, 1, "mtbf");
  if (problem.repair) require_time(*problem.repair, 0, "repair");
  if (problem.rebalance) require_time(*problem.rebalance, 1, "rebalance");
  for (const Failure& failure : problem.failures) {
    require(failure.peer >= 0 && failure.peer < std::ssize(problem.peers), "fail",
            "there is no peer " + std::to_string(failure.peer) + " to fail",
            "peers are counted from 0 to " + std::to_string(problem.peers.size() - 1) + ", those that join last");
    require_time(failure.time, 0, "fail");
  }
}

}  // namespace cairn::swarm
