// Which plan of a space is best: exact, by branch and bound.
//
// The axes that decide what layers take come first, then those that decide the pipeline, then the rest (Level). Plans
// that have the first in common are a box with a bound that none of them is below: what its layers must compute, shared
// evenly by the devices (work_bound of window_bound.h; before that it is 0). A box falls into those whose plans have
// the pipeline in common, with bounds of their own, never below that of the box (window_bound of window_bound.h). The
// box of the least bound is taken next, to be divided or to have its plans evaluated, and none any more once that bound
// is not below the last of the best that are asked for: the rest is pruned, each box with its bound. What is evaluated
// first has its memory compared; its time is that of `cairn run --engine analytic` bit for bit (experiment/trials.h).
// Boxes are taken some at a time, and what was found is looked at in their order, so that any number of threads gives
// the same answer.
//
// On one cluster tokens, cost and energy follow from the step time (hardware/running_costs.h), so every objective has
// the plan of the shortest step. Those that ask for a size of the experiment have it at that size (sweep/extent.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/experiment/parts.h"
#include "cairn/experiment/settings.h"
#include "cairn/hardware/files.h"
#include "cairn/search/certificate.h"
#include "cairn/search/space.h"

namespace cairn::search {

class Journal;  // journal.h
class Wire;     // crew.h

struct Request {
  const experiment::Settings& settings;  // but for the strategy: the space has it
  const experiment::Parts& parts;
  const Space& space;
  const Subject& subject;
  std::size_t top = 5;              // kinds of plans to show, 1 or more
  bool exhaustive = false;          // evaluates every plan, whatever its bound
  bool contention = true;           // the best under contention, too
  std::size_t threads = 1;          // boxes worked on at once; the answer is the same for any number
  Journal* journal = nullptr;       // where boxes that it has are taken from, and all others are added to
  Wire* wire = nullptr;             // to other processes, which share the work
  std::string of = {};              // all that the answer depends on: the same in all processes
  std::function<bool()> stop = {};  // asked often: whether to end with what was found so far
  std::function<void(std::size_t done, std::size_t of)> progress = {};
};

struct Plan {
  std::uint64_t point = 0;
  experiment::StrategyChoice strategy = {};
  std::vector<std::pair<std::string, std::string>> settings = {};  // strategy's keys and values, dp among them
  core::Picoseconds time = 0;
  double memory_bytes = 0.0;  // of the fullest device
  // The same step by the event engine where transfers that overlap share links; none where it has more work than can be
  // simulated (predict::k_most_sharing).
  std::optional<core::Picoseconds> contended = {};
};

// Plans that cannot be, for one reason.
struct Refusal {
  CellKind kind = CellKind::illegal;
  std::string reason;  // a key, a condition, or `memory`
  std::uint64_t count = 0;
  std::string nearest = {};  // what the plan that came nearest lacks, or one of them says
  std::vector<std::pair<std::string, std::string>> settings = {};  // that plan
  double lacking_bytes = 0.0;                                      // memory alone
};

struct Answer {
  std::vector<Plan> top = {};     // of each kind the best, the fastest kind first; empty: nothing fits
  std::vector<Plan> pareto = {};  // of the evaluated plans those that none beats in time and memory, the fastest first
  std::uint64_t points = 0;
  std::uint64_t evaluated = 0;                       // plans whose memory and time were computed
  std::uint64_t collapsed = 0;                       // points that are the same plan as another
  std::array<std::uint64_t, k_cell_kinds> counts{};  // points by the kind of their cell
  std::vector<Refusal> refusals = {};                // the most frequent first
  std::vector<Cell> certificate = {};                // sorted, neighbours merged
  Verdict verdict = {};                              // of check() over the certificate
  bool complete = true;                              // false: stopped
};

Answer search(const Request& request);

// Sequences of a step. A number of tokens that makes no whole number of them gives the nearest: it is refused with the
// first plan.
std::int64_t sequences_of(const experiment::Training& training);

// The objective that is asked for: by its word, else by the space, else the step time. Throws core::ConfigurationError
// for cost on a machine without a price.
Objective objective_of(std::string_view word, const std::optional<Objective>& of_space,
                       const hardware::Machine& machine);

// What a search over this experiment's plans is about.
Subject subject_of(const experiment::Parts& parts, const experiment::Training& training);

}  // namespace cairn::search
