// From residuals to the table of intervals.
#include "cairn/validation/residuals.h"

#include <cmath>
#include <random>

#include "cairn/config/read.h"
#include "catch.h"
#include "support.h"

namespace cairn::validation {
namespace {

Residual row(const char* table, const char* model, const char* framework, const char* accelerator, double ratio,
             std::int64_t gpus = 8) {
  static double measured = 1.0;
  measured += 1e-3;  // no two rows are the same run
  return {.table = table,
          .model = model,
          .traits = {.words = {framework, accelerator, "16-bit", "dense", "node"}, .gpus = gpus},
          .measured = measured,
          .predicted = measured / ratio};
}

const experiment::ResidualFamily& find(const experiment::IntervalTable& table, const std::vector<std::string>& traits) {
  for (const experiment::ResidualFamily& family : table.families)
    if (family.traits == traits) return family;
  FAIL("no such family");
  return table.families.front();
}

TEST_CASE("quantiles of split conformal prediction") {
  // 9 values: (9 + 1) x 0.1 = the first, x 0.25 = 2.5 down to the second, x 0.5 the fifth, x 0.75 = 7.5 up to the
  // eighth, x 0.9 the ninth.
  CHECK(conformal_quantiles({9, 8, 7, 6, 5, 4, 3, 2, 1}) == std::vector<double>{1, 1, 2, 5, 8, 9, 9});
  // 19: the 2nd, 5th, 10th, 15th, 18th.
  std::vector<double> nineteen;
  for (int i = 1; i <= 19; ++i) nineteen.push_back(i);
  CHECK(conformal_quantiles(nineteen) == std::vector<double>{1, 2, 5, 10, 15, 18, 19});
  CHECK(conformal_quantiles({8, 7, 6, 5, 4, 3, 2, 1}).empty());  // of eight the tenth part lies beyond all of them
}

// Of n + 1 draws of one distribution the last is as likely in any place among them: it lies below the k-th smallest of
// the others with k / (n + 1). Between the 10 % and the 90 % ratio of 29 lie the places 4 .. 27 of 30: 8 in 10.
TEST_CASE("eight in ten new draws lie inside, whatever the distribution") {
  std::mt19937_64 random(7);
  constexpr int k_trials = 4000, k_known = 29;
  for (const bool skewed : {false, true}) {
    std::exponential_distribution<double> draw(1.0);
    std::uniform_real_distribution<double> even(0.0, 1.0);
    int inside = 0;
    for (int trial = 0; trial < k_trials; ++trial) {
      std::vector<double> known;
      for (int i = 0; i < k_known; ++i) known.push_back(skewed ? draw(random) : even(random));
      const double next = skewed ? draw(random) : even(random);
      const std::vector<double> quantiles = conformal_quantiles(known);
      inside += quantiles[1] <= next && next <= quantiles[5] ? 1 : 0;
    }
    // Standard deviation sqrt(0.8 x 0.2 / 4000) = 0.63 %; four of them.
    CHECK(std::abs(static_cast<double>(inside) / k_trials - 0.8) < 0.025);
  }
}

TEST_CASE("families of every width, and all runs with each framework on each architecture weighing the same") {
  std::vector<Residual> rows;
  for (int i = 0; i < 30; ++i) rows.push_back(row("a", i % 2 == 0 ? "x" : "y", "megatron", "ampere", 1.0, 8 + i % 3));
  for (int i = 0; i < 3; ++i) rows.push_back(row("b", "z", "megatron", "hopper", 1.2));
  const experiment::IntervalTable table = interval_table(rows, {});
  CHECK(table.families.size() == 1 + 1 + 2 * 4);  // the four narrower ones of either machine
  const experiment::ResidualFamily& ampere = find(table, {"megatron", "ampere", "16-bit", "dense", "node"});
  CHECK(ampere.time->rows == 30);
  CHECK(ampere.time->models == 2);
  CHECK(ampere.time->least_gpus == 8);
  CHECK(ampere.time->most_gpus == 10);
  CHECK(ampere.time->ratios == std::vector<double>(7, 1.0));
  CHECK_FALSE(ampere.memory);
  CHECK(find(table, {"megatron", "hopper"}).time->ratios.empty());
  // Three rows of 33 are half of the weight: from 50 % on the ratio is theirs.
  const experiment::Spread& all = *find(table, {}).time;
  CHECK(all.models == 2);
  REQUIRE(all.ratios.size() == 7);
  for (std::size_t i = 0; i < 7; ++i) CHECK(all.ratios[i] == Approx(i < 4 ? 1.0 : 1.2));
  // Of the framework every row weighs the same: at 75 % it is the ceil(34 x 0.75) = 26th of 33.
  CHECK(find(table, {"megatron"}).time->ratios[4] == 1.0);
}

TEST_CASE("a run that two tables have counts once; twice in one table it is two runs") {
  std::vector<Residual> rows;
  for (int i = 0; i < 9; ++i) rows.push_back(row("a", "x", "megatron", "ampere", 1.0));
  std::vector<Residual> twice = rows;
  for (Residual each : rows) {
    each.table = "b";
    each.predicted *= 1.5;  // by other assumptions
    twice.push_back(each);
  }
  CHECK(intervals_yaml(interval_table(twice, {})) == intervals_yaml(interval_table(rows, {})));
  std::vector<Residual> same_table = rows;
  same_table.insert(same_table.end(), rows.begin(), rows.end());
  CHECK(find(interval_table(same_table, {}), {}).time->rows == 18);
}

TEST_CASE("rows set aside are counted and judge nothing") {
  std::vector<Residual> rows;
  for (int i = 0; i < 9; ++i) rows.push_back(row("a", "x", "megatron", "ampere", 1.0));
  rows.push_back(row("a", "x", "megatron", "ampere", 5.0));
  rows.back().set_aside = true;
  const experiment::IntervalTable table = interval_table(rows, {});
  CHECK(find(table, {"megatron", "ampere"}).time->rows == 9);
  CHECK(find(table, {"megatron", "ampere"}).set_aside == 1);
  CHECK_FALSE(left_out_times(rows).back());
}

TEST_CASE("a row is judged by other models, or by other numbers of GPUs where there is one model") {
  std::vector<Residual> rows;
  // Model y is 20 % slower than x; left out it lies outside what x says, whose rows are all alike.
  for (int i = 0; i < 9; ++i) rows.push_back(row("a", "x", "megatron", "ampere", 1.0));
  for (int i = 0; i < 9; ++i) rows.push_back(row("a", "y", "megatron", "ampere", 1.2));
  for (int i = 0; i < 9; ++i) rows.push_back(row("b", "z", "fsdp", "hopper", 1.0, 8));
  for (int i = 0; i < 9; ++i) rows.push_back(row("b", "z", "fsdp", "hopper", i < 5 ? 1.0 : 1.5, 16));
  const std::vector<std::optional<LeftOut>> judged = left_out_times(rows);
  REQUIRE(judged.size() == rows.size());
  for (std::size_t i = 0; i < 18; ++i) {
    REQUIRE(judged[i]);
    CHECK_FALSE(judged[i]->covered);
    CHECK(judged[i]->width == Approx(0.0).margin(1e-12));
  }
  for (std::size_t i = 18; i < 27; ++i) CHECK(judged[i]->covered);  // 16 GPUs say 1.0 .. 1.5
  CHECK(judged[18]->width == Approx(0.5));
  for (std::size_t i = 27; i < 36; ++i) CHECK(judged[i]->covered == (i < 32));  // 8 GPUs say 1.0
}

TEST_CASE("the slope over doublings, and the growth that four families in five stay below") {
  const std::vector<double> values{0.1, 0.3, 0.2, 0.4};
  const std::vector<std::int64_t> gpus{8, 16, 8, 16};
  CHECK(slope_per_doubling(values, gpus).value() == Approx(0.2));
  CHECK_FALSE(slope_per_doubling(values, std::vector<std::int64_t>{8, 8, 8, 8}));
  CHECK_FALSE(slope_per_doubling({}, {}));
  std::vector<Residual> rows;
  // Five machines whose logarithms grow by 0.01 .. 0.05 with each doubling: the fourth smallest is 0.04.
  for (const auto& [name, growth] : {std::pair{"a", 0.03}, {"b", -0.05}, {"c", 0.01}, {"d", 0.02}, {"e", 0.04}})
    for (int i = 0; i < 9; ++i)
      rows.push_back(row("t", "x", "megatron", name, std::exp(growth * (i % 3)), std::int64_t{8} << (i % 3)));
  CHECK(interval_table(rows, {}).time_growth == Approx(0.04));
}

TEST_CASE("the file says the same as the table, and the same every time") {
  std::vector<Residual> rows, memories;
  for (int i = 0; i < 40; ++i) rows.push_back(row("a", "x", "megatron", "ampere", 0.9 + 0.01 * i, 8 << (i % 3)));
  for (int i = 0; i < 12; ++i) memories.push_back(row("a", "x", "megatron", "", 1.0 + 0.01 * i));
  const std::string text = intervals_yaml(interval_table(rows, memories));
  CHECK(text == intervals_yaml(interval_table(rows, memories)));
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(text, config::Syntax::yaml, "intervals.yaml", diagnostics);
  experiment::IntervalTable read;
  config::read(node, read, diagnostics);
  diagnostics.raise_if_errors();
  CHECK(intervals_yaml(read) == text);
  CHECK(find(read, {"megatron", ""}).memory->rows == 12);
  CHECK(find(read, {"megatron", "ampere"}).time->ratios[1] == Approx(0.93));  // the 4th of 40
  CHECK(intervals_yaml({}).ends_with("families: []\n"));
}

}  // namespace
}  // namespace cairn::validation
