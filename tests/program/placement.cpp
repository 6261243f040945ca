#include "cairn/program/placement.h"

#include <algorithm>
#include <map>

#include "cairn/collective/folds.h"
#include "cairn/program/program.h"
#include "catch.h"
#include "support/transfers.h"
#include "support/two_products.h"

using namespace cairn;
using program::Axis;
using program::Collective;
using program::Placement;
using Kind = program::Placement::Kind;

namespace {

constexpr Placement k_whole{};
constexpr Placement k_rows{Kind::shard, 0, ir::Monoid::sum};
constexpr Placement k_columns{Kind::shard, 1, ir::Monoid::sum};
constexpr Placement k_sums{Kind::partial, 0, ir::Monoid::sum};
constexpr Placement k_maxima{Kind::partial, 0, ir::Monoid::max};

}  // namespace

// Eight ranks in units of four. One ring: 3 -> 4 and 7 -> 0. Two rings of four, at stride 2: 2 -> 4, 3 -> 5, and 6 -> 0,
// 7 -> 1. Pairs at stride 4: every rank leaves its unit. Pairs at stride 1, and rings of four in a row, stay in one.
TEST_CASE("messages around rings that leave a unit at once") {
  const auto out = [](std::int64_t size, std::int64_t stride, std::int64_t unit, std::int64_t reach = 1) {
    return program::Group{.size = size, .stride = stride}.hops_out(unit, reach);
  };
  CHECK(out(8, 1, 4) == 1);
  CHECK(out(4, 2, 4) == 2);
  CHECK(out(2, 4, 4) == 4);
  CHECK(out(2, 1, 4) == 0);
  CHECK(out(2, 2, 4) == 0);
  CHECK(out(4, 1, 4) == 0);
  CHECK(out(4, 4, 4) == 4);
  CHECK(out(4, 8, 4) == 4);
  // Three ranks in a ring, units of four: 4 5 6 7 has 5 -> 3 and 7 -> 8.
  CHECK(out(3, 1, 4) == 2);
  CHECK(out(1, 1, 4) == 0);
  // Rings of four in units of six: 5 -> 6 leaves the first, 7 -> 4 the second.
  CHECK(out(4, 1, 6) == 1);
  // Two and three places on in one ring of eight: 2 -> 4 and 3 -> 5; 1, 2 and 3. Seven places on is one back: 4 -> 3.
  CHECK(out(8, 1, 4, 2) == 2);
  CHECK(out(8, 1, 4, 3) == 3);
  CHECK(out(8, 1, 4, 7) == 1);
}

TEST_CASE("messages around rings that leave a unit: as many as are counted") {
  for (std::int64_t size = 2; size <= 7; ++size)
    for (std::int64_t stride = 1; stride <= 4; ++stride)
      for (std::int64_t unit = 1; unit <= 12; ++unit)
        for (std::int64_t reach = 1; reach < size; ++reach) {
          const std::int64_t block = size * stride;
          std::int64_t most = 0;
          for (std::int64_t first = 0; first < block * unit; first += unit) {
            std::int64_t left = 0;
            for (std::int64_t rank = first; rank < first + unit; ++rank) {
              const std::int64_t place = rank % block / stride;
              const std::int64_t next = rank + ((place + reach) % size - place) * stride;
              left += next < first || next >= first + unit ? 1 : 0;
            }
            most = std::max(most, left);
          }
          INFO("rings of " << size << " at stride " << stride << ", " << reach << " places on, units of " << unit);
          REQUIRE(program::Group{.size = size, .stride = stride}.hops_out(unit, reach) == most);
        }
}

// All groups that lie alike, rank by rank.
TEST_CASE("the fewest and the most ranks of a group that share a domain") {
  for (std::int64_t size = 1; size <= 7; ++size)
    for (std::int64_t stride = 1; stride <= 5; ++stride)
      for (std::int64_t domain = 1; domain <= 12; ++domain) {
        std::int64_t fewest = size, most = 0;
        for (std::int64_t block = 0; block < domain; ++block)
          for (std::int64_t first = block * size * stride; first < block * size * stride + stride; ++first) {
            std::map<std::int64_t, std::int64_t> held;
            for (std::int64_t place = 0; place < size; ++place) ++held[(first + place * stride) / domain];
            for (const auto& [where, ranks] : held) {
              fewest = std::min(fewest, ranks);
              most = std::max(most, ranks);
            }
          }
        INFO("groups of " << size << " at stride " << stride << ", domains of " << domain);
        const program::Group group{.size = size, .stride = stride};
        REQUIRE(group.fewest_members(domain) == fewest);
        REQUIRE(group.members(domain) == most);
        REQUIRE(group.fills_evenly(domain) == (fewest == most));
        REQUIRE(group.crosses(domain) == (fewest < size));
      }
}

TEST_CASE("Redistribution table") {
  REQUIRE(program::redistribute(k_whole, k_whole) == Collective::none);
  REQUIRE(program::redistribute(k_whole, k_rows) == Collective::none);  // a slice
  REQUIRE(program::redistribute(k_rows, k_rows) == Collective::none);
  REQUIRE(program::redistribute(k_rows, k_columns) == Collective::all_to_all);
  REQUIRE(program::redistribute(k_rows, k_whole) == Collective::all_gather);
  REQUIRE(program::redistribute(k_sums, k_whole) == Collective::all_reduce);
  REQUIRE(program::redistribute(k_sums, k_rows) == Collective::reduce_scatter);
  REQUIRE(program::redistribute(k_maxima, k_whole) == Collective::all_reduce);
}

