// What a run says of how far its numbers may be off.
#include <cmath>
#include <string>

#include <nlohmann/json.hpp>

#include "cairn/report/run.h"
#include "cairn/report/schema.h"
#include "cairn/report/validation.h"
#include "catch.h"
#include "interval_words.h"
#include "report/conforms.h"
#include "report/small_run.h"
#include "support/source_dir.h"
#include "support/temporary_folder.h"

using namespace cairn;
using nlohmann::json;
using report_tests::conforms;
using report_tests::k_tool;
using report_tests::small;

namespace {

constexpr const char* k_intervals =
    "version: 1\nfamilies:\n  - traits: []\n"
    "    time: {rows: 40, models: 5, least_gpus: 8, most_gpus: 64, ratios: [.5, .8, .9, 1, 1.1, 1.25, 2]}\n"
    "    memory: {rows: 40, models: 5, least_gpus: 8, most_gpus: 64, ratios: [.5, .8, .9, 1, 1.1, 1.25, 2]}\n"
    "  - traits: [megatron, hopper, 16-bit, dense]\n"
    "    time: {rows: 15, models: 4, least_gpus: 8, most_gpus: 64, ratios: [.9, .95, .98, 1, 1.02, 1.05, 1.1]}\n"
    "    set_aside: 1\n";

// Jobs by a table of intervals of their own.
class WithIntervals {
 public:
  WithIntervals() { folder_.write("intervals.yaml", k_intervals); }

  template <class Use>
  auto with(const std::vector<std::string>& overrides, Use use) const {
    const config::Loader loader({folder_.path(), cairn::testing::source_dir() + "/configs"});
    experiment::Job job(small(overrides), loader);
    const experiment::Result result = job.run(predict::Engine::analytic);
    return use(report::Run{.job = job, .result = result, .tool = k_tool});
  }
  json document(const std::vector<std::string>& overrides = {}) const {
    return with(overrides, [](const report::Run& run) {
      json all = json::parse(report::json(run));
      conforms(json::parse(report::run_schema()), all, "");
      return all["result"];
    });
  }
  std::string text(const std::vector<std::string>& overrides, bool full) const {
    return with(overrides, [full](const report::Run& run) { return report::text(run, {.full = full}); });
  }

 private:
  test::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("The interval of a step time is that of its family") {
  const json result = WithIntervals().document();
  const double time_s = result["iteration_time_s"];
  const json& interval = result["interval"];
  CHECK(interval["p10"].get<double>() == Approx(0.95 * time_s));
  CHECK(interval["p90"].get<double>() == Approx(1.05 * time_s));
  CHECK(interval["coverage"] == 0.8);
  CHECK(interval["family"] == "megatron, hopper, 16-bit, dense");
  CHECK(interval["rows"] == 15);
  CHECK(interval["models"] == 4);
  CHECK(interval["extrapolated"].empty());
  CHECK(interval["basis"] ==
        "15 measured runs of 4 models (megatron, hopper, 16-bit, dense), without 1 that is doubted");
  CHECK(result["no_interval"].is_null());
}

TEST_CASE("The interval of memory leaves out what the process itself takes, and says how sure it fits") {
  const json result = WithIntervals().document();
  const json& memory = result["memory_bytes"];
  const double system = memory["device_peak"].get<double>() - memory["reserved_peak"].get<double>();
  CHECK(memory["interval"]["p10"].get<double>() == Approx(system + 0.8 * memory["reserved_peak"].get<double>()));
  CHECK(memory["interval"]["p90"].get<double>() == Approx(system + 1.25 * memory["reserved_peak"].get<double>()));
  CHECK(memory["interval"]["family"] == "all runs");
  CHECK(memory["interval"]["extrapolated"][0] == "no measured run of megatron");
  CHECK(memory["interval"]["share_that_fits"].get<double>() ==
        Approx(0.9));  // beyond the largest of five: 5 / 6, and 9 in 10 lie below p90
}

TEST_CASE("No interval, and why") {
  const json ideal = WithIntervals().document({"training.framework=ideal"});
  CHECK(ideal["interval"].is_null());
  CHECK(ideal["memory_bytes"]["interval"].is_null());
  CHECK(ideal["no_interval"] == "framework ideal is the best that the hardware allows: no run is held against it");
  CHECK(WithIntervals().text({"training.framework=ideal"}, false).find("8 in 10") == std::string::npos);
}

TEST_CASE("The text says the interval behind the time, and how sure it fits") {
  const WithIntervals intervals;
  const std::string screen = intervals.text({}, false);
  INFO(screen);
  CHECK(screen.find(", 8 in 10) ") != std::string::npos);
  CHECK(screen.find("fits (9 in 10), ") != std::string::npos);
  CHECK(std::count(screen.begin(), screen.end(), '\n') <= 24);
  const std::string full = intervals.text({}, true);
  INFO(full);
  CHECK(full.find("how sure") != std::string::npos);
  CHECK(full.find("15 measured runs of 4 models") != std::string::npos);
  const std::string too_large = intervals.text({"training.global_batch=65536", "strategy.micro_batch=8192"}, false);
  INFO(too_large);
  CHECK(too_large.find("does not fit (8 in 10), ") != std::string::npos);
}

TEST_CASE("A range in the unit of what stands before it") {
  CHECK(report::range_words("9.0 s", 9.0, report::Range{.low = 8.5, .high = 9.8}) == " (8.5 .. 9.8, 8 in 10)");
  CHECK(report::range_words("26.5 ms", 0.0265, report::Range{.low = 0.02, .high = 0.9996}) == " (20 .. 1000, 8 in 10)");
  CHECK(report::range_words("9.0 s", 9.0, std::nullopt).empty());
  CHECK(report::share_words(0.1) == "1 in 10");
  CHECK(report::share_words(0.02) == "1 in 10");
  CHECK(report::share_words(0.9) == "9 in 10");
  CHECK(report::share_words(0.95) == "95 in 100");
  CHECK(report::share_words(0.9999) == "99 in 100");
}

TEST_CASE("The picture of predicted against measured times") {
  const auto row = [](const char* family, double measured, double predicted, const char* doubt) {
    validation::ValidatedRow result;
    result.family = family;
    result.label = "a & b";
    result.measured_s = measured;
    result.predicted_s = predicted;
    result.error = predicted / measured - 1.0;
    result.doubt = doubt;
    return result;
  };
  validation::Report report;
  report.rows = {row("one", 1.0, 1.1, ""), row("one", 100.0, 40.0, "slow"), row("two", 10.0, 10.0, "")};
  for (const char* name : {"one", "two", "empty"}) {
    validation::FamilyResult family;
    family.name = name;
    family.timed = std::string(name) == "empty" ? 0 : 1;
    family.errors = validation::ErrorSummary{.mape = 0.05};
    report.families.push_back(family);
  }
  const std::string svg = report::validation_svg(report);
  const auto count = [&](const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1)) ++found;
    return found;
  };
  CHECK(count("<title>") == 3 + 2);  // the rows, and the tables in the legend
  CHECK(count("a &amp; b") == 3);
  CHECK(count("fill=\"#ffffff\" fill-opacity") == 1);  // one is doubted
  CHECK(count(">one: 1, 5.0 %<") == 1);
  CHECK(count("empty") == 0);
  CHECK(svg == report::validation_svg(report));
  CHECK(report::validation_svg({}).ends_with("</svg>\n"));
}
