// TokenRing: queries travel and keys stay. A part of O goes from where it was made straight to the owner of its
// queries, beside the next tile and against the queries' way; the last one beside no tile. Backward Q, dO, log-sum-exp
// and delta travel, parts of dQ come back, and dK, dV are made where they belong.
//
//   received per rank, b sequences, full mask, [B] with e of operands and gradients
//     forward   (p-1) b n/p [e h_q d of Q + (e h_q d_v + 4 h_q) of O and log-sum-exp]
//     backward  (p-1) b n/p [e h_q (d + d_v) of Q, dO + 8 h_q of log-sum-exp, delta + e h_q d of dQ]
// Under a causal mask a part is of the queries alone that saw a key.
#include "calls.h"
#include "visits.h"

namespace cairn::sequence {
namespace {

constexpr std::int32_t k_query_lane = 0;
constexpr std::int32_t k_result_lane = 1;

class TokenRing {
 public:
  explicit TokenRing(const Share& share) : share_(share), ranks_(share.ranks()) {}

  RankList list() const {
    RankList list{.stages = static_cast<std::int32_t>(ranks_)};
    for (std::int32_t step = 0; step < static_cast<std::int32_t>(ranks_); ++step) {
      const std::int64_t owner = rank(-step);
      if (const auto met = visit(share_.problem, share_.grid, owner, share_.rank))
        list.tiles.push_back(
            {.stage = step, .queries = met->queries, .keys = met->keys, .heads = share_.heads, .joins = joins(step)});
      if (step + 1 < ranks_) list.calls.push_back(pass_queries(step));
      if (step > 0) {
        Call call = return_results(step);
        if (!call.sends.empty() || !call.receives.empty()) list.calls.push_back(std::move(call));
      }
    }
    if (ranks_ > 1) ++list.stages;
    return list;
  }

 private:
  std::int64_t rank(std::int64_t from_here) const { return (share_.rank + from_here + ranks_) % ranks_; }
  // Forward every tile of a rank is of other queries; backward all of them are of its keys.
  bool joins(std::int32_t step) const { return share_.pass == Pass::backward && step > 0; }

  Call pass_queries(std::int32_t step) const {
    const auto message = [&](std::int64_t peer, std::int64_t owner) {
      return Message{.peer = peer,
                     .parcel = {.tensors = query_operands(share_.pass),
                                .tokens = owned_in_line(share_.problem, share_.grid, owner),
                                .heads = share_.heads}};
    };
    return hop({.count = ranks_}, 1, during(step, k_query_lane), message(rank(1), rank(-step)),
               message(rank(-1), rank(-step - 1)));
  }

  Call return_results(std::int32_t step) const {
    Call call{.collective = collective::Collective::send,
              .peers = {.count = ranks_},
              .begins = step + 1,
              .ends = step + 1,
              .lane = k_result_lane,
              .reach = ranks_ - step};
    const std::int64_t owner = rank(-step), maker = rank(step);
    if (const auto made = visit(share_.problem, share_.grid, owner, share_.rank))
      call.sends.push_back(result(owner, made->queries));
    if (const auto made = visit(share_.problem, share_.grid, share_.rank, maker))
      call.receives.push_back(result(maker, made->queries));
    return call;
  }
  Message result(std::int64_t peer, const Tokens& queries) const {
    return {.peer = peer,
            .parcel = {.tensors = query_results(share_.pass), .tokens = queries, .heads = share_.heads},
            .gives = true};
  }

  const Share& share_;
  std::int64_t ranks_;
};

RankList token_ring_list(const Share& share) {
  RankList list = TokenRing(share).list();
  order_calls(list);
  return list;
}

}  // namespace

constinit const Family k_token_ring{
    .shape = Shape::line, .refusal = refuses_nothing, .owned = owned_in_line, .list = token_ring_list};

}  // namespace cairn::sequence
