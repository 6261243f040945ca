// cairn partition: modules of an experiment over devices, tasks over ranks.
#include <numeric>
#include <sstream>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "cli/asked.h"
#include "cli/program.h"
#include "support/conforms.h"

using namespace cairn::cli_tests;
using nlohmann::json;

namespace {

void on_one_screen(const std::vector<std::string>& words) {
  const Outcome outcome = run(words);
  REQUIRE(outcome.code == 0);
  CAPTURE(outcome.out);
  std::istringstream out(outcome.out);
  std::size_t lines = 0;
  for (std::string line; std::getline(out, line); ++lines) CHECK(line.size() <= 100);
  CHECK(lines <= 24);
}

}  // namespace

TEST_CASE("Modules of an experiment become stages, which run") {
  const json schema = json::parse(run({"schema", "cairn.partition/1"}).out);
  for (const std::string experiment : {"llama3-70b-64xdgx-h100", "llama3-8b-fsdp-dgx-h100"}) {
    CAPTURE(experiment);
    const json found = asked("partition", {experiment, "--devices", "4"});
    cairn::test::conforms(schema, found, "");
    CHECK(found["exact"]["most"].get<double>() <= found["tree"]["most"].get<double>());
    CHECK(found["exact"]["loads"].size() == 4);
    REQUIRE(found["exact"]["stages"].is_string());
    const std::string stages = found["exact"]["stages"];
    const Outcome ran =
        run({"run", experiment, "--engine", "analytic", "--json", "--set", "strategy.pp=4", "--set", "strategy.dp=null",
             "--set", "training.global_batch=512", "--set", "strategy.stages=" + stages});
    CAPTURE(ran.err);
    CHECK(ran.code <= 1);
    // The text says the same settings.
    CHECK(run({"partition", experiment, "--devices", "4"})
              .out.find("--set strategy.pp=4 --set strategy.dp=null --set strategy.stages='" + stages) !=
          std::string::npos);
    on_one_screen({"partition", experiment, "--devices", "64"});
  }
  // As many stages as the strategy has.
  CHECK(asked("partition", {"llama3-70b-64xdgx-h100"})["devices"] == 4);
}

TEST_CASE("Tasks are shared out by every rule, or by one") {
  const json schema = json::parse(run({"schema", "cairn.tasks/1"}).out);
  const std::string file = write_file("tasks.csv", "name,cost\na,5\nb,4\nc,3\nd,3\ne,3\n");
  const json all = asked("partition", {"--tasks", file, "--ranks", "2"});
  cairn::test::conforms(schema, all, "");
  CHECK(all["rules"].size() == 5);
  CHECK(all["cost"] == 18);
  CHECK(all["at_least"] == 9);
  const json one = asked("partition", {"--tasks", file, "--ranks", "2", "--rule", "longest-first"});
  REQUIRE(one["rules"].size() == 1);
  CHECK(one["rules"][0]["over_least"].get<double>() == Approx(10.0 / 9.0).epsilon(1e-9));
  CHECK(one["rules"][0]["most"] == 10);
  CHECK(one["rules"][0]["rank"] == json({0, 1, 1, 0, 1}));
  const std::string idle = write_file("idle.csv", "cost\n0\n0\n");
  const json nothing = asked("partition", {"--tasks", idle, "--ranks", "2"});
  cairn::test::conforms(schema, nothing, "");
  CHECK(nothing["rules"][0]["over_least"].is_null());
  CHECK(run({"partition", "--tasks", idle, "--ranks", "2"}).out.find("         -  proven") != std::string::npos);
  // As much as can be added up, on more ranks than tasks.
  const std::string heavy = write_file("heavy.csv", "cost\n2000000000000000000\n1\n");
  CHECK(asked("partition", {"--tasks", heavy, "--ranks", "2000"})["at_least"] == 2000000000000000000);
  std::string many = "cost\n";
  for (int i = 0; i < 500; ++i) many += std::to_string(1000 + (i * 7919) % 5000) + "\n";
  const std::string large = write_file("many.csv", many);
  on_one_screen({"partition", "--tasks", large, "--ranks", "128"});
  on_one_screen({"partition", "--tasks", large, "--ranks", "128", "--rule", "longest-first"});
}

TEST_CASE("What partition cannot do is refused with its remedy") {
  const std::string file = write_file("tasks.csv", "cost\n5\n");
  refused({"partition"}, {"cairn partition", "--tasks"});
  refused({"partition", "llama3-8b-fsdp-dgx-h100", "--tasks", file, "--ranks", "2"}, {"experiment", "--tasks"});
  refused({"partition", "--tasks", file}, {"--ranks"});
  refused({"partition", "--tasks", file, "--ranks", "2", "--devices", "2"}, {"--devices"});
  refused({"partition", "--tasks", file, "--ranks", "2000000"}, {"--ranks"});
  refused({"partition", "--tasks", write_file("bad.csv", "cost\n5\n1.5 ms\n"), "--ranks", "2"}, {"bad.csv:3", "whole"});
  refused({"partition", "--tasks", "/nowhere.csv", "--ranks", "2"}, {"nowhere.csv"});
  refused({"partition", "llama3-8b-fsdp-dgx-h100", "--ranks", "2"}, {"--ranks", "--devices"});
  refused({"partition", "llama3-8b-fsdp-dgx-h100", "--memory-weight", "1.5"}, {"--memory-weight", "0 to 1"});
  refused({"partition", "llama3-8b-fsdp-dgx-h100", "--set", "strategy.tp=3"}, {"strategy.tp"});
  // With the place that gave it.
  refused({"partition", "llama3-8b-fsdp-dgx-h100", "--set", "model.layers=2000"}, {"--set: error: model.layers"});
}
