// cairn run --measured: a measured step beside the predicted one.
#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "cli/program.h"

using namespace cairn::cli_tests;
using nlohmann::json;

namespace {

const std::string k_measured_experiment = "llama3-8b-fsdp-dgx-h100";

}  // namespace

TEST_CASE("A measured step has a gap and facts that would explain it, by their residuals") {
  const Outcome plain = run({"run", k_measured_experiment, "--json"});
  const double predicted = json::parse(plain.out).at("result").at("iteration_time_s");
  const Outcome outcome =
      run({"run", k_measured_experiment, "--json", "--measured", std::to_string(1.2 * predicted) + " s"});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const json result = json::parse(outcome.out).at("result");
  const json& measured = result.at("measured");
  CHECK(measured.at("time_s").get<double>() == Approx(1.2 * predicted));
  CHECK(measured.at("gap_s").get<double>() == Approx(0.2 * predicted).epsilon(1e-4));
  REQUIRE(!measured.at("facts").empty());
  double before = 0.0;
  for (const json& fact : measured.at("facts")) {
    CHECK(fact.at("residual_s").get<double>() ==
          Approx(measured.at("time_s").get<double>() - fact.at("time_s").get<double>()).margin(1e-9));
    CHECK(std::abs(fact.at("residual_s").get<double>()) >= before);
    before = std::abs(fact.at("residual_s").get<double>());
  }
  // All else is the answer without it.
  json without = json::parse(outcome.out);
  without["result"].erase("measured");
  CHECK(without == json::parse(plain.out));
}

TEST_CASE("The screen keeps its length, and says the gap") {
  const Outcome outcome = run({"run", k_measured_experiment, "--measured", "2 s"});
  REQUIRE(outcome.code == 0);
  CHECK(std::count(outcome.out.begin(), outcome.out.end(), '\n') <= 24);
  CHECK(outcome.out.find("Measured 2 s: ") != std::string::npos);
  CHECK(run({"run", k_measured_experiment, "--measured", "2 s", "--full"}).out.find("--set ") != std::string::npos);
}

TEST_CASE("A measured time is a time, of one experiment") {
  refused({"run", k_measured_experiment, "--measured", "2"}, {"--measured"});
  refused({"run", k_measured_experiment, "--measured", "0 s"}, {"--measured", "no time that a step takes"});
  refused({"run", k_measured_experiment, "--measured", "-1 s"}, {"--measured"});
  refused({"run", k_measured_experiment, "--measured", "1e9 s"}, {"--measured", "no time that a step takes"});
  refused({"run", k_measured_experiment, "--measured", "soon"}, {"--measured"});
  refused({"run", "--batch", write_file("one.jsonl", "{}\n"), "--measured", "2 s"}, {"--measured", "--batch"});
}
