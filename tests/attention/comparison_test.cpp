// Ways of sharing attention, by hand: 1,024 tokens, 4 heads of 16 elements of 2 bytes, on 8 GPUs.
#include "cairn/attention/comparison.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "attention/small_request.h"
#include "catch.h"

using namespace cairn;
using attention::Comparison;
using attention::Way;
using testing::of_scheme;
using testing::small_request;

namespace {

constexpr std::int64_t k_block = 1024 / 8 * 4 * 16 * 2;  // [B] of Q, K, V or O that a rank owns
constexpr std::int64_t k_statistic = 1024 / 8 * 4 * 4;   // [B] of log-sum-exp or delta

const Way& only(const Comparison& comparison) {
  REQUIRE(comparison.ways.size() == 1);
  REQUIRE(comparison.ways.front().stands());
  return comparison.ways.front();
}

const Way* on(const Comparison& comparison, std::int64_t rows, std::int64_t columns) {
  for (const Way& way : comparison.ways)
    if (way.stands() && way.grid.rows == rows && way.grid.columns == columns) return &way;
  return nullptr;
}

}  // namespace

TEST_CASE("attention: what a ring moves and holds", "[attention]") {
  const Comparison comparison = of_scheme(small_request(), "ring");
  const Way& ring = only(comparison);
  // K and V of the 7 others; backward these again and 8 parts of dK and dV, the last of which is its own.
  CHECK(ring.received.forward == 7 * 2 * k_block);
  CHECK(ring.received.backward == 7 * 2 * k_block + 8 * 2 * k_block);
  CHECK(ring.sent.forward == ring.received.forward);
  CHECK(ring.messages == 7 + 15);
  // Of a causal mask the last rank computes 128 x 896 pairs and a triangle of 128, of 1024 x 1025 / 2 by 8 ranks.
  CHECK(ring.balance == Approx(1024.0 * 1025.0 / 16.0 / (128.0 * 896.0 + 128.0 * 129.0 / 2.0)));
  CHECK_FALSE(ring.bound.forward.ratio.has_value());
  CHECK(ring.bound.forward.premise.find("unequal") != std::string::npos);
  CHECK(ring.compute > 0);
  CHECK(ring.exposed() >= 0);
  CHECK(ring.total() == ring.compute + ring.exposed());
}

TEST_CASE("attention: the forward pass alone", "[attention]") {
  attention::Request request = small_request();
  const Way both = only(of_scheme(request, "zigzag"));
  request.backward = false;
  const Way forward = only(of_scheme(request, "zigzag"));
  CHECK(forward.received.backward == 0);
  CHECK(forward.time.backward == 0);
  CHECK(forward.messages == 7);
  CHECK(forward.time.forward == both.time.forward);
  // Q, K, V, O and log-sum-exp of its tokens, and the K and V that come next beside those in use.
  CHECK(forward.memory == 4 * k_block + k_statistic + 2 * 2 * k_block);
}

TEST_CASE("attention: ratios to the lower bound", "[attention]") {
  attention::Request request = small_request();
  request.mask = sequence::Mask::full;
  const Comparison comparison = of_scheme(request, "attention2d");
  // One copy, whole heads, equal shares: 4 (sqrt(8) - 1) words of d = 64 for each of 128 tokens.
  const double least = 4.0 * (std::sqrt(8.0) - 1.0) * 64.0 * 128.0 * 2.0;
  CHECK(comparison.bound_bytes.forward == Approx(least));
  // On 2 x 4 ranks Q and O of the 3 others of the row, with log-sum-exp of O; K and V of the other of the column.
  const Way* grid = on(comparison, 2, 4);
  REQUIRE(grid != nullptr);
  CHECK(grid->received.forward == 3 * (2 * k_block + k_statistic) + 2 * k_block);
  REQUIRE(grid->bound.forward.ratio.has_value());
  CHECK(*grid->bound.forward.ratio == Approx(static_cast<double>(grid->received.forward) / least));
  CHECK(grid->balance == 1.0);
}

namespace {

// Ratios of all ways of a request, forward and backward, each at least 1; how many there are of either.
attention::Passes<int> bounded_ways(const attention::Request& request) {
  attention::Passes<int> found;
  const auto count = [](const Way& way, const attention::BoundRatio& bound, int& of_pass) {
    INFO(way.scheme->name << " " << sequence::text(way.grid));
    if (bound.ratio) {
      CHECK(*bound.ratio >= 1.0);
      ++of_pass;
    } else if (way.stands()) {
      CHECK_FALSE(bound.premise.empty());
    }
  };
  for (const Way& way : attention::compare(request).ways) {
    count(way, way.bound.forward, found.forward);
    count(way, way.bound.backward, found.backward);
  }
  return found;
}

}  // namespace

