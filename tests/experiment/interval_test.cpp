// Which measured runs an interval rests on, and how it widens where nothing like the run was measured.
#include "cairn/experiment/interval.h"

#include <cmath>

#include "cairn/hardware/files.h"
#include "catch.h"
#include "support/complaints.h"
#include "support/shipped.h"
#include "support/temporary_folder.h"

namespace {

using namespace cairn;
using namespace cairn::experiment;
using test::contains;

// Ratios around `middle` with `off` to either side at 10 and 90 %, twice that at the ends.
Spread spread(double middle, double off, std::int64_t rows = 20, std::int64_t models = 4) {
  return {.rows = rows,
          .models = models,
          .least_gpus = 8,
          .most_gpus = 64,
          .ratios = {middle - 2 * off, middle - off, middle - off / 2, middle, middle + off / 2, middle + off,
                     middle + 2 * off}};
}

Spread few() { return {.rows = 3, .models = 1, .least_gpus = 8, .most_gpus = 64}; }

ResidualFamily family(std::vector<std::string> traits, const Spread& time) {
  return {.traits = std::move(traits), .time = time};
}

// megatron: hopper in 16 and (few) in 8 bits, ampere few; all runs are the widest.
IntervalTable table() {
  return {.time_growth = 0.05,
          .families = {family({}, spread(1.0, 0.3, 60, 5)), family({"megatron"}, spread(1.0, 0.1)),
                       family({"megatron", "ampere"}, few()), family({"megatron", "ampere", "16-bit"}, few()),
                       family({"megatron", "ampere", "16-bit", "dense"}, few()),
                       family({"megatron", "hopper"}, spread(1.1, 0.05)),
                       family({"megatron", "hopper", "16-bit"}, spread(1.0, 0.04)),
                       family({"megatron", "hopper", "16-bit", "dense"}, spread(1.0, 0.04)),
                       family({"megatron", "hopper", "16-bit", "dense", "nodes"}, spread(1.0, 0.02)),
                       family({"megatron", "hopper", "8-bit"}, few()),
                       family({"megatron", "hopper", "8-bit", "dense"}, few())}};
}

RunTraits run(const char* framework, const char* accelerator, const char* precision = "16-bit",
              const char* layers = "dense", const char* scale = "nodes", std::int64_t gpus = 64) {
  return {.words = {framework, accelerator, precision, layers, scale}, .gpus = gpus};
}

Interval of(const RunTraits& traits) {
  auto found = time_interval(table(), traits);
  REQUIRE(found);
  return *std::move(found);
}

}  // namespace

TEST_CASE("the nearest family shares the most traits") {
  const Interval exact = of(run("megatron", "hopper"));
  CHECK(exact.family == "megatron, hopper, 16-bit, dense, nodes");
  CHECK(exact.low() == Approx(0.98));
  CHECK(exact.high() == Approx(1.02));
  CHECK(exact.rows == 20);
  CHECK(exact.models == 4);
  CHECK(exact.extrapolated.empty());
  // Scale matters least: one node was not measured by itself, dense layers were.
  const Interval node = of(run("megatron", "hopper", "16-bit", "dense", "node", 8));
  CHECK(node.family == "megatron, hopper, 16-bit, dense");
  CHECK(node.extrapolated.empty());
}

TEST_CASE("a family of few rows lends itself the rows of the next wider one") {
  const Interval eight = of(run("megatron", "hopper", "8-bit"));
  CHECK(eight.family == "megatron, hopper");
  CHECK(eight.low() == Approx(1.05));
  CHECK(eight.extrapolated.empty());  // it was measured, if seldom
}

TEST_CASE("what was never measured is judged by all runs as well, at each level by the farther ratio") {
  const Interval moe = of(run("megatron", "hopper", "16-bit", "moe"));
  CHECK(moe.family == "megatron, hopper, 16-bit");
  CHECK(moe.low() == Approx(0.7));
  CHECK(moe.high() == Approx(1.3));
  REQUIRE(moe.extrapolated.size() == 1);
  CHECK(moe.extrapolated[0] == "no measured run of megatron on hopper with moe layers");
  const Interval four = of(run("megatron", "hopper", "4-bit"));
  CHECK(four.low() == Approx(0.7));
  CHECK(four.high() == Approx(1.3));     // 1.15 of its own
  CHECK(four.ratios[3] == Approx(1.1));  // the middle stays its own
  CHECK(four.extrapolated[0] == "no measured run of megatron on hopper in 4-bit");
  CHECK(of(run("megatron", "volta")).extrapolated[0] == "no measured run of megatron on volta");
  CHECK(of(run("megatron", "volta")).family == "megatron");
  CHECK(of(run("megatron", "")).extrapolated[0] == "no measured run of megatron on such an accelerator");
  CHECK(of(run("megatron", "ampere")).extrapolated[0] == "only 3 measured runs of megatron on ampere");
  const Interval other = of(run("mine", "hopper"));
  CHECK(other.family == "all runs");
  CHECK(other.low() == Approx(0.7));
  CHECK(other.units == 5);
  CHECK(other.extrapolated[0] == "no measured run of mine");
}

