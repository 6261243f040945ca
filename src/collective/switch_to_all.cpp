// All-reduce by a switch that adds (node n) and gives every rank the sum: S out and S in per rank, in two steps.
#include "algorithm_list.h"

namespace cairn::collective {
namespace {

void switch_to_all_messages(const MessageList& list, std::int64_t node, Port& port) {
  const std::int64_t n = list.group.ranks;
  if (n < 2) return;
  Run up{.first = {.step = 0, .source = node, .destination = n, .reduces = true}};
  Run down{.first = {.step = 1, .source = n, .destination = node}};
  if (node < n) {
    port.sends(up);
    port.receives(down);
    return;
  }
  up.first.source = down.first.destination = 0;
  up.count = down.count = n;
  up.stride.source = down.stride.destination = 1;
  port.receives(up);
  port.sends(down);
}

}  // namespace

std::optional<MessageList> switch_to_all(Collective collective, const Group& group) {
  if (collective != Collective::all_reduce) return std::nullopt;
  return MessageList{.collective = collective,
                     .group = group,
                     .nodes = group.ranks + 1,
                     .steps = group.ranks > 1 ? 2 : 0,
                     .messages_of = switch_to_all_messages};
}

}  // namespace cairn::collective
