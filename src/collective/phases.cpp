#include "phases.h"

#include <algorithm>
#include <bit>

namespace cairn::collective {
namespace {

// Places of a circle of n.
std::int64_t after(std::int64_t place, std::int64_t n) { return place + 1 == n ? 0 : place + 1; }
std::int64_t before(std::int64_t place, std::int64_t n) { return place == 0 ? n - 1 : place - 1; }

void show(const Run& run, End end, Port& port) {
  if (run.count < 1) return;
  if (end == End::sender)
    port.sends(run);
  else
    port.receives(run);
}

}  // namespace

// From place p to the next: blocks first, first - 1, ... in a circle, all but one.
void ring_link(RingPhase phase, const Members& members, const Blocks& blocks, std::int64_t from,
               std::int64_t first_step, End end, Port& port) {
  const std::int64_t n = members.count;
  if (n < 2) return;
  const bool reduces = phase == RingPhase::reduce_scatter;
  const std::int64_t first = reduces ? before(from, n) : from;
  const std::int64_t descending = std::min(first + 1, n - 1);
  Run run{.first = {.step = first_step,
                    .source = members.node(from),
                    .destination = members.node(after(from, n)),
                    .chunk = blocks.first + first * blocks.stride,
                    .reduces = reduces},
          .count = descending,
          .stride = {.step = 1, .chunk = -blocks.stride},
          .width = blocks.width,
          .width_stride = blocks.width_stride};
  show(run, end, port);
  run.first.step += descending;
  run.first.chunk = blocks.first + (n - 1) * blocks.stride;
  run.count = n - 1 - descending;
  show(run, end, port);
}

void ring(RingPhase phase, const Members& members, const Blocks& blocks, std::int64_t place, std::int64_t first_step,
          Port& port) {
  ring_link(phase, members, blocks, place, first_step, End::sender, port);
  ring_link(phase, members, blocks, before(place, members.count), first_step, End::receiver, port);
}

void chain(ChainPhase phase, const Members& members, std::int64_t chunk, std::int64_t pieces, std::int64_t place,
           std::int64_t first_step, Port& port) {
  const std::int64_t last = members.count - 1;
  // The link between two neighbours: at the low end, that nearer to place 0.
  const auto link = [&](std::int64_t low, End end) {
    const bool down = phase == ChainPhase::broadcast;
    show({.first = {.step = first_step + (down ? low : last - 1 - low),
                    .source = members.node(down ? low : low + 1),
                    .destination = members.node(down ? low + 1 : low),
                    .chunk = chunk,
                    .reduces = !down},
          .count = pieces,
          .stride = {.step = 1, .chunk = 1}},
         end, port);
  };
  const bool down = phase == ChainPhase::broadcast;
  if (place > 0) link(place - 1, down ? End::receiver : End::sender);
  if (place < last) link(place, down ? End::sender : End::receiver);
}

void exchange(const Members& members, const PairBlocks& blocks, std::int64_t place, std::int64_t first_step,
              Port& port) {
  const std::int64_t n = members.count;
  const auto run = [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    return Run{.first = {.step = first_step + (to > from ? to - from : to - from + n) - 1,
                         .source = members.node(from),
                         .destination = members.node(to),
                         .chunk = blocks.first + from * blocks.by_source + to * blocks.by_destination},
               .count = count,
               .width = blocks.width,
               .width_stride = blocks.width_stride};
  };
  const auto sends = [&](std::int64_t to, std::int64_t count) {
    Run sent = run(place, to, count);
    sent.stride = {.step = 1, .destination = members.stride, .chunk = blocks.by_destination};
    show(sent, End::sender, port);
  };
  const auto receives = [&](std::int64_t from, std::int64_t count) {
    Run received = run(from, place, count);
    received.stride = {.step = -1, .source = members.stride, .chunk = blocks.by_source};
    show(received, End::receiver, port);
  };
  sends(place + 1, n - 1 - place);
  sends(0, place);
  receives(place + 1, n - 1 - place);
  receives(0, place);
}

bool power_of_two(std::int64_t n) { return std::has_single_bit(static_cast<std::uint64_t>(n)); }
std::int64_t ceil_log2(std::int64_t n) { return std::bit_width(static_cast<std::uint64_t>(n - 1)); }

}  // namespace cairn::collective
