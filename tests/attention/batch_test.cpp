// Batches of mixed lengths, with costs from the comparison's own prices.
#include "cairn/attention/batch.h"

#include <algorithm>

#include "attention/small_request.h"
#include "catch.h"
#include "support/complaints.h"

using namespace cairn;

namespace {

attention::BatchRequest batch_of(std::vector<std::int64_t> lengths, std::int64_t nodes = 1) {
  attention::BatchRequest request{
      .pool = testing::small_request(nodes), .lengths = std::move(lengths), .tokens_per_rank = 16384};
  request.pool.heads = request.pool.kv_heads = 16;
  request.pool.head_dim = 128;
  return request;
}

}  // namespace

TEST_CASE("batch: fitted costs give back the times of single sequences", "[attention]") {
  const attention::BatchRequest request = batch_of({32768, 4096});
  const attention::BatchAnswer answer = attention::share_batch(request);
  attention::Request alone = request.pool;
  alone.tokens = 32768;
  alone.choice = {.scheme = "ulysses", .grid = {.head_ranks = 8}};
  const attention::Comparison comparison = attention::compare(alone);
  REQUIRE(comparison.best() != nullptr);
  const auto degree = std::find_if(answer.group_costs.degrees.begin(), answer.group_costs.degrees.end(),
                                   [](const auto& each) { return each.ranks == 8; });
  REQUIRE(degree != answer.group_costs.degrees.end());
  // To rounding, since that is what the costs were fitted to.
  CHECK(core::to_seconds(sequence::exchange_time(answer.group_costs, *degree, 32768)) ==
        Approx(core::to_seconds(comparison.best()->total())).epsilon(1e-6));
  // K and V of 16 heads of 128 in 2 bytes each, once forward and once backward; of dK and dV a hop more than these have,
  // 1 of p - 1, on two ranks 2 of 1.
  CHECK(answer.ring_costs.circulated.base() == (2.0 + 2.0 + 2.0 * 2.0) * 16.0 * 128.0 * 2.0);
}

TEST_CASE("batch: equal lengths gain nothing, and no assignment is worse than one degree", "[attention]") {
  const attention::BatchAnswer equal = attention::share_batch(batch_of(std::vector<std::int64_t>(8, 8192)));
  REQUIRE(equal.one_degree);
  CHECK(equal.groups.time == equal.one_degree->time);
  const attention::BatchAnswer mixed = attention::share_batch(batch_of({65536, 16384, 8192, 4096, 2048, 1024}, 2));
  REQUIRE(mixed.one_degree);
  CHECK(mixed.groups.time <= mixed.one_degree->time);
  CHECK(mixed.groups.lower_bound <= mixed.groups.time);
  // Every sequence is in one group.
  std::vector<std::int64_t> seen;
  for (const sequence::RankGroup& group : mixed.groups.groups)
    seen.insert(seen.end(), group.sequences.begin(), group.sequences.end());
  std::sort(seen.begin(), seen.end());
  CHECK(seen == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("batch: what cannot be shared out is refused", "[attention]") {
  const auto refused = [](const attention::BatchRequest& request) {
    return test::complaints([&] { attention::share_batch(request); });
  };
  CHECK(test::contains(refused(batch_of({})), "request.lengths"));
  CHECK(test::contains(refused(batch_of({0})), "request.lengths"));
  CHECK(test::contains(refused(batch_of({16384 * 9})), "lengths"));
  attention::BatchRequest none = batch_of({4096});
  none.tokens_per_rank = 0;
  CHECK(test::contains(refused(none), "request.tokens_per_rank"));
}
