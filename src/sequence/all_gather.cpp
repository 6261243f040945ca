// All-gather of keys and values, as in the training of Llama 3: every rank holds all of them, then computes. A kernel
// for each chunk of its queries reads the keys up to the chunk's end.
//
//   received per rank, b sequences, [elements]    forward   2 (p-1) b n d_kv / p
//                                                 backward  as much for K, V again, and for the sums of dK, dV
#include "calls.h"
#include "families.h"
#include "layouts.h"

namespace cairn::sequence {
namespace {

// Backward the last kernel is given all keys: the sums of dK and dV want a part of each, be it zeros.
std::int64_t keys_read(const Share& share, const Tokens& queries, bool last) {
  const bool up_to_end = share.problem.mask == Mask::causal && !(last && share.pass == Pass::backward);
  return up_to_end ? position(queries, count(queries) - 1) + 1 : share.problem.tokens;
}

void add_tiles_of_chunks(RankList& list, const Share& share, std::int32_t stage) {
  const Tokens own = owned_in_line(share.problem, share.grid, share.rank);
  const std::int64_t chunks = share.problem.mask == Mask::causal ? chunks_of_rank(share.grid.layout) : 1;
  const std::int64_t length = count(own) / chunks;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const Tokens queries = slice(own, chunk * length, (chunk + 1) * length);
    list.tiles.push_back({.stage = stage,
                          .queries = queries,
                          .keys = {{.first = 0, .count = keys_read(share, queries, chunk + 1 == chunks)}},
                          .heads = share.heads,
                          .joins = share.pass == Pass::backward && chunk > 0});
  }
}

RankList all_gather_list(const Share& share) {
  const Peers all{.count = share.ranks()};
  const auto of_rank = [&](TensorSet tensors) {
    return [&share, tensors](std::int64_t rank) {
      return Parcel{.tensors = tensors, .tokens = owned_in_line(share.problem, share.grid, rank), .heads = share.heads};
    };
  };
  RankList list;
  if (share.ranks() > 1) list.calls.push_back(all_gather(all, share.rank, during(list.stages++), of_rank(k_keys)));
  add_tiles_of_chunks(list, share, list.stages++);
  if (share.ranks() > 1 && share.pass == Pass::backward)
    list.calls.push_back(give_parts(collective::Collective::reduce_scatter, all, share.rank, during(list.stages++),
                                    of_rank(k_key_gradients)));
  return list;
}

}  // namespace

constinit const Family k_all_gather{
    .shape = Shape::line, .refusal = refuses_nothing, .owned = owned_in_line, .list = all_gather_list};

}  // namespace cairn::sequence
