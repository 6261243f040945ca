// Recursive halving and doubling, over powers of two. Reduce-scatter: in step s partners n / 2^(s+1) apart give each
// other the half of their chunks that lies on the other's side. All-gather: backwards, partners 2^s apart give each other
// all that they have. All-reduce: one after the other.
#include "algorithm_list.h"
#include "phases.h"

namespace cairn::collective {
namespace {

// Between partners 2^bit apart: the chunks on the receiver's side, to be added, or those on the sender's.
void halves(std::int64_t node, std::int64_t bit, std::int64_t step, bool reduces, Port& port) {
  const std::int64_t size = std::int64_t{1} << bit, partner = node ^ size;
  const auto run = [&](std::int64_t source, std::int64_t destination) {
    const std::int64_t side = reduces ? destination : source;
    return Run{.first = {.step = step,
                         .source = source,
                         .destination = destination,
                         .chunk = side / size * size,
                         .reduces = reduces},
               .width = size};
  };
  port.sends(run(node, partner));
  port.receives(run(partner, node));
}

void recursive_halving_messages(const MessageList& list, std::int64_t node, Port& port) {
  const std::int64_t bits = ceil_log2(list.group.ranks);
  std::int64_t step = 0;
  if (list.collective != Collective::all_gather)
    for (std::int64_t bit = bits; bit-- > 0;) halves(node, bit, step++, true, port);
  if (list.collective != Collective::reduce_scatter)
    for (std::int64_t bit = 0; bit < bits; ++bit) halves(node, bit, step++, false, port);
}

}  // namespace

std::optional<MessageList> recursive_halving(Collective collective, const Group& group) {
  const bool both = collective == Collective::all_reduce;
  if (!both && collective != Collective::reduce_scatter && collective != Collective::all_gather) return std::nullopt;
  if (!power_of_two(group.ranks)) return std::nullopt;
  return MessageList{.collective = collective,
                     .group = group,
                     .nodes = group.ranks,
                     .chunks = group.ranks,
                     .steps = (both ? 2 : 1) * ceil_log2(group.ranks),
                     .messages_of = recursive_halving_messages};
}

}  // namespace cairn::collective
