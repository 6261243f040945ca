// What stands for a group: no rank of it computes, moves or holds more.
#include <algorithm>

#include "cairn/sequence/folds.h"
#include "cairn/sequence/group.h"
#include "catch.h"
#include "sequence/scheme_cases.h"

using namespace cairn::sequence;

namespace {

void require_most_of_any_rank(const test::Case& each) {
  INFO(each);
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    std::int64_t most_pairs = 0, most_bytes = 0, most_sent = 0, most_received = 0, most_held = 0;
    std::int32_t stages = 0;
    for (std::int64_t rank = 0; rank < each.grid.ranks(); ++rank) {
      const RankList list = each.scheme->list(each.problem, each.grid, pass, rank);
      const std::int64_t sent = bytes_sent(each.problem, list), received = bytes_received(each.problem, list);
      most_pairs = std::max(most_pairs, pairs(each.problem, list));
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
    if (each.grid.ranks() <= 16) REQUIRE(group->buffer_bytes == most_held);
    REQUIRE(group->buffer_bytes <= most_held);
    REQUIRE(pairs(each.problem, {.tiles = group->tiles}) == most_pairs);
    REQUIRE(std::max(sent, received) == most_bytes);
    REQUIRE(group->stages == stages);
  }
}

}  // namespace

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
