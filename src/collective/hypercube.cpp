// All-to-all in rounds of halves, over powers of two: in step s a rank hands on, to its partner 2^s away, what is for ranks
// that differ from it in that bit. It then holds what ranks equal to it in the bits above sent to ranks equal to it in
// those below: half of a buffer moves in each of log2 n steps.
#include "algorithm_list.h"
#include "phases.h"

namespace cairn::collective {
namespace {

void hypercube_messages(const MessageList& list, std::int64_t node, Port& port) {
  const std::int64_t n = list.group.ranks;
  for (std::int64_t step = 0; step < list.steps; ++step) {
    const std::int64_t bit = std::int64_t{1} << step, partner = node ^ bit;
    const auto run = [&](std::int64_t source, std::int64_t destination) {
      const std::int64_t origin = source / bit * bit, target = destination % (2 * bit);
      return Run{.first = {.step = step, .source = source, .destination = destination, .chunk = origin * n + target},
                 .count = bit,
                 .stride = {.chunk = n},
                 .width = n / (2 * bit),
                 .width_stride = 2 * bit};
    };
    port.sends(run(node, partner));
    port.receives(run(partner, node));
  }
}

}  // namespace

std::optional<MessageList> hypercube(Collective collective, const Group& group) {
  if (collective != Collective::all_to_all || !power_of_two(group.ranks) || group.ranks > k_most_paired)
    return std::nullopt;
  return MessageList{.collective = collective,
                     .group = group,
                     .nodes = group.ranks,
                     .chunks = group.ranks * group.ranks,
                     .steps = ceil_log2(group.ranks),
                     .messages_of = hypercube_messages};
}

}  // namespace cairn::collective
