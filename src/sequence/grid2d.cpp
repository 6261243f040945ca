// ATTENTION2D (Elango, arXiv 2503.15758) without overlap: queries are gathered along rows of ranks, keys and values
// along columns, and the parts of O with their log-sum-exp go back along rows. No library adds parts by the softmax's
// rule, so that these are exchanged all to all and joined by their owners.
//
//   received per rank, r rows, c columns, b sequences, [B] with e of operands and gradients
//     forward   e b n/p [2 d (c-1) + 2 d_kv (r-1)] + 4 b h_q n/p (c-1)
//     backward  e b n/p [3 d (c-1) + 4 d_kv (r-1)] + 8 b h_q n/p (c-1)
// Under a causal mask, in a mesh with gcd(r, c) > 1, a rank off the diagonal (mesh.h) receives 2 e b n/p d_kv more
// forward, its keys and values, and twice that backward, when the parts of dK, dV go home too.
//
// Causal tiles: queries = i (mod r) against keys = j (mod c), of which those = x and = y modulo lcm(r, c) have a mask
// by places. So there is one tile where r = c, c/r of queries where r divides c, r/c of keys where c divides r.
#include <numeric>

#include "calls.h"
#include "mesh.h"

namespace cairn::sequence {
namespace {

// Those of a run that a stride of `modulus` meets, from the one at `offset`.
Tokens every(const TokenRun& run, std::int64_t modulus, std::int64_t offset) {
  const std::int64_t parts = modulus / run.stride;
  return {{.first = run.first + offset * run.stride, .count = run.count / parts, .stride = modulus}};
}

void add_local_tiles(RankList& list, const Share& share, const Mesh& mesh, std::int32_t stage) {
  const TokenRun queries = mesh.row_queries(share.rank).front(), keys = mesh.column_keys(share.rank).front();
  const std::int64_t modulus = std::lcm(mesh.rows(), mesh.columns());
  for (std::int64_t q = 0; q < modulus / mesh.rows(); ++q)
    for (std::int64_t k = 0; k < modulus / mesh.columns(); ++k)
      list.tiles.push_back({.stage = stage,
                            .queries = every(queries, modulus, q),
                            .keys = every(keys, modulus, k),
                            .heads = share.heads,
                            .joins = k > 0 || (share.pass == Pass::backward && q > 0)});
}

void add_tiles(RankList& list, const Share& share, const Mesh& mesh, std::int32_t stage) {
  if (share.problem.mask == Mask::causal) return add_local_tiles(list, share, mesh, stage);
  list.tiles.push_back({.stage = stage,
                        .queries = mesh.row_queries(share.rank),
                        .keys = mesh.column_keys(share.rank),
                        .heads = share.heads});
}

// The parcel that a rank brings into its row or column, or wants back from it.
struct ParcelOf {
  const Mesh& mesh;
  Tokens (Mesh::*tokens)(std::int64_t rank) const;
  TensorSet tensors;
  Heads heads;
  Parcel operator()(std::int64_t rank) const {
    return {.tensors = tensors, .tokens = (mesh.*tokens)(rank), .heads = heads};
  }
};

class Grid2d {
 public:
  explicit Grid2d(const Share& share) : share_(share), mesh_(share.problem, share.grid) {}

  RankList list() {
    const std::int64_t self = share_.rank;
    if (mesh_.moves_keys()) add_move_of_keys(list_, share_, mesh_, list_.stages++);
    if (mesh_.columns() > 1)
      list_.calls.push_back(
          all_gather(mesh_.row_peers(self), self, during(list_.stages), queries(query_operands(share_.pass))));
    if (mesh_.rows() > 1)
      list_.calls.push_back(all_gather(mesh_.column_peers(self), self, during(list_.stages), keys(k_keys)));
    if (mesh_.ranks() > 1) ++list_.stages;
    add_tiles(list_, share_, mesh_, list_.stages++);
    return_results();
    return list_;
  }

 private:
  ParcelOf queries(TensorSet tensors) const { return {mesh_, &Mesh::owned, tensors, share_.heads}; }
  ParcelOf keys(TensorSet tensors) const { return {mesh_, &Mesh::keys, tensors, share_.heads}; }

  void return_results() {
    const std::int64_t self = share_.rank;
    const bool backward = share_.pass == Pass::backward;
    const auto way = backward ? collective::Collective::reduce_scatter : collective::Collective::all_to_all;
    if (mesh_.columns() > 1)
      list_.calls.push_back(
          give_parts(way, mesh_.row_peers(self), self, during(list_.stages), queries(query_results(share_.pass))));
    if (backward && mesh_.rows() > 1)
      list_.calls.push_back(
          give_parts(way, mesh_.column_peers(self), self, during(list_.stages), keys(k_key_gradients)));
    if (mesh_.columns() > 1 || (backward && mesh_.rows() > 1)) ++list_.stages;
    if (backward && mesh_.moves_keys()) add_return_of_key_gradients(list_, share_, mesh_, list_.stages++);
  }

  const Share& share_;
  Mesh mesh_;
  RankList list_;
};

RankList attention2d_list(const Share& share) { return Grid2d(share).list(); }

}  // namespace

constinit const Family k_attention2d{
    .shape = Shape::rectangle, .refusal = refuses_causal_blocks, .owned = owned_in_mesh, .list = attention2d_list};

}  // namespace cairn::sequence