TEST_CASE("each doubling of GPUs beyond the family's widens by the growth") {
  // 256 is two doublings beyond 64: exp(2 x 0.05).
  const Interval large = of(run("megatron", "hopper", "16-bit", "dense", "nodes", 256));
  CHECK(large.low() == Approx(0.98 / std::exp(0.1)));
  CHECK(large.high() == Approx(1.02 * std::exp(0.1)));
  CHECK(large.ratios[3] == Approx(1.0));
  REQUIRE(large.extrapolated.size() == 1);
  CHECK(large.extrapolated[0] == "256 GPUs, beyond the 64 of those runs");
  const Interval small = of(run("megatron", "hopper", "16-bit", "dense", "nodes", 2));
  CHECK(small.low() == Approx(0.98 / std::exp(0.1)));
  CHECK(small.extrapolated[0] == "2 GPUs, fewer than the 8 of those runs");
}

TEST_CASE("no family of enough rows, no interval") {
  CHECK_FALSE(time_interval({}, run("megatron", "hopper")));
  CHECK_FALSE(time_interval({.families = {family({}, few())}}, run("megatron", "hopper")));
  CHECK_FALSE(memory_interval(table(), run("megatron", "hopper")));
}

TEST_CASE("the share of runs below a ratio") {
  const Interval interval = of(run("megatron", "hopper"));  // 20 rows: 0.96 0.98 0.99 1 1.01 1.02 1.04
  CHECK(interval.share_below(0.5) == Approx(1.0 / 21.0));
  CHECK(interval.share_below(0.98) == Approx(0.1));
  CHECK(interval.share_below(0.985) == Approx(0.175));
  CHECK(interval.share_below(1.0) == Approx(0.5));
  CHECK(interval.share_below(1.02) == Approx(0.9));
  CHECK(interval.share_below(1.04) == Approx(20.0 / 21.0));
  CHECK(interval.share_below(9.0) == Approx(20.0 / 21.0));
  // Equal ratios: the highest level that any of them has.
  Interval flat = interval;
  flat.ratios.assign(7, 1.0);
  CHECK(flat.share_below(0.999) == Approx(1.0 / 21.0));
  CHECK(flat.share_below(1.0) == Approx(20.0 / 21.0));
}

TEST_CASE("what can be wrong in a file of intervals") {
  const test::TemporaryFolder folder;
  const config::Loader loader({folder.path()});
  CHECK_FALSE(load_intervals(loader));
  folder.write(
      "intervals.yaml",
      "version: 1\nfamilies:\n"
      "  - traits: []\n    time: {rows: 9, models: 1, least_gpus: 1, most_gpus: 1, ratios: [1, 1]}\n"
      "  - traits: [a, b, c, d, e, f]\n"
      "  - traits: [a]\n    time: {rows: 9, models: 1, least_gpus: 1, most_gpus: 1, ratios: [1, 1, 1, 1, 1, 1, .5]}\n"
      "  - traits: [b]\n    time: {rows: 9, models: 1, least_gpus: 2, most_gpus: 1}\n"
      "  - traits: [c]\n    tiem: {}\n");
  const std::string found = test::complaints([&] { load_intervals(config::Loader({folder.path()})); });
  INFO(found);
  for (const char* each : {"families[0].time.ratios: not seven ratios", "families[1].traits",
                           "families[2].time.ratios: the ratios do not ascend",
                           "families[3].time.most_gpus: fewer than least_gpus", "(did you mean 'time'?)"})
    CHECK(contains(found, each));
}

TEST_CASE("the shipped file is read, and every accelerator that ships has an architecture") {
  const config::Loader loader = testing::shipped();
  const auto shipped = load_intervals(loader);
  REQUIRE(shipped);
  CHECK(shipped->families.size() >= 10);
  for (const std::string& name : loader.names("accelerators")) {
    CAPTURE(name);
    CHECK_FALSE(hardware::load_accelerator(loader, name).architecture.empty());
  }
}
