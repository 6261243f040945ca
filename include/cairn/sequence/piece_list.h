// What one rank does to compute its share of a formula (formula.h): work on boxes of loops, and messages that carry
// pieces of tensors. Attention of long queries has lists of its own (list.h); these are for all other mathematics.
//
// Time is cut in stages, and calls last from the begin of one to the end of one, as in list.h. The work of a stage is
// done in its order.
//   work     computes the operators of one label at the points of a box. It reads elements that are whole at the rank,
//            and leaves the rank's part of the results, or the whole where nothing is missing: a part of no
//            contribution, where the guard leaves out all points, can be given away as well.
//   message  copies elements that the source has whole when the stage begins; or gives away the source's part of them,
//            which then is gone there and meets the destination's part.
// A pass begins with what the rank kept from the pass before and what it is given. What it keeps is whole at its end;
// everything else is forgotten.
//
// Example: S[nk] = Q[n] K[k] of 2 ranks, half of n each. Rank 0, stage 0: work (its n, its k) beside a send of its K to
// rank 1 and a receive; stage 1: work (its n, the k of rank 1).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cairn/collective/collective.h"
#include "cairn/sequence/formula.h"
#include "cairn/sequence/list.h"

namespace cairn::sequence {

// A box of elements, a range for each axis.
struct TensorPiece {
  std::size_t tensor = 0;
  std::vector<Range> ranges = {};
  friend auto operator<=>(const TensorPiece&, const TensorPiece&) = default;
};

// The same box of several tensors, whose axes go by the letters that they were declared with.
std::vector<TensorPiece> pieces(const Formula& formula, const std::vector<std::string_view>& tensors,
                                const Box& box = {});

// Elements of a piece; bytes of it when sent.
std::int64_t elements(const TensorPiece& piece);
std::int64_t bytes(const Formula& formula, const TensorPiece& piece);

struct PieceMessage {
  std::int64_t peer = 0;
  TensorPiece piece = {};
  bool gives = false;
};

struct PieceCall {
  collective::Collective collective = collective::Collective::send;
  Peers peers = {};
  std::int32_t begins = 0;
  std::int32_t ends = 0;
  std::vector<PieceMessage> sends = {};
  std::vector<PieceMessage> receives = {};
};

struct Work {
  std::int32_t stage = 0;
  std::string label;
  Box box = {};  // an operator takes from it the letters of its own loops
};

struct PieceList {
  std::int32_t stages = 0;
  std::vector<Work> work = {};        // ascending stage
  std::vector<PieceCall> calls = {};  // ascending `begins`
};

std::int64_t bytes_sent(const Formula& formula, const PieceList& list);
std::int64_t bytes_received(const Formula& formula, const PieceList& list);

// One pass of one rank.
struct RankPass {
  std::vector<TensorPiece> given = {};
  PieceList list = {};
  std::vector<TensorPiece> kept = {};
};

// A formula, and how ranks share it.
struct Sharing {
  Formula formula;
  // The same results by the shortest mathematics, where the formula takes another way; its tensors have the same names
  // and as many elements in the same order.
  std::optional<Formula> plain = {};
  // Tensors that ranks must end with: every element of them is kept by some rank.
  std::vector<std::string> results = {};
  // Tensors whose parts stay where they were made, for a sum over all ranks that belongs to nobody here.
  std::vector<std::string> summed = {};
  std::vector<std::vector<RankPass>> passes = {};  // forward and, where defined, backward; by rank

  const Formula& mathematics() const { return plain ? *plain : formula; }
};

}  // namespace cairn::sequence
