#include "cairn/collective/folds.h"

#include <algorithm>

#include "cairn/collective/algorithms.h"

namespace cairn::collective {
namespace {

struct Counted final : Port {
  std::int64_t sent = 0, received = 0;
  void sends(const Run& run) override { sent += run.count * run.width; }
  void receives(const Run& run) override { received += run.count * run.width; }
};

Counted counted(const MessageList& list, std::int64_t node) {
  Counted port;
  list.messages_of(list, node, port);
  return port;
}

}  // namespace

Share sent(const MessageList& list, std::int64_t node) {
  return {.chunks = counted(list, node).sent, .of = list.buffer_chunks()};
}

Share received(const MessageList& list, std::int64_t node) {
  return {.chunks = counted(list, node).received, .of = list.buffer_chunks()};
}

Share busiest(const MessageList& list) {
  const Counted port = counted(list, list.busiest);
  return {.chunks = std::max(port.sent, port.received), .of = list.buffer_chunks()};
}

Share sent_across(const MessageList& list, std::int64_t rank) {
  Share share{.of = list.buffer_chunks()};
  const std::int64_t home = rank / list.group.domain;
  for (const Message& message : sent_by(list, rank))
    if (message.destination < list.group.ranks && message.destination / list.group.domain != home) ++share.chunks;
  return share;
}

Share flat_share(Collective collective, std::int64_t ranks) {
  return collective == Collective::none ? Share{} : busiest(flat_list(collective, ranks));
}

double buffer_bytes(Collective collective, std::int64_t ranks, double whole) {
  return collective == Collective::all_to_all ? whole / static_cast<double>(ranks) : whole;
}

double bytes_sent(Collective collective, std::int64_t ranks, double whole) {
  Share share = flat_share(collective, ranks);
  if (collective == Collective::all_to_all) share.of *= ranks;
  return share.bytes(whole);
}

}  // namespace cairn::collective
