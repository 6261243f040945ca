// All-reduce by a switch that adds (node n): every rank sends it its whole buffer; the sum of chunk c goes to rank c, which
// multicasts it through the switch. A rank sends S (1 + 1/n) and receives S.
#include "algorithm_list.h"

namespace cairn::collective {
namespace {

enum Step : std::int64_t { k_into_switch, k_sum_to_owner, k_multicast, k_sum_to_all, k_steps };

void messages_of_rank(std::int64_t n, std::int64_t rank, Port& port) {
  port.sends({.first = {.step = k_into_switch, .source = rank, .destination = n, .chunk = 0, .reduces = true},
              .count = n,
              .stride = {.chunk = 1}});
  port.receives({.first = {.step = k_sum_to_owner, .source = n, .destination = rank, .chunk = rank}});
  port.sends({.first = {.step = k_multicast, .source = rank, .destination = n, .chunk = rank}});
  const auto receives = [&](std::int64_t from, std::int64_t count) {
    if (count < 1) return;
    port.receives({.first = {.step = k_sum_to_all, .source = n, .destination = rank, .chunk = from},
                   .count = count,
                   .stride = {.chunk = 1}});
  };
  receives(0, rank);
  receives(rank + 1, n - 1 - rank);
}

void messages_of_switch(std::int64_t n, Port& port) {
  port.receives({.first = {.step = k_into_switch, .source = 0, .destination = n, .chunk = 0, .reduces = true},
                 .count = n,
                 .stride = {.source = 1},
                 .width = n});
  port.sends({.first = {.step = k_sum_to_owner, .source = n, .destination = 0, .chunk = 0},
              .count = n,
              .stride = {.destination = 1, .chunk = 1}});
  port.receives({.first = {.step = k_multicast, .source = 0, .destination = n, .chunk = 0},
                 .count = n,
                 .stride = {.source = 1, .chunk = 1}});
  const auto sends = [&](std::int64_t chunk, std::int64_t to, std::int64_t count) {
    if (count < 1) return;
    port.sends({.first = {.step = k_sum_to_all, .source = n, .destination = to, .chunk = chunk},
                .count = count,
                .stride = {.destination = 1}});
  };
  for (std::int64_t chunk = 0; chunk < n; ++chunk) {
    sends(chunk, 0, chunk);
    sends(chunk, chunk + 1, n - 1 - chunk);
  }
}

void in_switch_messages(const MessageList& list, std::int64_t node, Port& port) {
  const std::int64_t n = list.group.ranks;
  if (n < 2) return;
  if (node < n)
    messages_of_rank(n, node, port);
  else
    messages_of_switch(n, port);
}

}  // namespace

std::optional<MessageList> in_switch(Collective collective, const Group& group) {
  if (collective != Collective::all_reduce) return std::nullopt;
  const bool alone = group.ranks < 2;
  return MessageList{.collective = collective,
                     .group = group,
                     .nodes = group.ranks + 1,
                     .chunks = group.ranks,
                     .steps = alone ? 0 : std::int64_t{k_steps},
                     .messages_of = in_switch_messages};
}

}  // namespace cairn::collective
