// cairn sweep: its document, its table, its text, its picture, and what is wrong with what is varied.
#include <csignal>
#include <sstream>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "cli/program.h"
#include "support/conforms.h"

using namespace cairn::cli_tests;
using nlohmann::json;

namespace {

std::vector<std::string> sweep(const std::vector<std::string>& more) {
  std::vector<std::string> words{"sweep", "llama3-8b-fsdp-dgx-h100", "--set", "training.global_batch=64"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}
std::string space_file() {
  return write_file("sweep-space.yaml", "space: {tp: [1, 2], micro_batch: [1, 2], recompute: [none, full]}\n");
}

}  // namespace

TEST_CASE("A sweep answers with a document that conforms to its schema") {
  const json schema = json::parse(run({"schema", "cairn.sweep/1"}).out);
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--vary", "cluster.nodes=1,2", "--vary", "strategy.tp=1..3", "--json"},
        std::vector<std::string>{"--vary", "cluster.nodes=1,2", "--search", "--space", space_file(), "--json"}}) {
    const Outcome outcome = run(sweep(more));
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const json document = json::parse(outcome.out);
    cairn::test::conforms(schema, document, "");
    CHECK(document["complete"] == true);
    CHECK(document["vary"][0] == json{{"key", "cluster.nodes"}, {"values", {"1", "2"}}});
    CHECK(document["elasticities"]["figures"].size() > 5);
  }
}

TEST_CASE("Rows stand in the order of the product, and one that cannot be planned says why") {
  const json document =
      json::parse(run(sweep({"--vary", "cluster.nodes=1,2", "--vary", "strategy.tp=1..3", "--json"})).out);
  REQUIRE(document["rows"].size() == 6);
  CHECK(document["rows"][1]["values"] == json{{"cluster.nodes", "1"}, {"strategy.tp", "2"}});
  CHECK(document["rows"][3]["values"] == json{{"cluster.nodes", "2"}, {"strategy.tp", "1"}});
  CHECK(document["rows"][2]["result"].is_null());
  CHECK(document["rows"][2]["error"]["diagnostics"][0]["key_path"] == "strategy.tp");
  CHECK(document["rows"][3]["error"].is_null());
}

TEST_CASE("A row is what a run says") {
  const json row = json::parse(run(sweep({"--vary", "cluster.nodes=2", "--json"})).out)["rows"][0]["result"];
  const json ran = json::parse(run({"run", "llama3-8b-fsdp-dgx-h100", "--set", "training.global_batch=64", "--set",
                                    "cluster.nodes=2", "--engine", "analytic", "--json"})
                                   .out)["result"];
  CHECK(row["iteration_time_s"] == ran["iteration_time_s"]);
  CHECK(row["mfu"] == ran["mfu"]);
  CHECK(row["tokens_per_s_per_gpu"] == ran["tokens_per_s_per_gpu"]);
  CHECK(row["memory_bytes"] == ran["memory_bytes"]["device_peak"]);
  CHECK(row["limit"] == ran["limit"]);
}

TEST_CASE("The same bytes at one thread and at two") {
  for (const char* form : {"--json", "--csv", "--full"}) {
    const std::vector<std::string> asked = sweep({"--vary", "cluster.nodes=1..8*2", "--vary", "strategy.tp=1,3", form});
    std::vector<std::string> one = asked, two = asked;
    one.insert(one.end(), {"--threads", "1"});
    two.insert(two.end(), {"--threads", "2"});
    CHECK(run(one).out == run(two).out);
  }
}

TEST_CASE("The table begins with what varies and ends with why a row has no result") {
  std::istringstream lines(run(sweep({"--vary", "strategy.tp=2,3", "--csv"})).out);
  std::string header, two, three;
  std::getline(lines, header);
  std::getline(lines, two);
  std::getline(lines, three);
  CHECK(header.starts_with("strategy.tp,result.fits,result.iteration_time_s,"));
  CHECK(header.ends_with(",error"));
  CHECK(two.starts_with("2,true,"));
  CHECK(three.starts_with("3,,,"));
  CHECK(three.find("tp 3") != std::string::npos);
}