// The bound is positive from 4 ranks on: 2 a b p > (a + b)^2 with a = 2, b = 2 / g forward and a = 3, b = 4 / g
// backward, so 8 / g > (1 + 1 / g)^2 and 96 / g > (3 + 4 / g)^2 for p = 4, g <= 4. Zigzag work is exactly even under a
// causal mask, blocks are under a full one, and rings move whole heads: some way meets the premises of either pass.
TEST_CASE("attention: no way beats the lower bound", "[attention]") {
  const config::Loader loader = testing::shipped();
  struct Nodes {
    int count;
    int gpus;
  };
  for (const Nodes nodes : {Nodes{1, 4}, Nodes{1, 8}, Nodes{3, 4}, Nodes{2, 8}, Nodes{8, 8}}) {
    const std::string gpus = std::to_string(nodes.gpus);
    attention::Request request = small_request();
    request.network = hardware::load_machine(loader, "dgx-h100",
                                             {"nodes=" + std::to_string(nodes.count), "gpus_per_node=" + gpus,
                                              "inter.nics_per_node=" + gpus})
                          .network;
    for (const std::int64_t tokens_per_rank : {6, 64})
      for (const sequence::Mask mask : {sequence::Mask::full, sequence::Mask::causal})
        for (const std::int64_t kv_heads : {4, 2, 1}) {
          request.tokens = tokens_per_rank * request.context_ranks();
          request.mask = mask;
          request.kv_heads = kv_heads;
          INFO(request.context_ranks() << " ranks, " << request.tokens << " tokens, " << kv_heads << " heads of keys"
                                       << (mask == sequence::Mask::causal ? ", causal" : ", full"));
          const attention::Passes<int> found = bounded_ways(request);
          CHECK(found.forward > 0);
          CHECK(found.backward > 0);
        }
  }
}

TEST_CASE("attention: ways are in order, and every scheme is there", "[attention]") {
  const Comparison comparison = attention::compare(small_request());
  std::set<std::string_view> schemes;
  for (std::size_t i = 0; i < comparison.ways.size(); ++i) {
    const Way& way = comparison.ways[i];
    schemes.insert(way.scheme->name);
    if (i == 0) continue;
    const Way& before = comparison.ways[i - 1];
    CHECK(before.stands() >= way.stands());
    if (way.stands()) CHECK(before.total() <= way.total());
  }
  CHECK(schemes.size() == sequence::schemes().size());
  // Shown is the first way of each.
  std::set<std::string_view> shown;
  for (const std::size_t i : comparison.shown()) CHECK(shown.insert(comparison.ways[i].scheme->name).second);
  CHECK(shown == schemes);
  // 4 heads cannot be split among 8 ranks.
  const auto ulysses = std::find_if(comparison.ways.begin(), comparison.ways.end(),
                                    [](const Way& way) { return way.scheme->name == "ulysses"; });
  REQUIRE(ulysses != comparison.ways.end());
  CHECK(ulysses->refusal.has_value());
}

TEST_CASE("attention: a choice of grids", "[attention]") {
  attention::Request request = small_request();
  request.choice = {.scheme = "attention2d", .grid = {.sides = sequence::Sides{.rows = 2, .columns = 4}}};
  for (const Way& way : attention::compare(request).ways) {
    CHECK(way.grid.rows == 2);
    CHECK(way.grid.columns == 4);
  }
  request.choice = {.grid = {.head_ranks = 2, .token_ranks = 4}};
  for (const Way& way : attention::compare(request).ways) CHECK(way.grid.head_ranks == 2);
}

TEST_CASE("attention: tensor ranks take their share of the heads", "[attention]") {
  attention::Request request = small_request(2);
  request.tensor_ranks = 2;
  const Comparison comparison = of_scheme(request, "zigzag");
  CHECK(comparison.problem.heads == 2);
  // 8 of the 16 GPUs share the tokens, with half of the heads.
  CHECK(only(comparison).received.forward == 7 * 2 * k_block / 2);
}

