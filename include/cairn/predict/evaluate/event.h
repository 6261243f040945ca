// Event evaluation: the same Program executed rank by rank in simulated time.
//
// Ranks that cannot differ are simulated as one. Along each mesh axis the coordinates are folded into classes: one
// class for all that nothing distinguishes, one for every coordinate of a rank with a fault of its own; with jitter
// every coordinate is its own class. An actor is one (stage, tensor class, data class); a collective along an axis
// joins the actors that differ in that axis's class only, starts when the last of them is ready, and ends for all
// together.
//
// Every stream of an actor has a clock of its own and runs ahead until it needs a time that is not known yet: a message
// that another stage has not sent, a collective for which another actor is not ready. Only these events pass between
// actors; all other ends of work are known when the work starts.
//
// This holds while each piece of work takes its price exactly. Under EventOptions::demands overlapping work shares
// links, memory and multiprocessors (predict/price/demands.h: contention, interference); all actors run in the order of
// time.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cairn/predict/evaluate/analytic.h"
#include "cairn/predict/evaluate/timeline.h"
#include "cairn/predict/evaluate/usage.h"
#include "cairn/predict/price/demands.h"
#include "cairn/predict/price/price.h"

namespace cairn::predict {

// A rank whose computation runs at `speed` (1: as priced) during [from, until).
struct SlowRank {
  std::int64_t rank = 0;
  double speed = 1.0;
  core::Picoseconds from = 0;
  core::Picoseconds until = std::numeric_limits<core::Picoseconds>::max();
};

struct EventOptions {
  std::vector<SlowRank> slow_ranks;
  // Every computation's duration is multiplied by exp(sigma z - sigma^2/2), z standard normal: mean 1.
  double jitter_sigma = 0.0;
  std::uint64_t seed = 1;
  bool all_timelines = false;  // of one actor per stage, for traces
  bool passes = false;         // PassTimes of one actor per stage, and the timeline of the one that waits least
  Demands* demands = nullptr;  // null: nothing is shared, all work takes its price
  // Called many times a second with the progress of the simulation; may be empty.
  std::function<void(std::size_t done, std::size_t of)> progress = {};

  // Whether some work may take longer than its price.
  bool disturbed() const { return !slow_ranks.empty() || jitter_sigma > 0.0 || demands != nullptr; }
};

struct EventResult {
  Makespan makespan;
  std::int64_t events = 0;  // ends of work that took time: kernels, launches, transfers, copies
  std::int64_t actors = 0;
  StageTimeline last;                    // of the actor that ends last
  PassTimes passes;                      // with `passes`: of the first actor of each stage,
  StageTimeline limiting;                // and of limiting_stage()'s
  std::vector<StageTimeline> timelines;  // with all_timelines: by stage, the first actor of each
  std::vector<SharedUnit> units;         // with demands: what was shared,
  std::vector<UnitUse> uses;             // and by stage and unit how much of it, where it was used
};

// Most pieces of work of all actors, launches among them: some 50 ns each where all work takes its price, 0.7 us each
// where work shares links.
inline constexpr std::int64_t k_most_simulated = std::int64_t{1} << 26;
inline constexpr std::int64_t k_most_sharing = std::int64_t{1} << 21;

// Throws core::ConfigurationError for a rank outside the mesh, a speed that is not positive, or more actors or more
// pieces of work than can be simulated.
EventResult simulate(const program::Program& program, PriceTable& prices, const EventOptions& options = {});

}  // namespace cairn::predict
