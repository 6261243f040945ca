// A batch of sequences of mixed lengths on one pool of equal ranks: which ranks compute which sequences.
//
// Two ways, which differ in what decides how many ranks a sequence gets:
//   groups  The ranks are cut into groups of degrees d, once for the batch; a group computes its sequences one after
//           another, heads shared by all-to-all. Least is the time of the longest group. (FlexSP)
//   waves   A sequence of s tokens takes ceil(s / C) ranks, in a ring; sequences that share a group fit its C tokens per
//           rank together, so that only short ones do, on one rank each. Groups that fit the pool together are a wave.
//           Least is the sum over waves of the time of the longest group. (ByteScale)
//
// Times, d ranks of a group, s tokens of a sequence:
//   t(s, d) = (a s^2 + b s) / d + e s / (d v(d))                              in a group; no exchange for d = 1
//   t(s, d) = b s / d + T + (d - 1) max(T, w s / (d v)),  T = a s^2 / d^2      in a ring
//   group   = fixed + sum of t over its sequences
// each t rounded once to picoseconds; everything after that is exact.
// Memory of a rank of a group: state + activation x tokens / d <= capacity.
//
// Example: lengths 8, 1, 1 with a = 0, b = 1 s, no exchange, 4 ranks of 4 tokens each. Groups of 2, 1, 1 ranks take
// max(8 / 2, 1, 1) = 4 s; one group of 4 takes 10 / 4 = 2.5 s, which is least since no rank is ever idle.
//
// Sources: FlexSP, arXiv 2412.01523, and its solver (PKU-DAIR/Hetu-Galvatron, galvatron/flexsp_solver/solver.py);
// ByteScale, arXiv 2502.21231; the time of a ring: Ring Attention, arXiv 2310.01889.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cairn/core/quantity.h"
#include "cairn/core/time.h"

namespace cairn::sequence {

// Of one sequence on one rank, forward and backward, all layers. No defaults: they are measured or predicted elsewhere.
struct SequenceWork {
  double quadratic = 0.0;    // a [s / token^2]
  double linear = 0.0;       // b [s / token]
  core::Seconds fixed = {};  // of every group, once
};

struct GroupDegree {
  std::int64_t ranks = 1;          // d
  core::BytesPerSecond rate = {};  // v(d) of an all-to-all among them; unused for d = 1
};

struct GroupMemory {
  core::Bytes state = {};       // parameters, gradients, optimizer, per rank
  core::Bytes activation = {};  // per token
  core::Bytes capacity = {};    // of a rank
};

struct GroupCosts {
  SequenceWork work = {};
  core::Bytes exchanged = {};             // e: per token, all all-to-alls of all layers
  std::vector<GroupDegree> degrees = {};  // that groups may have, ascending
  GroupMemory memory = {};
};

struct RingCosts {
  SequenceWork work = {};
  core::Bytes circulated = {};       // w: keys and values per token, all layers, both passes
  core::BytesPerSecond rate = {};    // v from neighbour to neighbour; unused where nothing circulates
  std::int64_t tokens_per_rank = 0;  // C
};

// t of one sequence in a group, without `fixed`. Throws core::OutOfRange beyond the reach of simulated time.
core::Picoseconds exchange_time(const GroupCosts& costs, const GroupDegree& degree, std::int64_t tokens);
core::Picoseconds ring_time(const RingCosts& costs, std::int64_t ranks, std::int64_t tokens);
// Tokens that a group of so many ranks has memory for: floor(d (capacity - state) / activation), at least 0.
std::int64_t token_capacity(const GroupMemory& memory, std::int64_t ranks);

struct RankGroup {
  std::int64_t ranks = 1;
  std::vector<std::int64_t> sequences = {};  // indices of the batch, ascending
  core::Picoseconds time = 0;
};

// How far a time may lie above the least there is, as a share of a bound that is not above it.
inline double share_above(core::Picoseconds time, core::Picoseconds lower_bound) {
  return time == lower_bound ? 0.0 : static_cast<double>(time - lower_bound) / static_cast<double>(lower_bound);
}

struct GroupedBatch {
  std::vector<RankGroup> groups = {};  // most ranks first, equal ones by their first sequence
  core::Picoseconds time = 0;          // of the longest group
  core::Picoseconds lower_bound = 0;   // no assignment is shorter
  bool exact = false;                  // `time` is the least there is, even where the bound is lower

