// The shape of a grid against all shapes, by the published count of bytes, which lives here alone.
#include "cairn/sequence/grid_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cairn/core/diagnostics.h"
#include "catch.h"

using namespace cairn;
using namespace cairn::sequence;

namespace {

constexpr std::int64_t k_most_ranks = 1024;
constexpr std::int64_t k_query_groups[] = {1, 2, 4, 8};
constexpr GridUse k_uses[] = {GridUse::forward, GridUse::training};

struct GridCase {
  std::int64_t tokens_of_rank = 16;  // n / p
  std::int64_t heads = 8;
  std::int64_t head_dim = 128;
  std::int64_t group = 1;
  std::int64_t element = 2;    // [B]
  std::int64_t statistic = 4;  // [B] of log-sum-exp and of delta; 0 leaves them out
};

// Bytes that a rank receives in one layer, one sequence (ATTENTION2D with the log-sum-exp as its statistic).
std::int64_t forward_closed_form(const GridCase& a, std::int64_t r, std::int64_t c) {
  const std::int64_t d = a.heads * a.head_dim, d_kv = d / a.group;
  return a.element * a.tokens_of_rank * (2 * d * (c - 1) + 2 * d_kv * (r - 1)) +
         a.statistic * a.heads * a.tokens_of_rank * (c - 1);
}
std::int64_t backward_closed_form(const GridCase& a, std::int64_t r, std::int64_t c) {
  const std::int64_t d = a.heads * a.head_dim, d_kv = d / a.group;
  return a.element * a.tokens_of_rank * (3 * d * (c - 1) + 4 * d_kv * (r - 1)) +
         2 * a.statistic * a.heads * a.tokens_of_rank * (c - 1);
}
std::int64_t grid_bytes_closed_form(const GridCase& a, std::int64_t r, std::int64_t c, GridUse use) {
  return forward_closed_form(a, r, c) + (use == GridUse::training ? backward_closed_form(a, r, c) : 0);
}

std::vector<std::int64_t> columns_of_grids(std::int64_t of) {
  std::vector<std::int64_t> all;
  for (std::int64_t each = 1; each <= of; ++each)
    if (of % each == 0) all.push_back(each);
  return all;
}

}  // namespace

TEST_CASE("grid choice: the published count, by hand") {
  // 2 rows x 3 columns, a token each, 2 query heads of 4 that read one key head. Forward, of two others in the row Q and
  // O, 16 bytes each, and 2 log-sum-exps of 4; of one other in the column K and V, 8 bytes each.
  const GridCase small{.tokens_of_rank = 1, .heads = 2, .head_dim = 4, .group = 2};
  CHECK(forward_closed_form(small, 2, 3) == 2 * (16 + 16 + 8) + (8 + 8));
  // Backward Q, dO, dQ and two statistics of both heads; K, V, dK, dV.
  CHECK(backward_closed_form(small, 2, 3) == 2 * (16 + 16 + 16 + 8 + 8) + (8 + 8 + 8 + 8));
}

