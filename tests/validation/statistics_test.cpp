#include "cairn/validation/statistics.h"

#include <cmath>
#include <vector>

#include "catch.h"

namespace cairn::validation {
namespace {

constexpr double k_exact = 1e-14;

TEST_CASE("the exact binomial test") {
  // Of two coins: none, one, two heads with 1/4, 1/2, 1/4.
  CHECK(binomial_chance(0, 2, 0.5) == Approx(0.5));
  CHECK(binomial_chance(1, 2, 0.5) == Approx(1.0));
  // Eight in ten, of three: 0.008, 0.096, 0.384, 0.512.
  CHECK(binomial_chance(1, 3, 0.8) == Approx(0.104));
  CHECK(binomial_chance(2, 3, 0.8) == Approx(0.488));
  CHECK(binomial_chance(3, 3, 0.8) == Approx(1.0));
  CHECK(binomial_chance(0, 0, 0.8) == Approx(1.0));
}

TEST_CASE("quantiles interpolate between order statistics") {
  const std::vector<double> values{4, 1, 3, 2};
  // Positions 0.5 x 3 = 1.5 and 0.9 x 3 = 2.7 in 1 2 3 4.
  CHECK(quantile(values, 0.5) == Approx(2.5).epsilon(k_exact));
  CHECK(quantile(values, 0.9) == Approx(3.7).epsilon(k_exact));
  CHECK(quantile(values, 0.0) == 1.0);
  CHECK(quantile(values, 1.0) == 4.0);
  CHECK(quantile(std::vector<double>{7}, 0.9) == 7.0);
}

TEST_CASE("a summary of errors") {
  const std::vector<double> errors{0.1, -0.2, 0.3, -0.4};
  const auto summary = summarize(errors);
  REQUIRE(summary);
  CHECK(summary->mape == Approx(0.25).epsilon(k_exact));    // (0.1 + 0.2 + 0.3 + 0.4) / 4
  CHECK(summary->median == Approx(0.25).epsilon(k_exact));  // between 0.2 and 0.3
  CHECK(summary->p90 == Approx(0.37).epsilon(k_exact));     // 0.3 + 0.7 x 0.1
  CHECK(summary->max == 0.4);
  CHECK(summary->bias == Approx(-0.05).epsilon(k_exact));  // -0.2 / 4
  CHECK_FALSE(summarize({}));
}

TEST_CASE("rank correlation") {
  const std::vector<double> up{1, 2, 3, 4};
  const std::vector<double> down{8, 6, 4, 2};
  CHECK(*spearman(up, std::vector<double>{1, 10, 100, 1000}) == Approx(1.0).epsilon(k_exact));
  CHECK(*spearman(up, down) == Approx(-1.0).epsilon(k_exact));
}

TEST_CASE("tied values share the mean of their ranks") {
  // Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: deviations (-1.5, 0, 0, 1.5) and (-1.5, -0.5, 0.5, 1.5);
  // products 4.5, squares 4.5 and 5.
  const std::vector<double> tied{1, 2, 2, 4};
  const std::vector<double> up{10, 20, 30, 40};
  CHECK(*spearman(tied, up) == Approx(4.5 / std::sqrt(22.5)).epsilon(k_exact));
  CHECK(*spearman(up, tied) == Approx(4.5 / std::sqrt(22.5)).epsilon(k_exact));
  CHECK(*spearman(tied, tied) == Approx(1.0).epsilon(k_exact));
}

TEST_CASE("rank correlation is undefined for one pair and for a constant") {
  CHECK_FALSE(spearman(std::vector<double>{1}, std::vector<double>{2}));
  CHECK_FALSE(spearman({}, {}));
  CHECK_FALSE(spearman(std::vector<double>{1, 2, 3}, std::vector<double>{5, 5, 5}));
}

TEST_CASE("the best constant rate") {
  // At 200: errors |100/200 - 1| = 0.5 and 0. At 100: 0 and 1.
  const auto two = best_constant_rate(std::vector<double>{100, 200});
  REQUIRE(two);
  CHECK(two->rate == 200.0);
  CHECK(two->mape == Approx(0.25).epsilon(k_exact));
  // One fast row outweighs two slow ones: at 400 errors 0.75, 0.75, 0; at 100 errors 0, 0, 3.
  const auto three = best_constant_rate(std::vector<double>{100, 400, 100});
  CHECK(three->rate == 400.0);
  CHECK(three->mape == Approx(0.5).epsilon(k_exact));
  CHECK(best_constant_rate(std::vector<double>{3})->mape == 0.0);
  CHECK_FALSE(best_constant_rate({}));
}

TEST_CASE("no rate on a fine grid beats the best constant") {
  const std::vector<double> achieved{137, 138, 142, 135, 138, 140, 148, 155, 163, 163};
  const auto best = best_constant_rate(achieved);
  REQUIRE(best);
  for (double rate = 100.0; rate < 200.0; rate += 0.01) {
    double mean = 0.0;
    for (const double a : achieved) mean += std::abs(a / rate - 1.0) / static_cast<double>(achieved.size());
    REQUIRE(mean >= best->mape - k_exact);
  }
}

}  // namespace
}  // namespace cairn::validation