TEST_CASE("attention: communication falls with the root of the ranks in two dimensions", "[attention]") {
  // Full mask, one sequence of fixed length: on square grids 2 (sqrt(p) - 1) / p of Q, O, K, V each, log-sum-exp alike;
  // around a ring 2 (p - 1) / p of K, V.
  const auto received = [](const std::string& scheme, std::int64_t side) {
    attention::Request request = small_request(side * side / 8);
    request.tokens = 4096;
    request.mask = sequence::Mask::full;
    request.backward = false;
    if (scheme == "attention2d") request.choice.grid.sides = sequence::Sides{.rows = side, .columns = side};
    return static_cast<double>(of_scheme(request, scheme).best()->received.forward);
  };
  const double of_16 = received("attention2d", 4), of_64 = received("attention2d", 8),
               of_256 = received("attention2d", 16), of_1024 = received("attention2d", 32);
  CHECK(of_64 / of_16 == Approx(7.0 / 64.0 * 16.0 / 3.0));
  CHECK(of_256 / of_64 == Approx(15.0 / 256.0 * 64.0 / 7.0));
  CHECK(of_1024 / of_256 == Approx(31.0 / 1024.0 * 256.0 / 15.0));
  // (sqrt(p) - 1) / p is p^-0.5 times 1 - 1 / sqrt(p), which rises with p: its local exponent is
  // -0.5 + ln((1 - 1/sqrt(4 p)) / (1 - 1/sqrt(p))) / ln 4. From 16 to 64 ranks that is -0.5 + ln(7/6) / ln 4 = -0.389,
  // no square root yet; from 64 on -0.450 and -0.476, and -0.463 over all of 64 to 1024.
  const auto exponent = [](double more, double fewer, double times) {
    return std::log(more / fewer) / std::log(times);
  };
  CHECK(exponent(of_64, of_16, 4) == Approx(-0.5 + std::log(7.0 / 6.0) / std::log(4.0)));
  CHECK(exponent(of_256, of_64, 4) == Approx(-0.5).margin(0.05));
  CHECK(exponent(of_1024, of_256, 4) == Approx(-0.5).margin(0.05));
  CHECK(exponent(of_1024, of_64, 16) == Approx(-0.5).margin(0.05));
  // A ring stays where it is: 1023 / 1024 against 63 / 64.
  CHECK(received("ring", 32) / received("ring", 8) == Approx(1023.0 / 1024.0 * 64.0 / 63.0));
}

// In blocks of n d / p a ring receives 2 x 63 forward and 2 x 63 + 2 x 64 backward, a rank of 8 x 8 4 x 7 and 7 x 7:
// 126 / 28 = 4.50 and 380 / 77 = 4.94. Where the ring passes fp32 sums on, 508 / 77 = 6.60; statistics make that 6.55.
TEST_CASE("attention: a square of 64 ranks receives a fraction of what a ring of them does", "[attention]") {
  attention::Request request = small_request(8);
  request.tokens = 65536;
  request.heads = request.kv_heads = 32;
  request.head_dim = 128;
  request.mask = sequence::Mask::full;
  request.choice.grid.sides = sequence::Sides{.rows = 8, .columns = 8};
  const attention::Comparison square = of_scheme(request, "attention2d");
  request.choice.grid = {};
  const attention::Comparison ring = of_scheme(request, "ring");
  request.fp32_gradients = true;
  const attention::Comparison wide = of_scheme(request, "ring");
  const auto both = [](const attention::Comparison& of) {
    return static_cast<double>(of.best()->received.forward + of.best()->received.backward);
  };
  CHECK(static_cast<double>(ring.best()->received.forward) / static_cast<double>(square.best()->received.forward) ==
        Approx(4.50).epsilon(0.02));
  CHECK(both(ring) / both(square) == Approx(4.94).epsilon(0.02));
  CHECK(both(wide) / both(square) == Approx(6.55).epsilon(0.02));
}

// The same on a flat network: 64 nodes of one GPU, whose one adapter carries 100 MB/s without delay, so that kernels
// hide behind messages and times are as bytes are.
TEST_CASE("attention: on a slow flat network a square of 64 ranks takes a fraction of the time", "[attention]") {
  const config::Loader loader = testing::shipped();
  const hardware::Machine machine = hardware::load_machine(
      loader, "dgx-h100",
      {"nodes=64", "gpus_per_node=1", "inter.nics_per_node=1", "inter.bandwidth=100 MB/s", "inter.latency=0 us"});
  attention::Request request{.accelerator = machine.accelerator.value,
                             .network = machine.network,
                             .calibration = cost::load_calibration(loader, "h100-sxm5-80gb"),
                             .tokens = 65536,
                             .heads = 32,
                             .kv_heads = 32,
                             .head_dim = 128,
                             .mask = sequence::Mask::full};
  request.choice.grid.sides = sequence::Sides{.rows = 8, .columns = 8};
  const Way square = *of_scheme(request, "attention2d").best();
  request.choice.grid = {};
  const Way ring = only(of_scheme(request, "ring"));
  CHECK(static_cast<double>(ring.time.forward) / static_cast<double>(square.time.forward) ==
        Approx(4.50).epsilon(0.02));
  CHECK(static_cast<double>(ring.total()) / static_cast<double>(square.total()) == Approx(4.94).epsilon(0.02));
}