  double gap() const { return exact ? 0.0 : share_above(time, lower_bound); }
};

struct WavedBatch {
  std::vector<std::vector<RankGroup>> waves = {};  // longest first
  core::Picoseconds time = 0;                      // sum of the waves
  core::Picoseconds lower_bound = 0;
  bool exact = false;

  double gap() const { return exact ? 0.0 : share_above(time, lower_bound); }
};

// Groups whose ranks add up to at most `ranks`; every sequence in one of them.
// Method: branch and bound up to k_most_searched sequences and k_most_nodes nodes. Else the best of every single degree
// and of a bisection over the time T, in which sequences, the longest first, take the degree of least rank-seconds that
// meets T and the fullest group of it; longest-processing-time over the degrees found; moves and swaps of sequences out
// of the longest group.
// Bound: the least T that is not refuted. By T, every sequence has a degree that meets it; their rank-seconds at the
// cheapest of those fit ranks x T; and for every degree the sequences that need it or more share as many groups as there
// can be, whose ranks also compute the tokens that the other ranks have no memory for.
// Never longer than by_one_degree(). Equal input, equal answer.
// Throws core::ConfigurationError: no sequences, ranks < 1, a length < 1, costs that are negative or not numbers, no
// degree, degrees not ascending, a sequence that fits no group (names how many ranks and how much memory it would need),
// a batch beyond the memory of all ranks or, where memory is scarce, one that was not fitted in; times or counts beyond
// 64 bits.
GroupedBatch share_in_groups(std::span<const std::int64_t> lengths, std::int64_t ranks, const GroupCosts& costs);

// The best of the batch on floor(ranks / d) groups of one degree d; nothing where no single degree holds it. Its bound
// holds for single degrees. Throws as share_in_groups().
std::optional<GroupedBatch> by_one_degree(std::span<const std::int64_t> lengths, std::int64_t ranks,
                                          const GroupCosts& costs);

struct MicroBatches {
  std::vector<GroupedBatch> batches = {};  // one after the other; indices are those of the whole batch
  core::Picoseconds time = 0;              // sum of their times
  core::Picoseconds lower_bound = 0;       // whatever the micro-batches

  double gap() const { return share_above(time, lower_bound); }
};

// A batch beyond the memory of one: micro-batches of sequences of like lengths, each with groups of its own.
// Method: the sequences, the longest first, are cut into m parts of about equal tokens, for m from the least that memory
// allows to k_more_micro_batches above; each part as share_in_groups(); the m of the least sum.
// Bound: `fixed` of the fewest micro-batches, and rank-seconds at the cheapest degrees / ranks.
// With one degree in `costs` it is what a fixed degree takes.
// Throws as share_in_groups(); the batch may exceed the memory of all ranks.
MicroBatches share_in_micro_batches(std::span<const std::int64_t> lengths, std::int64_t ranks, const GroupCosts& costs);

// Waves of groups whose ranks add up to at most `ranks`; every sequence of s tokens in a group of ceil(s / C) ranks.
// Method: branch and bound as above. Else, for several ceilings of a group's time: sequences of more ranks than the
// fewest go into the first wave that has ranks left, the longest first; the others into the first wave that takes them
// by the ceiling or no later than it ends anyway, and into waves of their own; then sequences leave the longest group of
// a wave where the sum falls.
// Bound: `fixed` of the fewest waves that can hold the batch, and the greatest of the longest time, of rank-seconds /
// ranks and, for every d, of every floor(ranks / d)-th time of the sequences of d ranks and more, the longest first,
// with the time of the tokens that C keeps out of those waves.
// It may be longer than waves of one larger degree, where ranks would idle that C does not ask for.
// Throws core::ConfigurationError: as above, and a sequence that needs more than `ranks` ranks.
WavedBatch share_in_waves(std::span<const std::int64_t> lengths, std::int64_t ranks, const RingCosts& costs);

// The same where every sequence, however short, is shared by `degree` ranks and groups hold degree x C tokens: a fixed
// degree of context parallelism. Throws also where a sequence needs more than `degree` ranks, or degree > ranks.
WavedBatch waves_of_degree(std::span<const std::int64_t> lengths, std::int64_t ranks, std::int64_t degree,
                           const RingCosts& costs);

// Of branch and bound; beyond either the answer is a heuristic's.
inline constexpr std::size_t k_most_searched = 20;
inline constexpr std::int64_t k_most_nodes = 200'000;
// Numbers of micro-batches that are tried beyond the first that memory allows.
inline constexpr std::int64_t k_more_micro_batches = 4;

}  // namespace cairn::sequence