TEST_CASE("Bytes sent by one of n ranks") {
  REQUIRE(collective::bytes_sent(Collective::none, 8, 800.0) == 0.0);
  REQUIRE(collective::bytes_sent(Collective::all_gather, 8, 800.0) == 700.0);
  REQUIRE(collective::bytes_sent(Collective::reduce_scatter, 8, 800.0) == 700.0);
  REQUIRE(collective::bytes_sent(Collective::all_reduce, 8, 800.0) == 1400.0);
  REQUIRE(collective::bytes_sent(Collective::all_to_all, 8, 800.0) == 87.5);  // 100 bytes each, 7/8 of them leave
  REQUIRE(collective::bytes_sent(Collective::send, 2, 800.0) == 800.0);
  for (const Collective collective :
       {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce, Collective::all_to_all})
    REQUIRE(collective::bytes_sent(collective, 1, 800.0) == 0.0);
}

TEST_CASE("Placements follow from projections") {
  const ir::Model model = testing::two_products();
  const ir::Graph& graph = model.classes[0].graph;
  const ir::Operator& fc1 = graph.operators()[0];  // b, s, ffn, hidden
  const ir::Operator& fc2 = graph.operators()[1];  // b, s, hidden, ffn
  const program::SplitRule rule{.axis = Axis::tensor, .size = 4, .dims = {"kv_heads", "ffn", "sequence"}};
  REQUIRE(program::split_dim(fc1, rule) == 2);  // ffn before sequence
  REQUIRE(program::split_dim(fc2, rule) == 3);
  // Column-parallel: x whole, weights by rows, the result by its last dimension.
  REQUIRE(program::placement(fc1.accesses[0], 2) == k_whole);
  REQUIRE(program::placement(fc1.accesses[1], 2) == k_rows);
  REQUIRE(program::placement(fc1.accesses[2], 2) == Placement{Kind::shard, 2, ir::Monoid::sum});
  // Row-parallel: what is summed over is split, so the result is in parts.
  REQUIRE(program::placement(fc2.accesses[0], 3) == Placement{Kind::shard, 2, ir::Monoid::sum});
  REQUIRE(program::placement(fc2.accesses[1], 3) == k_columns);
  REQUIRE(program::placement(fc2.accesses[2], 3) == k_sums);
  // Not split at all.
  REQUIRE(program::placement(fc2.accesses[2], -1) == k_whole);
  REQUIRE(program::split_dim(fc1, {.axis = Axis::tensor, .size = 1, .dims = {"ffn"}}) == -1);
  REQUIRE(program::split_dim(fc1, {.axis = Axis::tensor, .size = 4, .dims = {"vocab"}}) == -1);
  // At a border a tensor is split along what it is itself indexed by.
  REQUIRE(program::border_placement(graph.tensor(graph.inputs()[0]), rule) ==
          Placement{Kind::shard, 1, ir::Monoid::sum});
  REQUIRE(program::border_placement(graph.tensor(graph.inputs()[0]),
                                    {.axis = Axis::tensor, .size = 4, .dims = {"ffn"}}) == k_whole);
}

TEST_CASE("Mesh: strides from the inside out, coordinates back") {
  std::array<std::int64_t, program::k_axes> sizes{};
  sizes.fill(1);
  sizes[static_cast<std::size_t>(Axis::tensor)] = 2;
  sizes[static_cast<std::size_t>(Axis::data)] = 3;
  sizes[static_cast<std::size_t>(Axis::pipeline)] = 4;
  const auto arranged = [&](const program::AxisOrder& order) {
    return program::Mesh({order.data(), order.size()}, sizes);
  };
  const program::Mesh mesh = arranged({Axis::tensor, Axis::context, Axis::data, Axis::pipeline});
  REQUIRE(mesh.ranks() == 24);
  REQUIRE(mesh.group(Axis::tensor).stride == 1);
  REQUIRE(mesh.group(Axis::data).stride == 2);
  REQUIRE(mesh.group(Axis::pipeline).stride == 6);
  for (std::int64_t rank = 0; rank < 24; ++rank)
    REQUIRE(rank == mesh.coordinate(rank, Axis::tensor) + 2 * mesh.coordinate(rank, Axis::data) +
                        6 * mesh.coordinate(rank, Axis::pipeline));
  const program::Mesh other = arranged({Axis::pipeline, Axis::tensor, Axis::context, Axis::data});
  REQUIRE(other.group(Axis::pipeline).stride == 1);
  REQUIRE(other.group(Axis::tensor).stride == 4);
  REQUIRE(other.group(Axis::data).stride == 8);
}

TEST_CASE("Memory profiles in a row") {
  // Holds 3 in the end, 10 at most; then gives back 1, 4 at most: 3 + 4 < 10.
  const program::MemoryProfile a{.delta = 3, .peak = 10};
  const program::MemoryProfile b{.delta = -1, .peak = 4};
  REQUIRE(program::then(a, b).delta == 2);
  REQUIRE(program::then(a, b).peak == 10);
  REQUIRE(program::then(b, a).peak == 9);
  REQUIRE(program::repeated(a, 4).delta == 12);
  REQUIRE(program::repeated(a, 4).peak == 19);
  REQUIRE(program::repeated(b, 4).peak == 4);
  REQUIRE(program::repeated(a, 0).delta == 0);
  REQUIRE(program::repeated(a, 0).peak == 0);
}
