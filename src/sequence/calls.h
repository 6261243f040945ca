// Calls of a communication library, by what they do.
#pragma once

#include <cstdint>

#include "cairn/sequence/list.h"

namespace cairn::sequence {

// When a call runs.
struct When {
  std::int32_t begins = 0;
  std::int32_t ends = 0;
  std::int32_t lane = 0;
};
constexpr When during(std::int32_t stage, std::int32_t lane = 0) {
  return {.begins = stage, .ends = stage, .lane = lane};
}

// One message out and one in, between ranks of `peers`, each of which sends `reach` places on (Call).
Call hop(const Peers& peers, std::int64_t reach, const When& when, Message out, Message in);
// The reach of messages of which nothing is known but that each rank gets at most one.
constexpr std::int64_t anywhere(const Peers& peers) { return peers.count / 2; }

// Every other rank of `peers` is sent out(rank) and sends in(rank), parcels both.
template <class Out, class In>
Call exchange(collective::Collective collective, const Peers& peers, std::int64_t self, const When& when, bool gives,
              Out out, In in) {
  Call call{.collective = collective, .peers = peers, .begins = when.begins, .ends = when.ends, .lane = when.lane};
  for (std::int64_t index = 0; index < peers.count; ++index) {
    const std::int64_t peer = peers.first + index * peers.stride;
    if (peer == self) continue;
    call.sends.push_back({.peer = peer, .parcel = out(peer), .gives = gives});
    call.receives.push_back({.peer = peer, .parcel = in(peer), .gives = gives});
  }
  return call;
}

// Every rank of `peers` gets what all of them hold; held(rank) is the parcel of a rank.
template <class Held>
Call all_gather(const Peers& peers, std::int64_t self, const When& when, Held held) {
  return exchange(
      collective::Collective::all_gather, peers, self, when, false, [&](std::int64_t) { return held(self); }, held);
}

// Every rank of `peers` gets the parts that all of them have of its share; share(rank) is the parcel of a rank.
template <class Kept>
Call give_parts(collective::Collective collective, const Peers& peers, std::int64_t self, const When& when,
                Kept share) {
  return exchange(collective, peers, self, when, true, share, [&](std::int64_t) { return share(self); });
}

// Into the order in which a rank makes its calls: those of one stage as they were added.
void order_calls(RankList& list);

}  // namespace cairn::sequence
