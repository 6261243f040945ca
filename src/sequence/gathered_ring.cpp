// A ring whose keys and values do not pass from rank to rank: every rank gathers those of all others beside the tile
// of its own, then computes the tiles of the others from what it has, in the ring's order. Backward, the parts of dK
// and dV pass from rank to rank, as in a ring.
//
//   received per rank, as in a ring, b sequences, [elements]
//       forward   2 (p-1) b n d_kv / p                           in one all-gather
//       backward  2 (p-1) b n d_kv / p of K, V                   in one
//                 2 p b n d_kv / p of dK, dV                     in p messages
//   held                                                         all keys and values, from the second tile on
#include <utility>
#include <vector>

#include "calls.h"
#include "windows.h"

namespace cairn::sequence {
namespace {

bool passes_keys(const Call& call) { return call.sends.front().parcel.tensors == k_keys; }

RankList gathered_ring_list(const Share& share) {
  RankList list = pass_through_windows(share, share.ranks());
  if (share.ranks() == 1) return list;
  std::vector<Call> calls;
  calls.push_back(all_gather({.count = share.ranks()}, share.rank, during(0), [&](std::int64_t rank) {
    return Parcel{.tensors = k_keys, .tokens = owned_in_line(share.problem, share.grid, rank), .heads = share.heads};
  }));
  for (Call& call : list.calls)
    if (!passes_keys(call)) calls.push_back(std::move(call));
  list.calls = std::move(calls);
  return list;
}

}  // namespace

constinit const Family k_gathered_ring{
    .shape = Shape::line, .refusal = refuses_nothing, .owned = owned_in_line, .list = gathered_ring_list};

}  // namespace cairn::sequence
