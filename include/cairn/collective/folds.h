// Bytes and steps of a collective, counted from its list of messages: exact in chunks, turned into bytes at the end.
#pragma once

#include <cstdint>

#include "cairn/collective/message_list.h"

namespace cairn::collective {

// So many chunks of a buffer of S bytes that is cut into `of` chunks.
struct Share {
  std::int64_t chunks = 0;
  std::int64_t of = 1;
  // chunks / of S [B].
  double bytes(double buffer) const { return static_cast<double>(chunks) / static_cast<double>(of) * buffer; }
  friend bool operator==(const Share&, const Share&) = default;
};

// The share of S that a node sends, and that it receives.
Share sent(const MessageList& list, std::int64_t node);
Share received(const MessageList& list, std::int64_t node);
// max over ranks of max(sent, received).
Share busiest(const MessageList& list);
// The share of S that a rank sends to ranks of other domains. Takes time in proportion to its messages.
Share sent_across(const MessageList& list, std::int64_t rank);

// busiest() of a flat group (all ranks equally near) with the algorithm of flat_list(); nothing for `none`:
//   2 (n-1)/n all_reduce; (n-1)/n all_gather, reduce_scatter, all_to_all, gather; 1 broadcast, reduce, send
Share flat_share(Collective collective, std::int64_t ranks);
// busiest() of an all-reduce in the switch: (n+1)/n, S sent up to be reduced and S/n multicast; nothing over one rank.
Share in_switch_share(std::int64_t ranks);
// Steps of flat_list(); 0 for `none`.
std::int64_t flat_steps(Collective collective, std::int64_t ranks);

// S (collective.h) of a collective whose tensor has `whole` bytes: whole / ranks of an all-to-all, else `whole`. [B]
double buffer_bytes(Collective collective, std::int64_t ranks, double whole);

// Bytes that the busiest rank of a flat group sends (or receives): flat_share() of buffer_bytes(). [B]
double bytes_sent(Collective collective, std::int64_t ranks, double whole);

}  // namespace cairn::collective
