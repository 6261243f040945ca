// cairn diff --trace: a trace against an experiment or a result, and what is wrong with either.
#include <nlohmann/json.hpp>

#include "catch.h"
#include "cli/program.h"

using namespace cairn::cli_tests;
using nlohmann::json;

namespace {

// Two steps of a product each, of 2 ms and 3 ms, with a rank of the second stage.
const std::string k_trace = R"({"distributedInfo": {"rank": 511, "world_size": 512}, "traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 0, "dur": 2000},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "ts": 2000, "dur": 3000},
{"ph": "X", "cat": "kernel", "name": "nvjet_tst", "ts": 0, "dur": 1500, "args": {"device": 7, "stream": 7}},
{"ph": "X", "cat": "kernel", "name": "my_own_kernel", "ts": 2000, "dur": 1000, "args": {"device": 7, "stream": 7}}
]})";

std::string trace_file() { return write_file("rank511.json", k_trace); }
const std::string k_experiment = "llama3-70b-64xdgx-h100";

}  // namespace

TEST_CASE("A trace is compared with the stage and the median step of its rank") {
  const Outcome outcome = run({"diff", "--trace", trace_file(), k_experiment, "--json"});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const json document = json::parse(outcome.out);
  CHECK(document["schema"] == "cairn.diff_trace/1");
  CHECK(document["stage"] == 3);
  CHECK(document["trace"]["step"] == "ProfilerStep#1");
  CHECK(document["result"]["measured_s"] == 2e-3);
  REQUIRE(document["warnings"].size() == 1);  // receives that wait
  const json second =
      json::parse(run({"diff", "--trace", trace_file(), k_experiment, "--json", "--step", "2", "--stage", "0"}).out);
  CHECK(second["stage"] == 0);
  CHECK(second["result"]["unmatched"][0]["name"] == "my_own_kernel");
}

TEST_CASE("A result is what it was made from, and a result of other figures is told") {
  const std::string result = scratch() + "/result.json";
  REQUIRE(run({"run", k_experiment, "--engine", "event", "--json", "-o", result}).code == 0);
  const json document = json::parse(run({"diff", "--trace", trace_file(), result, "--json"}).out);
  CHECK(document["warnings"].size() == 1);
  json changed = json::parse(content(result));
  CHECK(document["result"]["predicted_s"] == changed["result"]["iteration_time_s"]);
  changed["result"]["iteration_time_s"] = 1.0;
  const json told =
      json::parse(run({"diff", "--trace", trace_file(), write_file("changed.json", changed.dump()), "--json"}).out);
  REQUIRE(told["warnings"].size() == 2);
  CHECK(told["warnings"][0].get<std::string>().find("says 1 s") != std::string::npos);
}

TEST_CASE("A trace and what it is compared with are both there, and right") {
  refused({"diff", k_experiment}, {"--trace", "what was measured is missing"});
  refused({"diff", "--trace", trace_file()}, {"run"});
  refused({"diff", "--trace", trace_file(), k_experiment, k_experiment}, {"2 runs beside a trace"});
  refused({"diff", "--trace", "nowhere.json", k_experiment}, {"nowhere.json", "cannot be read"});
  refused({"diff", "--trace", trace_file(), k_experiment, "--stage", "4"}, {"--stage", "stages are 0 to 3"});
  refused({"diff", "--trace", trace_file(), k_experiment, "--step", "9"}, {"--step", "ProfilerStep#1, ProfilerStep#2"});
  refused({"diff", "--trace", trace_file(), "no-such-experiment"}, {"no-such-experiment"});
  refused({"diff", "--trace", write_file("cut.json", k_trace.substr(0, 200)), k_experiment},
          {"cut.json:", "cut off here"});
}
