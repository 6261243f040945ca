// SWARM parallelism: pipeline stages served by interchangeable, unequal, unreliable peers. No order list exists
// beforehand: which peer of the next stage runs a micro-batch is decided when the one before has ended.
//
// Wiring. Every stage keeps a priority per peer; a micro-batch goes to the peer whose priority is smallest, which then
// grows by the time that the peer is expected to take (interleaved weighted round robin: peers twice as fast are chosen
// twice as often):
//
//   priority(i) += estimate(i) * work                     [ticks], ties drawn at random
//   estimate(i)  = (1 - a) estimate(i) + a measured(i)    of the time over that of a peer of speed 1; the first
//                                                         measurement as it is, 1 before it
//   A peer that comes to a stage starts at the stage's smallest priority, so that it is measured at once.
//
// Peers run one request at a time, gradients before forwards, lower micro-batches first. A gradient may run on another
// peer than its forward did: what a stage was given is sent again with it. A message between two peers takes `delay`.
//
// Failures. What waits for a peer, runs on it or is on its way to it when it fails is lost and sent again to another
// peer of the stage, or as soon as there is one.
//
// Rebalancing, every `period`: the load of a stage is the number of requests that its peers hold. Of the stage with the
// smallest load the peer with the fewest requests goes to the stage with the largest, where it serves after `migration`
// (the stage's parameters come from its new neighbours); it ends what it runs, and what waits for it is sent again. The
// last peer of a stage stays, and a stage without a peer counts as loaded most. Peers that join or come back after a
// failure go where the load is largest too.
//
// Source: Ryabinin, Dettmers, Diskin, Borzunov, "SWARM Parallelism: Training Large Models Can Be Surprisingly
// Communication-Efficient", ICML 2023 (arXiv 2301.11913), sections 3.2 and 3.3 and the algorithms of its appendix.
// Simplified: all trainers share one view of the priorities; the all-reduce between peers of a stage at the end of a
// step is not part of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/core/time.h"

namespace cairn::swarm {

inline constexpr std::string_view k_kind = "swarm";
inline constexpr std::string_view k_summary =
    "stages of unequal, unreliable peers, wired and rebalanced while the pipeline runs";
inline constexpr std::string_view k_source = "Ryabinin et al., ICML 2023";

// What the kind takes beside stages and micro-batches.
inline std::vector<std::string> option_names() {
  return {"peers", "fail", "join", "mtbf", "repair", "rebalance", "migration", "in-flight", "seed"};
}

inline constexpr std::int64_t k_most_peers = 1'000'000;

// A micro-batch takes a peer of speed s 1/s of the time that it takes one of speed 1.
struct Speed {
  std::int64_t numerator = 1;  // > 0
  std::int64_t denominator = 1;
};

struct Peer {
  std::int32_t stage = 0;  // that it serves from the start; ignored where it joins later
  Speed speed = {};
  core::Picoseconds joins = 0;  // > 0: comes at that time to the stage that needs it most
};

struct Failure {
  std::int32_t peer = 0;
  core::Picoseconds time = 0;
};

// Times in any integer unit, below 2^50.
struct Problem {
  std::int32_t stages = 1;
  std::int32_t micro_batches = 1;
  core::Picoseconds forward = 1;   // of a micro-batch on a stage, by a peer of speed 1
  core::Picoseconds backward = 2;  // with what is recomputed, where anything is
  core::Picoseconds delay = 0;
  std::vector<Peer> peers = {};
  std::int32_t in_flight = 0;          // most micro-batches under way at once; 0: two per peer of the start
  std::vector<Failure> failures = {};  // that are known beforehand
  std::optional<core::Picoseconds> mean_life =
      std::nullopt;  // of a peer between failures, exponentially distributed; none: for ever
  std::optional<core::Picoseconds> repair = std::nullopt;  // from a failure until the peer is back; none: it stays away
  std::optional<core::Picoseconds> rebalance = std::nullopt;  // period; none: peers stay where they are
  core::Picoseconds migration = 0;                            // until a peer serves the stage that it goes to
  double smoothing = 0.1;                                     // a, in (0, 1]
  std::uint64_t seed = 1;
};

struct Run {
  std::int32_t peer = 0;
  std::int32_t stage = 0;
  std::int32_t micro_batch = 0;
  bool backward = false;
  bool lost = false;  // cut short: its peer failed
  core::Picoseconds start = 0;
  core::Picoseconds end = 0;
};

struct Move {
  std::int32_t peer = 0;
  std::int32_t from = 0;
  std::int32_t to = 0;
  core::Picoseconds time = 0;  // of the decision
};

struct Outcome {
  std::vector<Run> runs;  // in the order in which they began; at one instant by peer
  std::vector<Move> moves;
  core::Picoseconds makespan = 0;
  std::vector<core::Picoseconds> busy;  // per peer, without what was lost
  std::vector<core::Picoseconds> lost;  // per peer: time spent on what had to run again
  std::vector<std::int32_t> most_held;  // per peer: most requests that waited or ran at once
  std::int32_t failures = 0;
  std::int64_t resent = 0;    // requests
  std::int64_t messages = 0;  // between peers
};

// Throws core::ConfigurationError for more peers than k_most_peers, before anyone lists them.
void require_peers(std::int64_t count);

// One step: every micro-batch up and down all stages once. The same problem has the same outcome, to the bit. Throws
// core::ConfigurationError: stages without a peer, sizes and times out of range, a peer that does not exist, a stage
// that is left without peers for ever, peers that fail faster than they work.
Outcome run(const Problem& problem);

}  // namespace cairn::swarm
