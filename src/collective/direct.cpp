// Every share straight to where it is wanted. All-to-all: in step s rank p sends to p + s + 1, so that each rank receives
// from one at a time. Gather: all to rank 0 at once. Send: the one message.
#include "algorithm_list.h"
#include "phases.h"

namespace cairn::collective {
namespace {

void all_to_all_messages(const MessageList& list, std::int64_t node, Port& port) {
  const std::int64_t n = list.group.ranks;
  exchange({.count = n}, {.by_source = n}, node, 0, port);
}

void gather_messages(const MessageList& list, std::int64_t node, Port& port) {
  if (node > 0) return port.sends({.first = {.source = node, .chunk = node}});
  if (list.group.ranks > 1)
    port.receives(
        {.first = {.source = 1, .chunk = 1}, .count = list.group.ranks - 1, .stride = {.source = 1, .chunk = 1}});
}

void send_messages(const MessageList& list, std::int64_t node, Port& port) {
  if (list.group.ranks < 2) return;
  const Run message{.first = {.source = 0, .destination = 1}};
  if (node == 0) port.sends(message);
  if (node == 1) port.receives(message);
}

}  // namespace

std::optional<MessageList> direct(Collective collective, const Group& group) {
  const std::int64_t n = group.ranks;
  MessageList list{.collective = collective, .group = group, .nodes = n};
  switch (collective) {
    case Collective::all_to_all:
      if (n > k_most_paired) return std::nullopt;
      list.chunks = n * n;
      list.steps = n - 1;
      list.messages_of = all_to_all_messages;
      return list;
    case Collective::gather:
      list.chunks = n;
      list.steps = n > 1 ? 1 : 0;
      list.messages_of = gather_messages;
      return list;
    case Collective::send:
      list.steps = n > 1 ? 1 : 0;
      list.messages_of = send_messages;
      return list;
    default:
      return std::nullopt;
  }
}

}  // namespace cairn::collective
