// Ring attention: keys and values pass from rank to rank, and every rank computes the tile of its queries with those
// that it holds. Backward, the parts of dK and dV of a block follow it one stage behind, and take a last hop home
// beside no tile.
//
//   received per rank, b sequences, [elements]    forward   2 (p-1) b n d_kv / p                  in p-1 messages
//                                                 backward  2 (p-1) b n d_kv / p of K, V
//                                                           2 p b n d_kv / p of dK, dV            in 2p-1 messages
// A ring is one window of a double ring.
#include "windows.h"

namespace cairn::sequence {
namespace {

RankList ring_list(const Share& share) { return pass_through_windows(share, share.ranks()); }

}  // namespace

constinit const Family k_ring{
    .shape = Shape::line, .refusal = refuses_nothing, .owned = owned_in_line, .list = ring_list};

}  // namespace cairn::sequence