TEST_CASE("The text begins with the best row") {
  const Outcome outcome = run(sweep({"--vary", "cluster.nodes=1,2,4"}));
  CHECK(outcome.code == 0);
  CHECK(outcome.out.starts_with("Llama 3.1 8B fully sharded on one DGX H100: of 3 rows the shortest step takes "));
  CHECK(outcome.out.find("with\ncluster.nodes 4\n") != std::string::npos);
  CHECK(outcome.out.find("cluster.accelerator.peak.tensor") != std::string::npos);
  const Outcome dear = run(sweep({"--vary", "cluster.nodes=1,2,4", "--objective", "tokens-per-gpu"}));
  CHECK(dear.out.find("with\ncluster.nodes 1\n") != std::string::npos);
}

TEST_CASE("A sweep none of whose rows has a result ends with 1") {
  const Outcome outcome = run(sweep({"--vary", "strategy.tp=3,5"}));
  CHECK(outcome.code == 1);
  CHECK(outcome.out.find("none of 2 rows fits") != std::string::npos);
}

TEST_CASE("A sweep is drawn") {
  const std::string file = scratch() + "/sweep.svg";
  REQUIRE(run(sweep({"--vary", "cluster.nodes=1..4*2", "--vary", "strategy.tp=1,2", "--plot", file})).code == 0);
  const std::string picture = content(file);
  CHECK(picture.starts_with("<svg "));
  CHECK(picture.find("strategy.tp 2") != std::string::npos);
  CHECK(picture.find("ideal scaling") != std::string::npos);
  REQUIRE(run(sweep({"--vary", "training.precision=bf16,fp8-delayed", "--plot", file})).code == 0);
  CHECK(content(file).find("ideal scaling") == std::string::npos);
  CHECK(run(sweep({"--vary", "strategy.tp=3", "--plot", file})).code == 1);
  CHECK(content(file).find("no row has a result") != std::string::npos);
}

TEST_CASE("What is varied wrongly is refused with how to write it") {
  refused(sweep({}), {"--vary"});
  refused(sweep({"--vary", "cluster.nodes"}), {"--vary", "no '='"});
  refused(sweep({"--vary", "cluster.nodes="}), {"--vary", "missing"});
  refused(sweep({"--vary", "cluster.nodes=8..1"}), {"--vary", "downwards"});
  refused(sweep({"--vary", "cluster.nodes=1..8*1"}), {"--vary", "does not grow"});
  refused(sweep({"--vary", "cluster.nodes=1..20000"}), {"--vary", "more than 10000"});
  refused(sweep({"--vary", "cluster.nodes=1..200", "--vary", "strategy.tp=1..200"}),
          {"--vary", "more than 10000 rows"});
  refused(sweep({"--vary", "cluster.nodes=1,2", "--vary", "cluster.nodes=3"}), {"--vary", "varies twice"});
  refused(sweep({"--vary", "cluster.nodez=1,2"}), {"--vary", "cluster.nodez", "did you mean 'nodes'"});
  refused(sweep({"--vary", "cluster.inter.bandwidth=200,400"}), {"--vary", "cluster.inter.bandwidth", "unit"});
  refused(sweep({"--vary", "cluster.nodes=1,2", "--space", space_file()}), {"--space", "--search"});
  refused(sweep({"--vary", "cluster.nodes=1,2", "--threads", "0"}), {"--threads"});
  refused(sweep({"--vary", "cluster.nodes=1,2", "--time-limit", "soon"}), {"--time-limit"});
  refused({"sweep", "--vary", "cluster.nodes=1"}, {"experiment"});
}

TEST_CASE("A time limit leaves a document of the rows that were done") {
  const Outcome outcome = run(sweep({"--vary", "cluster.nodes=1..8", "--time-limit", "1us", "--json"}));
  CHECK(outcome.code == 1);
  const json document = json::parse(outcome.out);
  cairn::test::conforms(json::parse(run({"schema", "cairn.sweep/1"}).out), document, "");
  CHECK(document["complete"] == false);
  CHECK(document["rows"].empty());
}

TEST_CASE("An interrupted sweep is 130 and leaves a document") {
  const std::string file = scratch() + "/interrupted.json";
  const int process = start(sweep({"--vary", "training.seq_len=1024..9000", "--json", "--threads", "1", "-o", file}));
  for (int i = 0; i < 20; ++i) {  // until it works on its rows
    const timespec pause{.tv_sec = 0, .tv_nsec = 50'000'000};
    nanosleep(&pause, nullptr);
  }
  REQUIRE(kill(process, SIGINT) == 0);
  CHECK(wait_for(process) == 130);
  const json document = json::parse(content(file));
  CHECK(document["complete"] == false);
  CHECK(document["rows"].size() < 7977);
}
