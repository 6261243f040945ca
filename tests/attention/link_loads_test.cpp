// What the links of a cluster carry, by hand: 1,024 tokens, 4 heads of 16 elements of 2 bytes, on 16 GPUs in two nodes
// of 8, each GPU with a link of its own inside and an adapter outside.
#include "cairn/attention/link_loads.h"

#include "attention/small_request.h"
#include "catch.h"

using namespace cairn;
using attention::LinkLoad;
using testing::of_scheme;
using testing::small_request;

namespace {

constexpr std::int64_t k_part = 1024 / 16 * 4 * 16 * 2;  // [B] of Q, K, V or O that a rank owns
constexpr std::int64_t k_lse = 1024 / 16 * 4 * 4;        // [B] of log-sum-exp

std::vector<LinkLoad> loads_of(attention::Request request, const char* scheme) {
  request.backward = false;
  const attention::Comparison comparison = of_scheme(std::move(request), scheme);
  REQUIRE(comparison.best() != nullptr);
  return comparison.best()->links;
}

void check_load(const LinkLoad& load, std::int64_t links, std::int64_t busiest, double mean) {
  INFO(load.level);
  CHECK(load.links == links);
  CHECK(load.busiest == busiest);
  CHECK(load.mean == Approx(mean));
}

}  // namespace

// Each of 16 ranks sends 15 times K and V to the next: 7 of 8 inside the node, the last of a node to the other node.
TEST_CASE("attention: a ring leaves a node by one adapter of eight", "[attention]") {
  const std::vector<LinkLoad> loads = loads_of(small_request(2), "ring");
  REQUIRE(loads.size() == 2);
  constexpr std::int64_t k_all = 15 * 2 * k_part;
  check_load(loads[0], 16, k_all, k_all * 14.0 / 16.0);
  check_load(loads[1], 16, k_all, k_all * 2.0 / 16.0);
  CHECK(loads[0].over_mean() == Approx(8.0 / 7.0));
  CHECK(loads[1].over_mean() == Approx(8.0));
}

// Backward K and V go around again, dK and dV with them and one hop further: 15 x 4 + 15 x 2 + 2 parts in both passes.
TEST_CASE("attention: links carry both passes", "[attention]") {
  const attention::Comparison comparison = of_scheme(small_request(2), "ring");
  check_load(comparison.best()->links[1], 16, (15 * 4 + 16 * 2) * k_part, (15 * 4 + 16 * 2) * k_part / 8.0);
}

// Rows of 4 consecutive ranks lie inside a node: Q, O and log-sum-exp to 3 others. Columns have 2 ranks in each node:
// K and V to 1 other inside and to 2 outside. All links alike.
TEST_CASE("attention: a square uses all links alike", "[attention]") {
  attention::Request request = small_request(2);
  request.mask = sequence::Mask::full;
  const sequence::Scheme& scheme = sequence::scheme("attention2d");
  const sequence::Grid grid{.rows = 4, .columns = 4};
  const std::vector<LinkLoad> loads = attention::link_loads(request.network, 1, scheme, request.problem(), grid, false);
  REQUIRE(loads.size() == 2);
  constexpr std::int64_t k_inside = 3 * (2 * k_part + k_lse) + 2 * k_part, k_outside = 2 * 2 * k_part;
  check_load(loads[0], 16, k_inside, static_cast<double>(k_inside));
  check_load(loads[1], 16, k_outside, static_cast<double>(k_outside));
}

// Two tensor ranks with half of the heads each: 8 context ranks, 4 to a node. The last two GPUs of a node send 7 times
// half as much of twice as many tokens.
TEST_CASE("attention: tensor ranks send beside each other", "[attention]") {
  attention::Request request = small_request(2);
  request.tensor_ranks = 2;
  const std::vector<LinkLoad> loads = loads_of(request, "ring");
  REQUIRE(loads.size() == 2);
  check_load(loads[1], 16, 7 * 2 * k_part, 7 * 2 * k_part * 4.0 / 16.0);
}

// The machine of a published headline, 64 A100 on 16 nodes: a ring uses one of a node's four adapters, 8 x 8 ranks all
// of them. A row is two nodes, so that 4 of 7 receivers of Q and O are outside; of a column no two ranks share a node.
TEST_CASE("attention: link loads of 64 ranks on 16 nodes", "[attention]") {
  const config::Loader loader = testing::shipped();
  const hardware::Machine machine =
      hardware::load_machine(loader, "dgx-a100", {"nodes=16", "gpus_per_node=4", "inter.nics_per_node=4"});
  const sequence::Problem problem{
      .tokens = 1024, .heads = 4, .kv_heads = 4, .head_dim = 16, .mask = sequence::Mask::full};
  constexpr std::int64_t k_own = 1024 / 64 * 4 * 16 * 2, k_own_lse = 1024 / 64 * 4 * 4;
  const auto loads = [&](const char* scheme, const sequence::Grid& grid) {
    return attention::link_loads(machine.network, 1, sequence::scheme(scheme), problem, grid, false);
  };
  const std::vector<LinkLoad> ring = loads("ring", {.columns = 64});
  REQUIRE(ring.size() == 2);
  check_load(ring[1], 64, 63 * 2 * k_own, 63 * 2 * k_own / 4.0);
  const std::vector<LinkLoad> square = loads("attention2d", {.rows = 8, .columns = 8});
  constexpr std::int64_t k_outside = 4 * (2 * k_own + k_own_lse) + 7 * 2 * k_own;
  check_load(square[1], 64, k_outside, static_cast<double>(k_outside));
  CHECK(square[1].over_mean() == Approx(1.0));
}

// Two adapters for the 8 GPUs of a node: the hop to the other node loads the second, of four in all.
TEST_CASE("attention: accelerators share adapters by their place", "[attention]") {
  const config::Loader loader = testing::shipped();
  attention::Request request = small_request(2);
  request.network = hardware::load_machine(loader, "dgx-h100", {"nodes=2", "inter.nics_per_node=2"}).network;
  const std::vector<LinkLoad> loads = loads_of(request, "ring");
  REQUIRE(loads.size() == 2);
  check_load(loads[1], 4, 15 * 2 * k_part, 15 * 2 * k_part * 2.0 / 4.0);
}

TEST_CASE("attention: one domain has one level, and many ranks none", "[attention]") {
  const std::vector<LinkLoad> loads = loads_of(small_request(), "ulysses-2d");
  REQUIRE(loads.size() == 1);
  CHECK(loads_of(small_request(16), "ring").empty());  // 128 ranks
}
