// What follows from a list of messages by counting: exact numbers of chunks, made bytes at the end.
#pragma once

#include <cstdint>

#include "cairn/collective/message_list.h"

namespace cairn::collective {

// `chunks` of those that a buffer of S bytes is cut `of`.
struct Share {
  std::int64_t chunks = 0;
  std::int64_t of = 1;
  // chunks / of S [B].
  double bytes(double buffer) const { return static_cast<double>(chunks) / static_cast<double>(of) * buffer; }
  friend bool operator==(const Share&, const Share&) = default;
};

// Chunks of S that a node sends, and that it receives.
Share sent(const MessageList& list, std::int64_t node);
Share received(const MessageList& list, std::int64_t node);
// The larger of the two for the rank for which it is largest.
Share busiest(const MessageList& list);
// What a rank sends to ranks of other domains. Takes time in proportion to its messages.
Share sent_across(const MessageList& list, std::int64_t rank);

// What the busiest rank of a flat group sends of S, or receives where that is more; nothing for `none`.
//   2 (n-1)/n all_reduce; (n-1)/n all_gather, reduce_scatter, all_to_all, gather; 1 broadcast, reduce, send
Share flat_share(Collective collective, std::int64_t ranks);
// The same of an all-reduce by a switch that adds: (n+1)/n, S reduced in it and S/n multicast; nothing over one rank.
Share in_switch_share(std::int64_t ranks);
// Steps of a flat group's list; 0 for `none`.
std::int64_t flat_steps(Collective collective, std::int64_t ranks);

// `bytes` of a collective (collective.h) where the whole tensor has `whole` bytes: of an all-to-all one rank's part.
double buffer_bytes(Collective collective, std::int64_t ranks, double whole);

// What the busiest rank of a flat group sends where the whole tensor has `whole` bytes. [B]
double bytes_sent(Collective collective, std::int64_t ranks, double whole);

}  // namespace cairn::collective
