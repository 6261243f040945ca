// The list that stands for a group: no rank of it computes or moves more.
#include <algorithm>

#include "cairn/sequence/folds.h"
#include "cairn/sequence/group.h"
#include "catch.h"
#include "sequence/scheme_cases.h"

using namespace cairn::sequence;

TEST_CASE("no rank computes more pairs or moves more bytes than the list that stands for all") {
  const auto moved = [](const Problem& problem, const RankList& list) {
    return std::max(bytes_sent(problem, list), bytes_received(problem, list));
  };
  for (const test::Case& each : test::all_cases()) {
    if (!each.problem.documents.empty()) continue;
    INFO(each);
    for (const Pass pass : {Pass::forward, Pass::backward}) {
      std::int64_t most_pairs = 0, most_bytes = 0, most_sent = 0, most_received = 0, most_held = 0;
      std::int32_t stages = 0;
      for (std::int64_t rank = 0; rank < each.grid.ranks(); ++rank) {
        const RankList list = each.scheme->list(each.problem, each.grid, pass, rank);
        most_pairs = std::max(most_pairs, pairs(each.problem, list));
        most_bytes = std::max(most_bytes, moved(each.problem, list));
        most_sent = std::max(most_sent, bytes_sent(each.problem, list));
        most_received = std::max(most_received, bytes_received(each.problem, list));
        most_held = std::max(most_held, buffer_bytes(each.problem, list));
        stages = std::max(stages, list.stages);
      }
      const auto group = group_pass(*each.scheme, each.problem, each.grid, pass);
      const RankList& slow = group->slowest;
      REQUIRE(group->pairs == most_pairs);
      REQUIRE(group->sent == most_sent);
      REQUIRE(group->received == most_received);
      if (each.grid.ranks() <= 16) REQUIRE(group->buffer_bytes == most_held);
      REQUIRE(group->buffer_bytes <= most_held);
      REQUIRE(pairs(each.problem, slow) == most_pairs);
      REQUIRE(moved(each.problem, slow) == most_bytes);
      REQUIRE(slow.stages == stages);
    }
  }
}
