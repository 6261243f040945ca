// Double ring: a ring of rings. The message that a rank sends to the next window lasts as long as its block's way
// around this one, so that every rank of a window has a link of its own between windows, used all the time.
//
//   received per rank   as in a ring: p-1 blocks of K, V, and backward p parts of dK, dV, of which under a causal zigzag
//                       mask a (w-1) are of one chunk, not two, in window a of windows of w ranks
#include <algorithm>
#include <utility>

#include "calls.h"
#include "visits.h"
#include "windows.h"

namespace cairn::sequence {
namespace {

constexpr std::int32_t k_inner_lane = 0;
constexpr std::int32_t k_outer_lane = 1;

std::int64_t wrapped(std::int64_t value, std::int64_t modulus) { return ((value % modulus) + modulus) % modulus; }

// A rank, or the block that it owns.
struct Spot {
  std::int64_t window = 0;
  std::int64_t member = 0;
};

class Windows {
 public:
  Windows(const Share& share, std::int64_t window)
      : share_(share), width_(window), turns_(share.ranks() / window), self_(spot(share.rank)) {}

  RankList list() {
    list_.stages = static_cast<std::int32_t>(share_.ranks());
    list_.tiles.reserve(static_cast<std::size_t>(share_.ranks()));
    list_.calls.reserve(static_cast<std::size_t>(3 * share_.ranks()));
    for (std::int64_t turn = 0; turn < turns_; ++turn)
      for (std::int64_t step = 0; step < width_; ++step) {
        add_tile(turn, step);
        pass_keys(turn, step);
        if (share_.pass == Pass::backward) pass_gradients(turn, step);
      }
    return std::move(list_);
  }

 private:
  Spot spot(std::int64_t rank) const { return {.window = rank / width_, .member = rank % width_}; }
  std::int64_t rank(const Spot& spot) const {
    return wrapped(spot.window, turns_) * width_ + wrapped(spot.member, width_);
  }
  std::int32_t stage(std::int64_t turn, std::int64_t step) const {
    return static_cast<std::int32_t>(turn * width_ + step);
  }
  // Whose block a rank holds.
  std::int64_t block(const Spot& at, std::int64_t turn, std::int64_t step) const {
    return rank({.window = at.window - turn, .member = at.member - step});
  }

  void add_tile(std::int64_t turn, std::int64_t step) {
    const auto met = visit(share_.problem, share_.grid, share_.rank, block(self_, turn, step));
    if (!met) return;
    list_.tiles.push_back({.stage = stage(turn, step),
                           .queries = met->queries,
                           .keys = met->keys,
                           .heads = share_.heads,
                           .joins = turn + step > 0});
  }

  void pass_keys(std::int64_t turn, std::int64_t step) {
    const std::int32_t now = stage(turn, step);
    if (step == 0 && turn + 1 < turns_) {
      const When whole_turn{.begins = now, .ends = stage(turn, width_ - 1), .lane = k_outer_lane};
      add_hop(column(), whole_turn, {.window = 1}, turn, step, k_keys);
    }
    if (step + 1 < width_) add_hop(row(), during(now, k_inner_lane), {.member = 1}, turn, step, k_keys);
  }

  // The part of the stage leaves in the next one.
  void pass_gradients(std::int64_t turn, std::int64_t step) {
    const std::int32_t next = stage(turn, step) + 1;
    if (step + 1 < width_) {
      add_hop(row(), during(next, k_inner_lane), {.member = 1}, turn, step, k_key_gradients);
    } else if (turn + 1 < turns_) {
      const When whole_turn{.begins = next, .ends = stage(turn + 1, width_ - 1), .lane = k_outer_lane};
      add_hop(column(), whole_turn, {.window = 1}, turn, step, k_key_gradients);
    } else if (share_.ranks() > 1) {
      add_hop({.count = share_.ranks()}, during(next), {.window = 1, .member = 1}, turn, step, k_key_gradients);
      ++list_.stages;
    }
  }

  // What a rank has of its block of this step goes as far as `way` says, and as much comes from where that way begins
  // for this rank.
  void add_hop(const Peers& peers, const When& when, const Spot& way, std::int64_t turn, std::int64_t step,
               TensorSet tensors) {
    const Spot to{.window = self_.window + way.window, .member = self_.member + way.member};
    const Spot from{.window = self_.window - way.window, .member = self_.member - way.member};
    const bool of_turn = tensors == k_key_gradients && turn > 0 && step + 1 < width_;
    const auto message = [&](const Spot& peer, const Spot& source) {
      const std::int64_t owner = block(source, turn, step);
      return Message{.peer = rank(peer),
                     .parcel = {.tensors = tensors,
                                .tokens = of_turn ? seen_keys(rank(source), owner)
                                                  : owned_in_line(share_.problem, share_.grid, owner),
                                .heads = share_.heads},
                     .gives = tensors == k_key_gradients};
    };
    list_.calls.push_back(hop(peers, reach(peers, way), when, message(to, self_), message(from, from)));
  }
  // Home is the next rank where there is but one window, or one rank in each; else a window and a rank on, or for the
  // last rank of a window the rank behind it.
  std::int64_t reach(const Peers& peers, const Spot& way) const {
    const bool to_next = way.window == 0 || way.member == 0 || turns_ == 1 || width_ == 1;
    return to_next ? 1 : std::min(width_ + 1, anywhere(peers));
  }
  // Of a block that comes from another window the part of a turn has the rows alone that this window's queries see:
  // in a zigzag layout they are the same for all ranks of the window.
  Tokens seen_keys(std::int64_t query_owner, std::int64_t key_owner) const {
    const auto met = visit(share_.problem, share_.grid, query_owner, key_owner);
    return met ? met->keys : Tokens{};
  }

  Peers row() const { return {.first = self_.window * width_, .count = width_}; }
  Peers column() const { return {.first = self_.member, .count = turns_, .stride = width_}; }

  const Share& share_;
  std::int64_t width_;
  std::int64_t turns_;
  Spot self_;
  RankList list_;
};

RankList double_ring_list(const Share& share) { return pass_through_windows(share, share.grid.window); }

}  // namespace

RankList pass_through_windows(const Share& share, std::int64_t window) { return Windows(share, window).list(); }

constinit const Family k_double_ring{
    .shape = Shape::windows, .refusal = refuses_nothing, .owned = owned_in_line, .list = double_ring_list};

}  // namespace cairn::sequence
