// Ring (Patarasuk and Yuan, JPDC 2009). Rank p sends to p + 1 alone. A reduce-scatter takes n-1 steps, in which the sum
// of chunk p, begun by rank p + 1, grows on its way to rank p; an all-gather takes as many; an all-reduce is one after
// the other. Broadcast and reduce leave the ring open: a chain, in which pieces follow each other, n-2 + pieces steps.
#include "algorithm_list.h"
#include "cairn/core/assert.h"
#include "phases.h"

namespace cairn::collective {
namespace {

void ring_messages(const MessageList& list, std::int64_t node, Port& port) {
  const Members all{.count = list.group.ranks};
  const Blocks chunks{};
  switch (list.collective) {
    case Collective::reduce_scatter:
      return ring(RingPhase::reduce_scatter, all, chunks, node, 0, port);
    case Collective::all_gather:
      return ring(RingPhase::all_gather, all, chunks, node, 0, port);
    case Collective::broadcast:
      return chain(ChainPhase::broadcast, all, 0, list.chunks, node, 0, port);
    case Collective::reduce:
      return chain(ChainPhase::reduce, all, 0, list.chunks, node, 0, port);
    default:
      ring(RingPhase::reduce_scatter, all, chunks, node, 0, port);
      return ring(RingPhase::all_gather, all, chunks, node, all.count - 1, port);
  }
}

}  // namespace

std::optional<MessageList> ring(Collective collective, const Group& group) {
  const std::int64_t n = group.ranks;
  MessageList list{
      .collective = collective, .group = group, .nodes = n, .chunks = n, .steps = n - 1, .messages_of = ring_messages};
  switch (collective) {
    case Collective::all_reduce:
      list.steps = 2 * (n - 1);
      return list;
    case Collective::all_gather:
    case Collective::reduce_scatter:
      return list;
    case Collective::broadcast:
    case Collective::reduce:
      CAIRN_ASSERT(group.pieces <= k_most_pieces);
      list.chunks = group.pieces;
      list.steps = n > 1 ? n - 2 + group.pieces : 0;
      return list;
    default:
      return std::nullopt;
  }
}

}  // namespace cairn::collective
