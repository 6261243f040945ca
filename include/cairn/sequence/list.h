// What one rank of a group does to compute its share of an attention: tiles of (query, key) pairs, and the messages
// that bring operands and take results away. Bytes, work, memory, times and correctness follow from the list
// (folds.h, oracle.h; a fold is a sum or maximum over the list); no scheme exists without one.
//
// Time is cut in stages: a stage is a slice of the rank's time, not a stage of a pipeline. The tiles of a stage run one
// after the other, its calls beside them; a call may last for several stages. Stage s + 1 begins when the tiles of
// stage s and all calls that end with it are done.
//
//   a tile     computes the pairs that the mask leaves of queries x keys x heads, from operands that the rank holds
//              when its stage begins. Forward it adds to the rank's part of O and of the log-sum-exp of its queries by
//              the softmax's rule; backward it adds to the rank's parts of dQ of its queries and dK, dV of its keys.
//              It leaves a part even where the mask leaves it no pair: an empty one, that can be given away as well.
//   a message  either copies what the source holds when the stage begins (Q, K, V, dO, statistics, and results that are
//              whole), or gives away the source's part of a result, which then is gone there and is added to the
//              destination's part. A part of O travels with its log-sum-exp.
// When all stages are done a rank must have the whole O, or the whole dQ, dK and dV, of the tokens it owns, and no part
// of a result that is not whole may be left elsewhere. A whole log-sum-exp may stay where it was made.
// `delta` is held by whoever holds O and dO.
//
// Example: ring of 2 ranks, forward. Rank 0, stage 0: tile (its queries, its keys) beside a send of its K, V to rank 1
// and a receive of those of rank 1; stage 1: tile (its queries, the keys of rank 1).
#pragma once

#include <cstdint>
#include <vector>

#include <boost/container/small_vector.hpp>
#include <boost/container/static_vector.hpp>

#include "cairn/collective/collective.h"
#include "cairn/sequence/problem.h"
#include "cairn/sequence/tokens.h"

namespace cairn::sequence {

using TensorSet = std::uint16_t;  // bit i: Tensor(i)
constexpr TensorSet set_of(Tensor tensor) {
  return static_cast<TensorSet>(TensorSet{1} << static_cast<unsigned>(tensor));
}
template <class... Others>
constexpr TensorSet set_of(Tensor first, Others... others) {
  return static_cast<TensorSet>(set_of(first) | set_of(others...));
}

constexpr bool contains(TensorSet set, Tensor tensor) { return (set & set_of(tensor)) != 0; }
using TensorList = boost::container::static_vector<Tensor, k_tensors>;
TensorList members(TensorSet set);

// These tensors of these tokens and heads.
struct Parcel {
  TensorSet tensors = 0;
  Tokens tokens = {};
  Heads heads = {};
  friend bool operator==(const Parcel&, const Parcel&) = default;
};

// [B], of all sequences.
std::int64_t bytes(const Problem& problem, const Parcel& parcel);

struct Message {
  std::int64_t peer = 0;  // destination of what is sent, source of what is received
  Parcel parcel = {};
  bool gives = false;
  friend bool operator==(const Message&, const Message&) = default;
};

// Mostly one.
using Messages = boost::container::small_vector<Message, 1>;

// Ranks first, first + stride, ...; `count` of them.
struct Peers {
  std::int64_t first = 0;
  std::int64_t count = 1;
  std::int64_t stride = 1;
  friend bool operator==(const Peers&, const Peers&) = default;
};

// One call of a communication library, by all of `peers`: collective::Collective::send for messages between
// neighbours, else the collective that moves as many bytes.
struct Call {
  collective::Collective collective = collective::Collective::send;
  Peers peers = {};
  std::int32_t begins = 0;  // with this stage
  std::int32_t ends = 0;    // before the stage behind this one begins
  std::int32_t lane = 0;    // calls of one lane run one after the other
  // send: how many places on every rank sends, around the ring that the peers are. Where ranks send differently far: so
  // many that no more messages leave any stretch of the ring.
  std::int64_t reach = 0;
  Messages sends = {};
  Messages receives = {};
};

struct Tile {
  std::int32_t stage = 0;
  Tokens queries = {};
  Tokens keys = {};
  Heads heads = {};
  // A pass over memory joins its result with the part that earlier tiles left; false: the kernel keeps that itself.
  bool joins = false;
};

struct RankList {
  std::int32_t stages = 0;
  std::vector<Tile> tiles = {};  // ascending stage
  std::vector<Call> calls = {};  // ascending `begins`, each lane in its order
};

}  // namespace cairn::sequence