TEST_CASE("grid choice: by hand") {
  CHECK(best_grid(64, 1, GridUse::forward) == WholeGrid{.rows = 8, .columns = 8});
  CHECK(best_grid(64, 4, GridUse::forward) == WholeGrid{.rows = 16, .columns = 4});
  CHECK(best_grid(64, 4, GridUse::training) == WholeGrid{.rows = 16, .columns = 4});
  // 12 ranks: forward 2 x 3 + 2 x 4 both ways, in training 5 x 4 + 6 x 3 = 38 and 5 x 3 + 6 x 4 = 39.
  CHECK(best_grid(12, 1, GridUse::forward) == WholeGrid{.rows = 4, .columns = 3});
  CHECK(best_grid(12, 1, GridUse::training) == WholeGrid{.rows = 3, .columns = 4});
  // No more ranks than query heads to a key head: all keys are gathered.
  CHECK(best_grid(8, 8, GridUse::forward) == WholeGrid{.rows = 8, .columns = 1});
  CHECK(best_grid(7, 1, GridUse::forward) == WholeGrid{.rows = 7, .columns = 1});
  CHECK(best_grid(1, 8, GridUse::training) == WholeGrid{.rows = 1, .columns = 1});
  const RealGrid training = best_real_grid(120, 4, GridUse::training);  // sqrt(720 / 20), sqrt(2400 / 6)
  CHECK(training.columns == Approx(6));
  CHECK(training.rows == Approx(20));
  const RealGrid forward = best_real_grid(64, 4, GridUse::forward);  // sqrt(64 / 4), sqrt(64 x 4)
  CHECK(forward.columns == Approx(4));
  CHECK(forward.rows == Approx(16));
  CHECK_THROWS_AS(best_grid(0, 1, GridUse::forward), core::ConfigurationError);
  CHECK_THROWS_AS(best_real_grid(4, 0, GridUse::forward), core::ConfigurationError);
}

// Without statistics: the grid receives the least bytes of all grids, to the byte; a grid that receives as many has more
// columns; no grid's columns lie between it and columns*, and none is nearer to columns* on a logarithmic scale.
TEST_CASE("grid choice: of all grids of up to 1024 ranks the nearest to the rule is the best") {
  constexpr double k_rounding = 1e-12;
  std::int64_t equals = 0;  // forward with a key head for every query head
  for (const GridUse use : k_uses)
    for (const std::int64_t group : k_query_groups)
      for (std::int64_t p = 1; p <= k_most_ranks; ++p) {
        const GridCase plain{.group = group, .statistic = 0};
        const WholeGrid best = best_grid(p, group, use);
        const double rule = std::log(best_real_grid(p, group, use).columns);
        const double chosen = std::log(static_cast<double>(best.columns));
        const std::int64_t least = grid_bytes_closed_form(plain, best.rows, best.columns, use);
        CAPTURE(group, p, best.rows, best.columns);
        REQUIRE(best.rows * best.columns == p);
        for (const std::int64_t c : columns_of_grids(p)) {
          if (c == best.columns) continue;
          const double other = std::log(static_cast<double>(c));
          const std::int64_t bytes = grid_bytes_closed_form(plain, p / c, c, use);
          CAPTURE(c);
          REQUIRE(bytes >= least);
          REQUIRE((bytes > least || c > best.columns));
          REQUIRE(std::abs(other - rule) >= std::abs(chosen - rule) - k_rounding);
          REQUIRE_FALSE((std::min(chosen, rule) < other && other < std::max(chosen, rule)));
          equals += bytes == least && use == GridUse::forward && group == 1 ? 1 : 0;
        }
      }
  CHECK(equals == k_most_ranks - 32);  // r x c and c x r, where p is no square
}

// Statistics are 4 of 4 x 128 bytes of a query head forward and 12 of 10 x 128 in training, so that they add no more than
// 1.2 in 128 to any grid.
TEST_CASE("grid choice: statistics cost the chosen grid less than a hundredth") {
  for (const GridUse use : k_uses)
    for (const std::int64_t group : k_query_groups)
      for (std::int64_t p = 2; p <= k_most_ranks; ++p) {
        const GridCase plain{.group = group, .statistic = 0}, whole{.group = group};
        const WholeGrid best = best_grid(p, group, use);
        const auto bytes = [&](const GridCase& a, std::int64_t c) { return grid_bytes_closed_form(a, p / c, c, use); };
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        CAPTURE(group, p, best.columns);
        for (const std::int64_t c : columns_of_grids(p)) {
          least = std::min(least, bytes(whole, c));
          if (c != best.columns && bytes(plain, c) == bytes(plain, best.columns))
            REQUIRE(bytes(whole, c) > bytes(whole, best.columns));  // why the fewer columns are chosen
        }
        REQUIRE(100 * bytes(whole, best.columns) < 101 * least);
      }
}
