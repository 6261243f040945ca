// Binomial tree. Broadcast: in step s every rank below 2^s sends the tensor to the one 2^s further. Reduce: the same
// backwards.
#include <bit>

#include "algorithm_list.h"
#include "phases.h"

namespace cairn::collective {
namespace {

void binomial_tree_messages(const MessageList& list, std::int64_t node, Port& port) {
  const bool reduces = list.collective == Collective::reduce;
  const auto message = [&](std::int64_t parent, std::int64_t bit) {
    const std::int64_t child = parent + (std::int64_t{1} << bit);
    return Run{.first = {.step = reduces ? list.steps - 1 - bit : bit,
                         .source = reduces ? child : parent,
                         .destination = reduces ? parent : child,
                         .reduces = reduces}};
  };
  const auto show = [&](const Run& run) {
    if (run.first.source == node)
      port.sends(run);
    else
      port.receives(run);
  };
  const std::int64_t bits = std::bit_width(static_cast<std::uint64_t>(node));
  if (node > 0) show(message(node - (std::int64_t{1} << (bits - 1)), bits - 1));
  for (std::int64_t bit = bits; bit < list.steps && node + (std::int64_t{1} << bit) < list.group.ranks; ++bit)
    show(message(node, bit));
}

}  // namespace

std::optional<MessageList> binomial_tree(Collective collective, const Group& group) {
  if (collective != Collective::broadcast && collective != Collective::reduce) return std::nullopt;
  return MessageList{.collective = collective,
                     .group = group,
                     .nodes = group.ranks,
                     .steps = ceil_log2(group.ranks),
                     .messages_of = binomial_tree_messages};
}

}  // namespace cairn::collective
