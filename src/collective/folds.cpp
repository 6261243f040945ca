#include "cairn/collective/folds.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "cairn/collective/algorithms.h"

namespace cairn::collective {
namespace {

struct Counted final : Port {
  std::int64_t sent = 0, received = 0;
  void sends(const Run& run) override { sent += run.count * run.width; }
  void receives(const Run& run) override { received += run.count * run.width; }
};

// Every price asks for these: those of few ranks are counted once.
struct FlatCounts {
  Share busiest{};
  std::int64_t steps = 0;
};
constexpr std::int64_t k_counted_once = 256;  // ranks
constexpr std::size_t k_kinds = std::size(k_collectives) + 1;

FlatCounts count_flat(Collective collective, std::int64_t ranks) {
  if (collective == Collective::none) return {};
  const MessageList list = flat_list(collective, ranks);
  return {.busiest = busiest(list), .steps = list.steps};
}

using FlatTable = std::array<FlatCounts, k_kinds * k_counted_once>;

FlatTable count_small() {
  FlatTable table;
  for (std::size_t kind = 0; kind < k_kinds; ++kind)
    for (std::int64_t ranks = 1; ranks <= k_counted_once; ++ranks)
      table[kind * k_counted_once + static_cast<std::size_t>(ranks - 1)] =
          count_flat(static_cast<Collective>(kind), ranks);
  return table;
}

FlatCounts flat_counts(Collective collective, std::int64_t ranks) {
  static const FlatTable k_small = count_small();
  if (ranks < 1 || ranks > k_counted_once) return count_flat(collective, ranks);
  return k_small[static_cast<std::size_t>(collective) * k_counted_once + static_cast<std::size_t>(ranks - 1)];
}

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

Share flat_share(Collective collective, std::int64_t ranks) { return flat_counts(collective, ranks).busiest; }

Share in_switch_share(std::int64_t ranks) {
  return busiest(list_of("in-switch", Collective::all_reduce, {.ranks = ranks}));
}

std::int64_t flat_steps(Collective collective, std::int64_t ranks) { return flat_counts(collective, ranks).steps; }

double buffer_bytes(Collective collective, std::int64_t ranks, double whole) {
  return collective == Collective::all_to_all ? whole / static_cast<double>(ranks) : whole;
}

double bytes_sent(Collective collective, std::int64_t ranks, double whole) {
  Share share = flat_share(collective, ranks);
  if (collective == Collective::all_to_all) share.of *= ranks;
  return share.bytes(whole);
}

}  // namespace cairn::collective
