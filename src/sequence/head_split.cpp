#include "head_split.h"

#include <fmt/format.h>

#include "calls.h"

namespace cairn::sequence {
namespace {

// Where a rank stands: which of the heads, and which of the tokens, are its.
class Seats {
 public:
  explicit Seats(const Grid& grid)
      : head_ranks_(grid.head_ranks),
        token_ranks_(grid.token_ranks()),
        head_stride_(grid.heads_inner ? 1 : token_ranks_),
        token_stride_(grid.heads_inner ? head_ranks_ : 1) {}

  std::int64_t head_rank(std::int64_t rank) const { return rank / head_stride_ % head_ranks_; }
  std::int64_t token_rank(std::int64_t rank) const { return rank / token_stride_ % token_ranks_; }
  // Ranks that exchange tokens for heads with this one.
  Peers head_peers(std::int64_t rank) const {
    return {.first = token_rank(rank) * token_stride_, .count = head_ranks_, .stride = head_stride_};
  }
  // A rank of the family, and a group of them, among all ranks.
  std::int64_t outer(std::int64_t head_rank, std::int64_t token_rank) const {
    return head_rank * head_stride_ + token_rank * token_stride_;
  }
  Peers outer(std::int64_t head_rank, const Peers& peers) const {
    return {.first = outer(head_rank, peers.first), .count = peers.count, .stride = peers.stride * token_stride_};
  }

 private:
  std::int64_t head_ranks_;
  std::int64_t token_ranks_;
  std::int64_t head_stride_;
  std::int64_t token_stride_;
};

Heads heads_of_rank(const Problem& problem, const Grid& grid, std::int64_t head_rank) {
  const std::int64_t count = problem.heads / grid.head_ranks;
  return {.first = head_rank * count, .count = count};
}

// A list of the family's ranks as one of all ranks that begins `later` stages later.
void move_out(RankList& list, const Seats& seats, std::int64_t head_rank, std::int32_t later) {
  for (Tile& tile : list.tiles) tile.stage += later;
  for (Call& call : list.calls) {
    call.begins += later;
    call.ends += later;
    call.peers = seats.outer(head_rank, call.peers);
    for (Message& message : call.sends) message.peer = seats.outer(head_rank, message.peer);
    for (Message& message : call.receives) message.peer = seats.outer(head_rank, message.peer);
  }
  list.stages += later;
}

class HeadExchange {
 public:
  HeadExchange(const Family& family, const Problem& problem, const Grid& grid, std::int64_t rank)
      : family_(family), problem_(problem), grid_(grid), seats_(grid), rank_(rank) {}

  // Its tokens of all heads for its heads of all tokens.
  Call to_heads(TensorSet tensors, std::int32_t stage) const {
    return exchange(
        collective::Collective::all_to_all, seats_.head_peers(rank_), rank_, during(stage), false,
        [&](std::int64_t peer) { return parcel(tensors, rank_, peer); },
        [&](std::int64_t peer) { return parcel(tensors, peer, rank_); });
  }
  // And back.
  Call to_tokens(TensorSet tensors, std::int32_t stage, bool gives) const {
    return exchange(
        collective::Collective::all_to_all, seats_.head_peers(rank_), rank_, during(stage), gives,
        [&](std::int64_t peer) { return parcel(tensors, peer, rank_); },
        [&](std::int64_t peer) { return parcel(tensors, rank_, peer); });
  }

 private:
  Parcel parcel(TensorSet tensors, std::int64_t owner_of_tokens, std::int64_t owner_of_heads) const {
    return {.tensors = tensors,
            .tokens = owned_of_split(family_, problem_, grid_, owner_of_tokens),
            .heads = heads_of_rank(problem_, grid_, seats_.head_rank(owner_of_heads))};
  }

  const Family& family_;
  const Problem& problem_;
  const Grid& grid_;
  Seats seats_;
  std::int64_t rank_;
};

}  // namespace

std::optional<std::string> refuses_heads(const Problem& problem, const Grid& grid) {
  const std::int64_t split = grid.head_ranks, keys = problem.kv_heads;
  if (problem.heads % split != 0)
    return fmt::format("{} ranks cannot split {} heads: their number must divide the heads", split, problem.heads);
  if (keys % split != 0 && split % keys != 0)
    return fmt::format(
        "{} ranks cannot split {} heads of keys and values: one of the two must divide the other, so that a rank holds "
        "whole heads, or a copy of one",
        split, keys);
  return std::nullopt;
}

Tokens owned_of_split(const Family& family, const Problem& problem, const Grid& grid, std::int64_t rank) {
  const Seats seats(grid);
  const Tokens all = family.owned(problem, grid, seats.token_rank(rank));
  const std::int64_t piece = count(all) / grid.head_ranks, first = seats.head_rank(rank) * piece;
  return slice(all, first, first + piece);
}

RankList list_of_split(const Family& family, const Problem& problem, const Grid& grid, Pass pass, std::int64_t rank) {
  const Seats seats(grid);
  const std::int64_t head_rank = seats.head_rank(rank);
  RankList list = family.list({.problem = problem,
                               .grid = grid,
                               .heads = heads_of_rank(problem, grid, head_rank),
                               .pass = pass,
                               .rank = seats.token_rank(rank)});
  if (grid.head_ranks == 1) return list;
  move_out(list, seats, head_rank, 1);
  const bool forward = pass == Pass::forward;
  const HeadExchange exchange(family, problem, grid, rank);
  list.calls.insert(list.calls.begin(), exchange.to_heads(forward ? set_of(Tensor::query, Tensor::key, Tensor::value)
                                                                  : set_of(Tensor::output_gradient),
                                                          0));
  // O is whole, and stays for the backward pass.
  list.calls.push_back(forward
                           ? exchange.to_tokens(set_of(Tensor::output), list.stages, false)
                           : exchange.to_tokens(set_of(Tensor::query_gradient) | k_key_gradients, list.stages, true));
  ++list.stages;
  return list;
}

Parcel kept_of_split(const Family& family, const Problem& problem, const Grid& grid, std::int64_t rank) {
  const Seats seats(grid);
  return {.tensors = set_of(Tensor::query, Tensor::key, Tensor::value, Tensor::output, Tensor::logsumexp),
          .tokens = family.owned(problem, grid, seats.token_rank(rank)),
          .heads = heads_of_rank(problem, grid, seats.head_rank(rank))};
}

}  // namespace cairn::sequence
