// When the passes of a step ran, as documents say it.
#include <map>
#include <string>
#include <vector>

#include "cairn/report/run.h"
#include "cairn/report/schema.h"
#include "catch.h"
#include "report/conforms.h"
#include "report/small_run.h"

using namespace cairn;
using nlohmann::json;
using report_tests::conforms;
using report_tests::k_tool;
using report_tests::loader;
using report_tests::small;

namespace {

json with_timeline(const std::vector<std::string>& overrides, predict::Engine engine, bool timeline = true) {
  experiment::Job job(small(overrides), loader());
  const experiment::Result result = job.run(engine, {.passes = timeline});
  return json::parse(report::json({.job = job, .result = result, .tool = k_tool, .timeline = timeline}));
}

}  // namespace

TEST_CASE("Passes of a stage follow one another, and those of a micro-batch from stage to stage") {
  for (const auto engine : {predict::Engine::analytic, predict::Engine::both}) {
    const json run = with_timeline({}, engine);
    conforms(json::parse(report::run_schema()), run, "");
    const json& timeline = run["result"]["timeline"];
    REQUIRE(timeline.size() == 1);
    CHECK(timeline[0]["from_s"] == 0.0);
    CHECK(timeline[0]["until_s"] == run["result"]["iteration_time_s"]);
    std::map<int, double> until;                                       // by stage
    std::map<std::string, std::map<int, std::map<int, json>>> passes;  // by phase, micro-batch and stage
    for (const json& pass : timeline[0]["passes"]) {
      CHECK(pass[4].get<double>() >= until[pass[0]]);
      CHECK(pass[5].get<double>() > pass[4].get<double>());
      until[pass[0]] = pass[5];
      if (!pass[2].is_null()) passes[pass[1]][pass[2]][pass[0]] = pass;
    }
    // 16 sequences over dp 2: 8 micro-batches of one, forward and backward on each of two stages.
    CHECK(passes.size() == 2);
    CHECK(passes["forward"].size() == 8);
    CHECK(passes["backward"].size() == 8);
    CHECK(passes["forward"][0][0][4] == 0.0);
    for (int i = 0; i < 8; ++i) {
      CHECK(passes["forward"][i][1][4].get<double>() >= passes["forward"][i][0][5].get<double>());
      CHECK(passes["backward"][i][1][4].get<double>() >= passes["forward"][i][1][5].get<double>());
      CHECK(passes["backward"][i][0][4].get<double>() >= passes["backward"][i][1][5].get<double>());
    }
    CHECK(until[0] <= run["result"]["iteration_time_s"].get<double>());
  }
  CHECK_FALSE(with_timeline({}, predict::Engine::both, false)["result"].contains("timeline"));
}

TEST_CASE("Of more passes than are listed there are the first and the last") {
  // 8,192 micro-batches: 32,768 passes on two stages.
  const json run = with_timeline({"training.global_batch=16384"}, predict::Engine::analytic);
  const json& timeline = run["result"]["timeline"];
  REQUIRE(timeline.size() == 2);
  CHECK(timeline[0]["until_s"].get<double>() < timeline[1]["from_s"].get<double>());
  CHECK(timeline[1]["until_s"] == run["result"]["iteration_time_s"]);
  for (const json& window : timeline) {
    CHECK(window["passes"].size() > 150);
    CHECK(window["passes"].size() <= 163);  // 160 a stage in two windows; two stages run across a border
    for (const json& pass : window["passes"]) {
      CHECK(pass[4].get<double>() < window["until_s"].get<double>());
      CHECK(pass[5].get<double>() > window["from_s"].get<double>());
    }
  }
  // Micro-batches are alike: amid the step passes of a kind begin a period after one another on each stage. Those that
  // the period puts inside a window are listed in it, those across its border, too.
  constexpr double k_rounding_s = 1e-9;
  for (const int stage : {0, 1})
    for (const char* phase : {"forward", "backward"}) {
      INFO(stage << " " << phase);
      const auto of = [&](const json& window) {
        std::vector<json> all;
        for (const json& pass : window["passes"])
          if (pass[0] == stage && pass[1] == phase) all.push_back(pass);
        REQUIRE(all.size() > 30);  // a quarter of them, less what fills and drains
        return all;
      };
      const std::vector<json> first = of(timeline[0]), last = of(timeline[1]);
      const double last_start = first.back()[4], start_before = first[first.size() - 2][4];
      CHECK(last_start + (last_start - start_before) >= timeline[0]["until_s"].get<double>() - k_rounding_s);
      const double first_end = last.front()[5], end_after = last[1][5];
      CHECK(first_end - (end_after - first_end) <= timeline[1]["from_s"].get<double>() + k_rounding_s);
    }
}
