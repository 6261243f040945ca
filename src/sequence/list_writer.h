// Writes the list of one rank stage by stage.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/sequence/piece_list.h"

namespace cairn::sequence {

// Bytes of what these schemes send: operands and gradients as 2-byte numbers, statistics of softmax in 4.
inline constexpr Wire k_wire = {};

// Appends.
inline void take_in(std::vector<TensorPiece>& all, const std::vector<TensorPiece>& pieces) {
  all.insert(all.end(), pieces.begin(), pieces.end());
}

// Share i of `of` shares of a loop, as equal as whole numbers are.
Range share_of(std::int64_t extent, std::int64_t index, std::int64_t of);

// The list of rank `rank` of ranks 0 ... count - 1.
class ListWriter {
 public:
  ListWriter(const Formula& formula, std::int64_t count, std::int64_t rank)
      : formula_(formula), count_(count), rank_(rank) {
    list_.stages = 1;
  }

  std::int64_t rank() const { return rank_; }
  std::int64_t count() const { return count_; }
  // The rank so far behind or ahead of this one in the ring of all.
  std::int64_t neighbour(std::int64_t ahead) const { return ((rank_ + ahead) % count_ + count_) % count_; }

  void next_stage() { ++list_.stages; }
  // In this stage:
  void work(std::string_view label, Box box = {});
  // Every rank sends every other what(source, destination), a vector of pieces.
  template <class What>
  void exchange(collective::Collective collective, bool gives, What what) {
    PieceCall call = this_stage(collective);
    for (std::int64_t peer = 0; peer < count_; ++peer) {
      if (peer == rank_) continue;
      add(call.sends, peer, what(rank_, peer), gives);
      add(call.receives, peer, what(peer, rank_), gives);
    }
    if (count_ > 1) list_.calls.push_back(std::move(call));
  }
  // Every rank gets what(source) of all others.
  template <class What>
  void all_gather(What what) {
    exchange(collective::Collective::all_gather, false,
             [&](std::int64_t source, std::int64_t) { return what(source); });
  }
  // Every rank gets the parts that all others have of its what(destination).
  template <class What>
  void reduce_scatter(What what) {
    exchange(collective::Collective::reduce_scatter, true,
             [&](std::int64_t, std::int64_t destination) { return what(destination); });
  }
  void send(std::int64_t peer, const std::vector<TensorPiece>& pieces, bool gives = false);
  void receive(std::int64_t peer, const std::vector<TensorPiece>& pieces, bool gives = false);
  // To the next rank of the ring, and from the one before.
  void hop(const std::vector<TensorPiece>& out, const std::vector<TensorPiece>& in);

  // `pieces` of the formula.
  std::vector<TensorPiece> of(const std::vector<std::string_view>& tensors, const Box& box = {}) const {
    return pieces(formula_, tensors, box);
  }
  PieceList list() const { return list_; }

 private:
  PieceCall this_stage(collective::Collective collective) const;
  // Without pieces of nothing.
  static void add(std::vector<PieceMessage>& messages, std::int64_t peer, const std::vector<TensorPiece>& pieces,
                  bool gives);

  const Formula& formula_;
  std::int64_t count_;
  std::int64_t rank_;
  PieceList list_;
};

// The passes of all ranks, as write(writer) gives them for each.
template <class Write>
std::vector<RankPass> by_rank(const Formula& formula, std::int64_t count, Write write) {
  std::vector<RankPass> all;
  for (std::int64_t rank = 0; rank < count; ++rank) {
    ListWriter writer(formula, count, rank);
    all.push_back(write(writer));
    all.back().list = writer.list();
  }
  return all;
}

// Throws core::ConfigurationError unless `parts` is at least 1 and divides what there are `count` > 0 of.
void ask_divisible(std::string_view what, std::int64_t count, std::int64_t parts);

}  // namespace cairn::sequence
