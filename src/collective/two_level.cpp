// Two levels: m domains of r ranks, rank d r + i at place i of domain d. Between domains only ranks of one place speak.
//   reduce-scatter  inside, place i collects the chunks of all ranks at place i; then across
//   all-gather      across, then inside
//   all-reduce      one after the other: 2 (m-1)/m S/r leaves a domain per rank
//   all-to-all      inside, place j gets what is for ranks at place j anywhere; then across, (m-1)/m S per rank
//   broadcast       rank 0 deals r parts out inside, each goes along a chain of domains, all are gathered inside
#include "algorithm_list.h"
#include "phases.h"

namespace cairn::collective {
namespace {

struct Levels {
  explicit Levels(const Group& group, std::int64_t node)
      : per_domain(group.domain),
        domains(group.ranks / group.domain),
        domain(node / group.domain),
        place(node % group.domain) {}

  Members inside() const { return {.count = per_domain, .first = domain * per_domain}; }
  Members across() const { return {.count = domains, .first = place, .stride = per_domain}; }
  // Chunks of one place over all domains, and of one domain at one place.
  Blocks by_place() const { return {.width = domains, .width_stride = per_domain}; }
  Blocks by_domain() const { return {.first = place, .stride = per_domain}; }

  std::int64_t per_domain, domains, domain, place;
};

std::int64_t ring_steps(std::int64_t members) { return members - 1; }

// Returns the step after.
std::int64_t scatter(const Levels& at, Port& port) {
  ring(RingPhase::reduce_scatter, at.inside(), at.by_place(), at.place, 0, port);
  ring(RingPhase::reduce_scatter, at.across(), at.by_domain(), at.domain, ring_steps(at.per_domain), port);
  return ring_steps(at.per_domain) + ring_steps(at.domains);
}

void gather(const Levels& at, std::int64_t step, Port& port) {
  ring(RingPhase::all_gather, at.across(), at.by_domain(), at.domain, step, port);
  ring(RingPhase::all_gather, at.inside(), at.by_place(), at.place, step + ring_steps(at.domains), port);
}

void two_level_exchange(const Levels& at, Port& port) {
  const std::int64_t r = at.per_domain, n = r * at.domains;
  exchange(at.inside(),
           {.first = at.domain * r * n, .by_source = n, .by_destination = 1, .width = at.domains, .width_stride = r},
           at.place, 0, port);
  exchange(at.across(), {.first = at.place, .by_source = r * n, .by_destination = r, .width = r, .width_stride = n},
           at.domain, ring_steps(r), port);
}

void two_level_broadcast(const Levels& at, Port& port) {
  const std::int64_t r = at.per_domain, dealt = r > 1 ? 1 : 0;
  if (at.domain == 0 && r > 1) {
    if (at.place == 0)
      port.sends({.first = {.source = 0, .destination = 1, .chunk = 1},
                  .count = r - 1,
                  .stride = {.destination = 1, .chunk = 1}});
    else
      port.receives({.first = {.source = 0, .destination = at.place, .chunk = at.place}});
  }
  chain(ChainPhase::broadcast, at.across(), at.place, 1, at.domain, dealt, port);
  const std::int64_t step = dealt + ring_steps(at.domains), before = (at.place + r - 1) % r;
  // Rank 0 has everything: nothing is gathered there.
  const auto ends_at_root = [&](std::int64_t from) { return at.domain == 0 && from == r - 1; };
  const auto link = [&](std::int64_t from, End end) {
    if (!ends_at_root(from)) ring_link(RingPhase::all_gather, at.inside(), {}, from, step, end, port);
  };
  link(at.place, End::sender);
  link(before, End::receiver);
}

void two_level_messages(const MessageList& list, std::int64_t node, Port& port) {
  const Levels at(list.group, node);
  switch (list.collective) {
    case Collective::reduce_scatter:
      scatter(at, port);
      return;
    case Collective::all_gather:
      return gather(at, 0, port);
    case Collective::all_to_all:
      return two_level_exchange(at, port);
    case Collective::broadcast:
      return two_level_broadcast(at, port);
    default:
      return gather(at, scatter(at, port), port);
  }
}

}  // namespace

std::optional<MessageList> two_level(Collective collective, const Group& group) {
  const std::int64_t n = group.ranks, r = group.domain;
  if (r < 1 || n % r != 0) return std::nullopt;
  const std::int64_t once = ring_steps(r) + ring_steps(n / r);
  MessageList list{.collective = collective,
                   .group = group,
                   .nodes = n,
                   .chunks = n,
                   .steps = once,
                   .messages_of = two_level_messages};
  switch (collective) {
    case Collective::all_reduce:
      list.steps = 2 * once;
      return list;
    case Collective::all_gather:
    case Collective::reduce_scatter:
      return list;
    case Collective::all_to_all:
      if (n > k_most_paired) return std::nullopt;
      list.chunks = n * n;
      return list;
    case Collective::broadcast:
      list.chunks = r;
      list.steps = (r > 1 ? 1 : 0) + once;
      return list;
    default:
      return std::nullopt;
  }
}

}  // namespace cairn::collective
