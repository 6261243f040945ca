// cairn diff: two experiments or results; a trace against one of them; and what is wrong with either.
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
  refused({"diff", k_experiment}, {"what the run is compared with is missing", "--trace"});
  refused({"diff", "--trace", trace_file()}, {"run"});
  refused({"diff", "--trace", trace_file(), k_experiment, k_experiment}, {"2 runs beside a trace"});
  refused({"diff", "--trace", "nowhere.json", k_experiment}, {"nowhere.json", "cannot be read"});
  refused({"diff", "--trace", trace_file(), k_experiment, "--stage", "4"}, {"--stage", "stages are 0 to 3"});
  refused({"diff", "--trace", trace_file(), k_experiment, "--step", "9"}, {"--step", "ProfilerStep#1, ProfilerStep#2"});
  refused({"diff", "--trace", trace_file(), "no-such-experiment"}, {"no-such-experiment"});
  refused({"diff", "--trace", write_file("cut.json", k_trace.substr(0, 200)), k_experiment},
          {"cut.json:", "cut off here"});
}

namespace {

const std::string k_a = "qwen3-30b-16xdgx-h100";
const std::string k_b = "qwen3-30b-16xdgx-h100-two-levels";

// The sum of a key over a list of objects, in whole picoseconds.
std::int64_t sum(const json& list, const char* key) {
  std::int64_t total = 0;
  for (const json& each : list) total += each.at(key).get<std::int64_t>();
  return total;
}

}  // namespace

TEST_CASE("Two experiments differ by causes and by settings, to the picosecond") {
  const Outcome outcome = run({"diff", k_a, k_b, "--json"});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const json document = json::parse(outcome.out);
  const json& result = document.at("result");
  CHECK(document.at("schema") == "cairn.diff/1");
  CHECK(document.at("engine") == "analytic");
  const auto by = result.at("difference_ps").get<std::int64_t>();
  CHECK(by == document.at("b").at("time_ps").get<std::int64_t>() - document.at("a").at("time_ps").get<std::int64_t>());
  CHECK(by != 0);
  CHECK(sum(result.at("parts"), "difference_ps") == by);
  CHECK(sum(result.at("causes"), "difference_ps") == by);
  CHECK(sum(result.at("settings"), "share_ps") == by);
  CHECK(result.at("unexplained_ps") == 0);
  const json back = json::parse(run({"diff", k_b, k_a, "--json"}).out);
  CHECK(back.at("result").at("difference_ps") == -by);
  CHECK(run({"diff", k_a, k_b, "--json"}).out == outcome.out);
}

TEST_CASE("The answer comes first, and one experiment twice is no difference") {
  const Outcome slower = run({"diff", k_a, k_b});
  CHECK((slower.out.starts_with("B is ") && slower.out.find(" than A: ") < slower.out.find('\n')));
  CHECK(slower.out.find("By setting") != std::string::npos);
  const Outcome same = run({"diff", k_a, k_a});
  REQUIRE(same.code == 0);
  CHECK(same.out.starts_with("A and B take the same time: "));
  CHECK(same.out.find("No setting differs") != std::string::npos);
  CHECK(run({"diff", k_a, k_b, "--csv"}).out.find("share_ps") != std::string::npos);
}

TEST_CASE("A result is its experiment, and one of another version is told") {
  const std::string result = scratch() + "/compared.json";
  REQUIRE(run({"run", k_b, "--json", "-o", result}).code == 0);
  const json same = json::parse(run({"diff", k_b, result, "--json"}).out);
  CHECK(same.at("result").at("difference_ps") == 0);
  CHECK(same.at("result").at("settings").empty());
  CHECK(same.at("notes").empty());
  json changed = json::parse(content(result));
  changed["result"]["iteration_time_s"] = 100.0;
  changed["result"]["analytic"]["iteration_time_s"] = 100.0;
  const json told = json::parse(run({"diff", k_a, write_file("older.json", changed.dump()), "--json"}).out);
  CHECK(told.at("b").at("time_ps") == 100'000'000'000'000);
  CHECK(told.at("b").at("recorded") == true);
  CHECK(told.at("notes").size() == 1);
  const json& parts = told.at("result");
  CHECK(parts.at("causes").is_null());
  const auto by = parts.at("difference_ps").get<std::int64_t>();
  CHECK(sum(parts.at("parts"), "difference_ps") == by);
  CHECK(sum(parts.at("settings"), "share_ps") + parts.at("unexplained_ps").get<std::int64_t>() == by);
}

TEST_CASE("Two are compared, of kinds that can be, and options of a trace need one") {
  refused({"diff", k_a, k_b, k_a}, {"3 runs, and two are compared"});
  refused({"diff", k_a, "no-such-experiment"}, {"no-such-experiment"});
  refused({"diff", k_a, "nowhere.json"}, {"nowhere.json"});
  refused({"diff", k_a, write_file("broken.json", "{\"schema\": ")}, {"broken.json"});
  refused({"diff", k_a, write_file("other.json", R"({"schema": "cairn.search/1"})")},
          {"other.json", "a document of kind 'cairn.search/1'"});
  refused({"diff", k_a, write_file("cut.json", R"({"schema": "cairn.run/1", "experiment": {}})")},
          {"result", "is missing in this result"});
  refused({"diff", k_a, k_b, "--set", "strategy.tp=3"}, {"tp"});
  refused({"diff", k_a, k_b, "--step", "3"}, {"--step", "of a trace"});
  refused({"diff", k_a, k_b, "--stage", "1"}, {"--stage", "of a trace"});
  refused({"diff", k_a, "--trace", trace_file(), "--engine", "event"}, {"--engine"});
}
