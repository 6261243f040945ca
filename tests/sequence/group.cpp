// What stands for a group: no rank of it computes, moves or holds more.
#include <algorithm>

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

}  // namespace

// Ranks that pass blocks on are priced as rings; a message that goes further, or elsewhere, must not say that it does.
TEST_CASE("calls around a ring go from each peer to the next") {
  std::int64_t around = 0, others = 0;
  for (const test::Case& each : test::all_cases())
    for (const Pass pass : {Pass::forward, Pass::backward})
      for (std::int64_t rank = 0; rank < each.grid.ranks(); ++rank)
        for (const Call& call : each.scheme->list(each.problem, each.grid, pass, rank).calls) {
          if (!call.around) {
            others += call.collective == cairn::collective::Collective::send ? 1 : 0;
            continue;
          }
          const Peers& peers = call.peers;
          const std::int64_t index = (rank - peers.first) / peers.stride;
          const auto place = [&](std::int64_t at) {
            return peers.first + (at + peers.count) % peers.count * peers.stride;
          };
          REQUIRE(call.collective == cairn::collective::Collective::send);
          for (const Message& message : call.sends) REQUIRE(message.peer == place(index + 1));
          for (const Message& message : call.receives) REQUIRE(message.peer == place(index - 1));
          ++around;
        }
  REQUIRE(around > 1000);
  REQUIRE(others > 0);
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
