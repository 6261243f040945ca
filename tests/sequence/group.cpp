// What stands for a group: no rank of it computes, moves or holds more.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "cairn/core/random.h"
#include "cairn/sequence/folds.h"
#include "cairn/sequence/group.h"
#include "catch.h"
#include "sequence/scheme_cases.h"

using namespace cairn::sequence;

namespace {

void require_most_of_any_rank(const test::Case& each) {
  INFO(each);
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    std::int64_t most_joined = 0;
    std::int64_t most_pairs = 0, most_bytes = 0, most_sent = 0, most_received = 0, most_held = 0;
    std::int32_t stages = 0;
    for (std::int64_t rank = 0; rank < each.grid.ranks(); ++rank) {
      const RankList list = each.scheme->list(each.problem, each.grid, pass, rank);
      const std::int64_t sent = bytes_sent(each.problem, list), received = bytes_received(each.problem, list);
      const std::int64_t computed = pairs(each.problem, list);
      if (computed > most_pairs) most_joined = 0;
      most_pairs = std::max(most_pairs, computed);
      if (computed == most_pairs) most_joined = std::max(most_joined, joined_elements(each.problem, list, pass));
      most_bytes = std::max({most_bytes, sent, received});
      most_sent = std::max(most_sent, sent);
      most_received = std::max(most_received, received);
      most_held = std::max(most_held, buffer_bytes(each.problem, list));
      stages = std::max(stages, list.stages);
    }
    const auto group = group_pass(*each.scheme, each.problem, each.grid, pass);
    std::int64_t sent = 0, received = 0;
    for (const GroupPass::Moving& call : group->calls) {
      sent += call.sent;
      received += call.received;
    }
    REQUIRE(group->pairs == most_pairs);
    REQUIRE(group->sent == most_sent);
    REQUIRE(group->received == most_received);
    REQUIRE(group->buffer_bytes == most_held);
    REQUIRE(pairs(each.problem, {.tiles = group->tiles}) == most_pairs);
    if (each.grid.ranks() <= 16) REQUIRE(joined_elements(each.problem, {.tiles = group->tiles}, pass) == most_joined);
    REQUIRE(std::max(sent, received) == most_bytes);
    REQUIRE(group->stages == stages);
  }
}

// Messages of one call of all its peers, as places in their ring: from where to where.
struct Around {
  std::int64_t peers = 0;
  std::int64_t reach = 0;
  std::set<std::pair<std::int64_t, std::int64_t>> messages = {};

  friend bool operator<(const Around& a, const Around& b) {
    return std::tie(a.peers, a.reach, a.messages) < std::tie(b.peers, b.reach, b.messages);
  }
};

// What peers call as the same at once, of several such calls each by itself.
std::set<Around> messages_of(const test::Case& each, Pass pass) {
  using Key = std::array<std::int64_t, 7>;
  std::map<std::pair<Key, std::int64_t>, Around> calls;
  for (std::int64_t rank = 0; rank < each.grid.ranks(); ++rank) {
    std::map<Key, std::int64_t> earlier;
    for (const Call& call : each.scheme->list(each.problem, each.grid, pass, rank).calls) {
      if (call.collective != cairn::collective::Collective::send) continue;
      const Peers& peers = call.peers;
      const Key key{peers.first, peers.count, peers.stride, call.begins, call.ends, call.lane, call.reach};
      Around& around = calls[{key, earlier[key]++}];
      around.peers = peers.count;
      around.reach = call.reach;
      const auto place = [&](std::int64_t of) { return (of - peers.first) / peers.stride; };
      for (const Message& message : call.sends) around.messages.emplace(place(rank), place(message.peer));
    }
  }
  std::set<Around> different;
  for (auto& [key, around] : calls) different.insert(std::move(around));
  return different;
}

