// Recursive doubling of an all-reduce, over powers of two: in step s partners 2^s apart give each other all that they have
// added up.
#include "algorithm_list.h"
#include "phases.h"

namespace cairn::collective {
namespace {

void recursive_doubling_messages(const MessageList& list, std::int64_t node, Port& port) {
  for (std::int64_t step = 0; step < list.steps; ++step) {
    const std::int64_t partner = node ^ (std::int64_t{1} << step);
    port.sends({.first = {.step = step, .source = node, .destination = partner, .reduces = true}});
    port.receives({.first = {.step = step, .source = partner, .destination = node, .reduces = true}});
  }
}

}  // namespace

std::optional<MessageList> recursive_doubling(Collective collective, const Group& group) {
  if (collective != Collective::all_reduce || !power_of_two(group.ranks)) return std::nullopt;
  return MessageList{.collective = collective,
                     .group = group,
                     .nodes = group.ranks,
                     .steps = ceil_log2(group.ranks),
                     .messages_of = recursive_doubling_messages};
}

}  // namespace cairn::collective
