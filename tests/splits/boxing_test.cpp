#include "cairn/splits/boxing.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "catch.h"
#include "linked_mesh.h"

namespace cairn::splits {
namespace {

using core::Bytes;
using core::Seconds;
using Kind = Placement::Kind;

Placement shard(std::uint8_t dim) { return {.kind = Kind::shard, .dim = dim}; }
const Placement k_whole{.kind = Kind::replicate};
const Placement k_summand{.kind = Kind::partial};
const std::vector<Placement> k_placements = {shard(0), shard(1), k_whole, k_summand};

// What each device knows of one element: a set of summands, bit by bit. The value itself counts as one summand.
using Known = std::vector<unsigned>;

// Whether the receivers, the last `devices` entries, have the element (i, j) of a devices x devices tensor as `to`
// wants it. P: each keeps some of what it knows, so that each summand is kept once; it suffices that they know all
// together.
bool has(const Known& known, const Placement& to, std::size_t devices, std::size_t i, std::size_t j, unsigned all) {
  const std::size_t first = known.size() - devices;
  if (to.kind == Kind::shard) return known[first + (to.dim == 0 ? i : j)] == all;
  const auto begin = known.begin() + static_cast<std::ptrdiff_t>(first);
  if (to.kind == Kind::replicate) return std::all_of(begin, known.end(), [&](unsigned each) { return each == all; });
  return std::accumulate(begin, known.end(), 0u, [](unsigned a, unsigned b) { return a | b; }) == all;
}

// Least number of messages until `has`, by breadth-first search. A message carries all that its sender knows, more than
// one element does, so that the number is a lower bound; the table's algorithms reach it.
int least_messages(const Known& start, const Placement& to, std::size_t devices, std::size_t i, std::size_t j,
                   unsigned all) {
  std::map<Known, int> seen{{start, 0}};
  std::deque<Known> open{start};
  while (true) {
    const Known known = open.front();
    open.pop_front();
    if (has(known, to, devices, i, j, all)) return seen[known];
    for (std::size_t sender = 0; sender < known.size(); ++sender)
      for (std::size_t receiver = 0; receiver < known.size(); ++receiver) {
        Known after = known;
        after[receiver] |= known[sender];
        if (seen.try_emplace(after, seen[known] + 1).second) open.push_back(after);
      }
  }
}

// Elements that all devices receive at the least, of a tensor of side x side elements.
int least_received(const Placement& from, const Placement& to, std::size_t senders, std::size_t receivers, bool apart) {
  const std::size_t side = senders * receivers;
  int total = 0;
  for (std::size_t row = 0; row < side; ++row)
    for (std::size_t column = 0; column < side; ++column) {
      Known known(apart ? senders + receivers : senders, 0);
      const std::size_t holder = (from.dim == 0 ? row : column) * senders / side;
      for (std::size_t device = 0; device < senders; ++device) {
        if (from.kind == Kind::partial) known[device] = 1u << device;
        if (from.kind == Kind::replicate || (from.kind == Kind::shard && device == holder)) known[device] = 1;
      }
      const unsigned all = from.kind == Kind::partial ? (1u << senders) - 1 : 1;
      total += least_messages(known, to, receivers, row * receivers / side, column * receivers / side, all);
    }
  return total;
}

// Of one change along the only axis.
double boxed_s(const LinkedAxis& axis, const Placement& from, const Placement& to, double bytes) {
  LinkedMesh mesh({axis});
  return core::to_seconds(mesh.boxing({16, 16}, bytes).time({from}, {to}));
}

double seconds(core::Picoseconds time) { return core::to_seconds(time); }

}  // namespace

TEST_CASE("Boxing receives the least that devices can, on the same ones and on others") {
  for (const Placement& from : k_placements)
    for (const Placement& to : k_placements) {
      CAPTURE(text(NdPlacement{from}), text(NdPlacement{to}));
      for (const std::size_t p : {1, 2, 3, 4}) {
        const auto elements = Bytes::from_base(static_cast<double>(p * p * p * p));
        const auto devices = static_cast<std::int64_t>(p);
        REQUIRE(boxing_bytes(from, to, devices, elements) / core::k_byte ==
                Approx(least_received(from, to, p, p, false)).margin(1e-9));
      }
      for (const auto& [p1, p2] : {std::pair{1, 2}, {2, 1}, {2, 2}, {3, 1}, {1, 3}, {2, 3}, {3, 2}}) {
        const auto elements = Bytes::from_base(std::pow(p1 * p2, 2));
        REQUIRE(boxing_bytes_apart(from, to, p1, p2, elements) / core::k_byte ==
                least_received(from, to, static_cast<std::size_t>(p1), static_cast<std::size_t>(p2), true));
      }
    }
}

TEST_CASE("Rings move what boxing receives, in the steps of their kind") {
  const Bytes tensor = Bytes::from_base(960.0);
  const LinkedAxis axis = linked("x", 4, 100.0, 2.0);
  // All-gather: 3 steps, 3/4 of 960 bytes at 2 B/s. All-to-all: of the 240 bytes of a device.
  REQUIRE(boxed_s(axis, shard(0), k_whole, 960.0) == 300.0 + 360.0);
  REQUIRE(boxed_s(axis, k_summand, shard(1), 960.0) == 300.0 + 360.0);
  REQUIRE(boxed_s(axis, k_summand, k_whole, 960.0) == 600.0 + 720.0);
  REQUIRE(boxed_s(axis, shard(0), shard(1), 960.0) == 300.0 + 90.0);
  for (const Placement& from : k_placements)
    for (const Placement& to : k_placements) {
      const double received = boxed_s(linked("x", 4, 0.0, 1.0), from, to, 960.0) * 4.0;
      REQUIRE(received == Approx(boxing_bytes(from, to, 4, tensor) / core::k_byte));
      REQUIRE((boxing_collective(from, to) == program::Collective::none) == (received == 0.0));
      if (to.kind != Kind::partial) REQUIRE(boxing_collective(from, to) == program::redistribute(from, to));
    }
}

TEST_CASE("Data parallelism and ZeRO move the known volumes") {
  // Per step, in tensors per p - 1 devices. Data parallelism: an all-reduce of gradients, 2. ZeRO-1 and 2: gradients
  // scattered, parameters gathered, 2. ZeRO-3: parameters gathered twice, gradients scattered, 3.
  const Bytes tensor = Bytes::from_base(1.0);
  const double gather = boxing_bytes(shard(0), k_whole, 8, tensor) / core::k_byte;
  const double scatter = boxing_bytes(k_summand, shard(0), 8, tensor) / core::k_byte;
  REQUIRE(boxing_bytes(k_summand, k_whole, 8, tensor) / core::k_byte == 2.0 * 7.0);
  REQUIRE(gather + scatter == 2.0 * 7.0);
  REQUIRE(2.0 * gather + scatter == 3.0 * 7.0);
}

TEST_CASE("On one axis, no detour is cheaper than the table") {
  LinkedMesh mesh({linked("x", 4, 1.0, 2.0)});
  TensorBoxing boxing = mesh.boxing({8, 12}, 960.0);
  for (const Placement& from : k_placements)
    for (const Placement& to : k_placements) {
      const program::Collective collective = boxing_collective(from, to);
      const BoxingSteps steps = boxing.steps({from}, {to});
      REQUIRE(steps.size() == (collective == program::Collective::none ? 0 : 1));
      if (!steps.empty()) REQUIRE(steps.front().transfer.collective == collective);
    }
}

TEST_CASE("Sums over a slow and a fast axis are scattered inside, reduced outside and gathered inside") {
  // 2 nodes of 4 devices, 100 times as fast inside. T = 64: inside 2 * 3/4 * 64 / 100, outside 2 * 1/2 * (64 / 4) / 1.
  LinkedMesh mesh({linked("node", 2, 0.0, 1.0), linked("gpu", 4, 0.0, 100.0)});
  TensorBoxing boxing = mesh.boxing({4, 4}, 64.0);
  const NdPlacement summands{k_summand, k_summand}, whole{k_whole, k_whole};
  REQUIRE(seconds(boxing.time(summands, whole)) == Approx(0.96 + 16.0));
  using program::Collective;
  std::vector<std::pair<std::size_t, Collective>> found;
  core::Picoseconds total = 0;
  for (const BoxingStep& step : boxing.steps(summands, whole)) {
    found.emplace_back(step.axis, step.transfer.collective);
    total += step.time;
  }
  REQUIRE(found == std::vector<std::pair<std::size_t, Collective>>{
                       {1, Collective::reduce_scatter}, {0, Collective::all_reduce}, {1, Collective::all_gather}});
  REQUIRE(total == boxing.time(summands, whole));
  // A result that leaves as it is best scattered, and its gradient gathered: the same bytes.
  const NdPlacement between = boxing.whole_between(summands, whole);
  REQUIRE(seconds(boxing.time(summands, between) + boxing.time(between, whole)) == Approx(0.96 + 16.0));
}

TEST_CASE("An axis outside another that splits the same dimension cannot be gathered alone") {
  LinkedMesh mesh({linked("outer", 2, 0.0, 1.0), linked("inner", 4, 0.0, 1.0)});
  TensorBoxing boxing = mesh.boxing({8}, 64.0);
  // Gathered inside, 3/4 of 64 / 2. Then each node holds a half, zeros in place of the other: of their sum a quarter
  // per device is reduced outside, 2 * 1/2 * 64 / 4. To gather outside whole would take 32.
  REQUIRE(seconds(boxing.time({shard(0), shard(0)}, {k_whole, shard(0)})) == Approx(24.0 + 16.0));
  REQUIRE(boxing.steps({shard(0), shard(0)}, {k_whole, shard(0)}).size() == 2);
  REQUIRE(seconds(boxing.time({shard(0), shard(0)}, {shard(0), k_whole})) == Approx(24.0));
  // To split outside what is split inside: each device fills its quarter up with zeros and keeps half a tensor of that,
  // whose sum is scattered inside, 3/4 of 64 / 2.
  REQUIRE(seconds(boxing.time({k_whole, shard(0)}, {shard(0), shard(0)})) == Approx(24.0));
  REQUIRE_FALSE(mesh.boxing({4}, 0.0).fits({shard(0), shard(0)}));
}

}  // namespace cairn::splits