// Messages that leave any stretch of L places of the ring of n, less min(L, n - L, d), d being the shorter way around.
std::int64_t most_too_many(const Around& around) {
  const std::int64_t n = around.peers, shorter = std::min(around.reach, n - around.reach);
  std::int64_t excess = 0;
  for (std::int64_t first = 0; first < n; ++first)
    for (std::int64_t length = 1; length < n; ++length) {
      const auto within = [&](std::int64_t place) { return (place - first + n) % n < length; };
      const auto left = std::count_if(around.messages.begin(), around.messages.end(), [&](const auto& message) {
        return within(message.first) && !within(message.second);
      });
      excess = std::max(excess, static_cast<std::int64_t>(left) - std::min({length, n - length, shorter}));
    }
  return excess;
}

}  // namespace

// Messages are priced by how far around their ring they go.
TEST_CASE("no call sends more out of a stretch of its ring than its reach says") {
  std::set<Around> seen;
  for (const test::Case& each : test::all_cases())
    for (const Pass pass : {Pass::forward, Pass::backward})
      for (const Around& around : messages_of(each, pass)) {
        if (!seen.insert(around).second) continue;
        INFO(each << ", " << around.reach << " on among " << around.peers);
        REQUIRE(around.reach > 0);
        REQUIRE(around.reach < around.peers);
        REQUIRE(most_too_many(around) == 0);
      }
  REQUIRE(seen.size() > 20);
}

// The last hop, which takes parts of dK and dV home, as well.
TEST_CASE("every hop of a ring is to the next rank") {
  constexpr std::int64_t k_ranks = 8;
  for (const char* name : {"ring", "striped", "zigzag"})
    for (const Pass pass : {Pass::forward, Pass::backward})
      for (std::int64_t rank = 0; rank < k_ranks; ++rank) {
        INFO(name << ", rank " << rank);
        const Problem problem{.tokens = 48, .heads = 2, .kv_heads = 2};
        const RankList list = scheme(name).list(problem, scheme(name).grids(k_ranks).front(), pass, rank);
        REQUIRE(list.calls.size() == (pass == Pass::forward ? 7U : 7U + 8U));
        for (const Call& call : list.calls) {
          REQUIRE(call.reach == 1);
          REQUIRE(call.peers == Peers{.first = 0, .count = k_ranks, .stride = 1});
          for (const Message& message : call.sends) REQUIRE(message.peer == (rank + 1) % k_ranks);
        }
      }
}

// Rank (a, i) of windows of two sends home to (a + 1, i + 1): 0 -> 3, 1 -> 2, 2 -> 5, ..., so that two messages leave
// a window, which is no more than the three places that the longest goes on.
TEST_CASE("a double ring's last hop goes a window and a rank on") {
  const Problem problem{.tokens = 48, .heads = 2, .kv_heads = 2};
  const Grid grid{.columns = 8, .window = 2, .layout = Layout::zigzag};
  for (std::int64_t rank = 0; rank < 8; ++rank) {
    const RankList list = scheme("double-ring").list(problem, grid, Pass::backward, rank);
    const Call& last = *std::max_element(list.calls.begin(), list.calls.end(),
                                         [](const Call& a, const Call& b) { return a.begins < b.begins; });
    REQUIRE(last.reach == 3);
    REQUIRE(last.sends.front().peer == (rank % 2 == 0 ? rank + 3 : rank + 1) % 8);
  }
}

TEST_CASE("no rank computes more pairs or moves more bytes than the list that stands for all") {
  for (const test::Case& each : test::all_cases())
    if (each.problem.documents.empty()) require_most_of_any_rank(each);
}

TEST_CASE("of many ranks those in the corners of the grid have the most") {
  constexpr std::int64_t k_ranks = 24;
  for (const Scheme& scheme : schemes())
    for (const Grid& grid : scheme.grids(k_ranks))
      for (const Mask mask : {Mask::full, Mask::causal}) {
        const Problem problem{
            .tokens = 2 * k_ranks, .heads = 2 * grid.head_ranks, .kv_heads = grid.head_ranks, .mask = mask};
        if (!scheme.refusal(problem, grid)) require_most_of_any_rank({&scheme, grid, problem});
      }
}

