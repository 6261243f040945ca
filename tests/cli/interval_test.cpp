// Intervals from outside: what ships decides them, whatever measurements this machine has.
#include <nlohmann/json.hpp>

#include "catch.h"
#include "cli/program.h"

using namespace cairn::cli_tests;

TEST_CASE("A run says the same with and without measurements at hand") {
  const std::vector<std::string> asked{"run", "llama3-8b-fsdp-dgx-h100", "--engine", "analytic", "--json"};
  const Outcome without = run(asked);
  const Outcome with = run({.arguments = asked, .environment = {{"CAIRN_DATA", scratch()}}});
  CHECK(without.code == 0);
  CHECK(without.out == with.out);
  const auto result = nlohmann::json::parse(without.out)["result"];
  CHECK(result["interval"]["p10"] < result["interval"]["p90"]);
}

TEST_CASE("A broken file of intervals is refused with its place") {
  write_file("broken/intervals.yaml", "version: 1\nfamilies:\n  - traits: [megatron]\n    time: {rows: 0}\n");
  const Outcome outcome = run({.arguments = {"run", "llama3-8b-fsdp-dgx-h100", "--engine", "analytic"},
                               .environment = {{"CAIRN_CONFIGS", scratch() + "/broken"}}});
  CHECK(outcome.code == 2);
  CHECK(outcome.out.empty());
  INFO(outcome.err);
  CHECK(outcome.err.find("intervals.yaml:4:18: error: families[0].time.rows") != std::string::npos);
}

TEST_CASE("Intervals of some tables alone are not written") {
  refused({"validate", "korthikanti2022_table5", "--write-intervals", scratch() + "/intervals.yaml"},
          {"--write-intervals", "name no family"});
}