TEST_CASE("of any grid of many ranks, whatever its heads, keys and tokens, some rank looked at has the most") {
  cairn::core::Random random(69);
  const auto up_to = [&random](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most)));
  };
  for (const Scheme& scheme : schemes()) {
    int taken = 0;
    for (int round = 0; round < 16; ++round) {
      const std::vector<Grid> grids = scheme.grids(16 + up_to(26));
      const Grid& grid = grids[random.below(grids.size())];
      Problem problem{.tokens = 2 * grid.ranks() * up_to(2), .head_dim = up_to(4), .value_dim = up_to(4)};
      const std::int64_t split = grid.head_ranks;
      problem.heads = split * up_to(4);
      problem.kv_heads = up_to(problem.heads);
      while (problem.heads % problem.kv_heads != 0) problem.kv_heads = up_to(problem.heads);
      problem.mask = up_to(4) == 1 ? Mask::full : Mask::causal;
      problem.wire = wire_of(up_to(2) == 1);
      const test::Case each{&scheme, grid, problem};
      INFO(each);
      if (scheme.refusal(problem, grid)) continue;  // also where neither of key heads and ranks divides the other
      require_most_of_any_rank(each);
      ++taken;
    }
    INFO(scheme.name);
    REQUIRE(taken > 0);
  }
}

// Rings and grids of 40 ranks: which tokens see each other changes neither messages nor the stages that read them.
TEST_CASE("buffers of many ranks are those of one document, however many there are") {
  constexpr std::int64_t k_ranks = 40;
  for (const Scheme& scheme : schemes())
    for (const Grid& grid : scheme.grids(k_ranks)) {
      Problem problem{.tokens = 2 * k_ranks, .heads = 2 * grid.head_ranks, .kv_heads = grid.head_ranks};
      if (scheme.refusal(problem, grid)) continue;
      const test::Case each{&scheme, grid, problem};
      INFO(each);
      for (const Pass pass : {Pass::forward, Pass::backward}) {
        const std::int64_t of_one = group_pass(scheme, problem, grid, pass)->buffer_bytes;
        Problem packed = problem;
        packed.documents = {k_ranks / 2 + 1, 2 * k_ranks - k_ranks / 2 - 1};
        REQUIRE(group_pass(scheme, packed, grid, pass)->buffer_bytes == of_one);
      }
    }
}

TEST_CASE("calls of ranks that split heads are between the ranks of their lists, wherever these are") {
  constexpr std::int64_t k_ranks = 24;
  for (const Scheme& scheme : schemes())
    for (const Grid& grid : scheme.grids(k_ranks)) {
      const Problem problem{.tokens = 2 * k_ranks, .heads = 2 * grid.head_ranks, .kv_heads = grid.head_ranks};
      if (grid.heads_inner || scheme.refusal(problem, grid)) continue;
      for (const Pass pass : {Pass::forward, Pass::backward}) {
        INFO(scheme.name << " on " << text(grid));
        const auto group = group_pass(scheme, problem, grid, pass);
        std::vector<RankList> lists;
        for (std::int64_t rank = 0; rank < grid.token_ranks(); ++rank)
          lists.push_back(scheme.list(problem, grid, pass, rank));
        REQUIRE(std::any_of(lists.begin(), lists.end(), [&](const RankList& list) {
          return std::equal(list.calls.begin(), list.calls.end(), group->calls.begin(), group->calls.end(),
                            [](const Call& call, const GroupPass::Moving& moving) {
                              return call.collective == moving.collective && call.peers == moving.peers &&
                                     call.begins == moving.begins && call.ends == moving.ends;
                            });
        }));
      }
    }
}
