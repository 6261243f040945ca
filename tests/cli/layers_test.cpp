// cairn search EXPERIMENT --method galvatron, and cairn run --strategy-file of layers.
#include <algorithm>
#include <sstream>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "cli/asked.h"
#include "cli/program.h"
#include "support/conforms.h"

using namespace cairn::cli_tests;
using nlohmann::json;

namespace {

const std::vector<std::vector<std::string>> k_layers_asked{
    {"llama3-8b-fsdp-dgx-h100"},
    {"llama3-8b-fsdp-dgx-h100", "--set", "training.seq_len=32768"},
    {"llama3-70b-64xdgx-h100", "--set", "cluster.nodes=8", "--set", "strategy.dp=null", "--set",
     "training.global_batch=64"},
    // Its own degrees are no plan of 8 accelerators, and none is asked for.
    {"llama3-8b-fsdp-dgx-h100", "--set", "strategy.tp=3", "--set", "strategy.pp=5"}};

std::vector<std::string> searching(std::vector<std::string> asked, const std::vector<std::string>& more = {}) {
  asked.insert(asked.begin(), "search");
  asked.insert(asked.end(), {"--method", "galvatron"});
  asked.insert(asked.end(), more.begin(), more.end());
  return asked;
}

}  // namespace

TEST_CASE("Ways of layers run in exactly the time that their search found") {
  const json schema = json::parse(run({"schema", "cairn.layers/1"}).out);
  for (const std::vector<std::string>& asked : k_layers_asked) {
    CAPTURE(asked);
    const json searched = found(searching(asked, {"--json"}));
    cairn::test::conforms(schema, searched, "");
    CHECK(searched["method"] == "galvatron");
    REQUIRE(searched["time_ps"].is_number());
    if (!searched["uniform"].is_null())
      CHECK(searched["time_s"].get<double>() <= searched["uniform"]["time_s"].get<double>());
    const json ran = found({"run", "--strategy-file", write_file("layers.json", searched.dump()), "--json"});
    cairn::test::conforms(schema, ran, "");
    CHECK(ran["time_ps"] == searched["time_ps"]);
    CHECK(ran["memory_bytes"] == searched["memory_bytes"]);
    CHECK(ran["stages"] == searched["stages"]);
    CHECK(ran["strategy"] == searched["strategy"]);
    CHECK(ran["warnings"] == searched["warnings"]);
    CHECK(ran["assumptions"] == searched["assumptions"]);
    CHECK(ran["method"].is_null());
    // The bare strategy means the same.
    const std::string bare = write_file("bare.yaml", searched["strategy"].dump());
    CHECK(found({"run", "--strategy-file", bare, "--json"})["time_ps"] == searched["time_ps"]);
  }
}

TEST_CASE("The answer fits one screen") {
  for (const std::vector<std::string>& asked : k_layers_asked) {
    const Outcome outcome = run(searching(asked));
    REQUIRE(outcome.code <= 1);
    CAPTURE(outcome.out);
    std::istringstream out(outcome.out);
    std::size_t lines = 0;
    for (std::string line; std::getline(out, line); ++lines) CHECK(line.size() <= 100);
    CHECK(lines <= 24);
    CHECK(outcome.out.find("laye..") == std::string::npos);  // no name is cut off
    CHECK(outcome.out.find("layer..") == std::string::npos);
  }
}

TEST_CASE("A strategy of one's own names its experiment") {
  const std::string file = write_file("mine.yaml",
                                      "experiment: llama3-8b-fsdp-dgx-h100\n"
                                      "micro_batches: 1\n"
                                      "stages:\n"
                                      "  - layers: [{count: 17, tp: 1, sharded: true, recompute: true}, {count: 17, "
                                      "tp: 2, sharded: true}]\n");
  const json ran = found({"run", "--strategy-file", file, "--json"});
  REQUIRE(ran["stages"].size() == 1);
  CHECK(ran["stages"][0]["layers"][0]["first"] == "embedding");
  CHECK(ran["stages"][0]["layers"][0]["last"] == "layer 16");
  CHECK(ran["stages"][0]["layers"][1]["dp"] == 4);
}

TEST_CASE("What ways of layers cannot be is refused with its remedy") {
  const std::string experiment = "llama3-8b-fsdp-dgx-h100";
  refused({"search", "--method", "galvatron"}, {"--method", "cairn search"});
  refused({"search", "--method", "cephalo"}, {"--method", "cluster.groups"});
  refused({"search", experiment, "--method", "galvatron", "--graph", "alexnet"}, {"--graph", "leave"});
  refused({"search", experiment, "--method", "galvatron", "--top", "3"}, {"--top", "leave"});
  refused({"search", "qwen3-30b-16xdgx-h100", "--method", "galvatron"}, {"model.moe"});
  refused({"search", experiment, "--method", "galvatron", "--set", "strategy.order=[tp, tp, dp, pp]"},
          {"strategy.order"});
  const auto plan = [](const std::string& layers) {
    return write_file("wrong.yaml", "experiment: llama3-8b-fsdp-dgx-h100\nstages:\n  - layers: [" + layers + "]\n");
  };
  refused({"run", "--strategy-file", plan("{count: 34}"), "--set", "training.global_batch=16"}, {"--set", "extends"});
  refused({"run", "--strategy-file", plan("{count: 33}")}, {"wrong.yaml", "stages", "34"});
  refused({"run", "--strategy-file", plan("{count: 34, tp: 3}")}, {"wrong.yaml:3", "tp"});
  refused({"run", "--strategy-file", plan("{count: 34, tensor: 3}")}, {"wrong.yaml:3", "tensor"});
  // An answer of which nothing fits holds no plan.
  const Outcome nothing = run(searching({experiment, "--set", "cluster.gpus_per_node=1", "--set",
                                         "training.global_batch=1", "--set", "strategy.zero=0", "--json"}));
  CHECK(nothing.code == 1);
  refused({"run", "--strategy-file", write_file("nothing.json", nothing.out)},
          {"nothing.json:", "no plan", "more accelerators"});
  refused({"run", "--strategy-file", write_file("none.yaml", "experiment: nowhere\nstages: [{layers: [{}]}]\n")},
          {"nowhere"});
}

// 37 accelerators have 37 copies of a layer, or 37 stages; of 67108864 tokens a layer takes more than any device has.
TEST_CASE("Where no way of sharing layers is allowed, the reason comes with its own remedy") {
  const json schema = json::parse(run({"schema", "cairn.layers/1"}).out);
  const std::string experiment = "llama3-8b-fsdp-dgx-h100";
  const std::vector<std::pair<std::vector<std::string>, std::string>> asked{
      {{experiment, "--set", "cluster.gpus_per_node=1", "--set", "cluster.nodes=37", "--set",
        "training.global_batch=1"},
       "give a batch that falls into equal shares, or fewer accelerators"},
      {{experiment, "--set", "training.seq_len=67108864"}, "share it among more ranks, or use shorter sequences"}};
  for (const auto& [words, remedy] : asked) {
    CAPTURE(words);
    const Outcome text = run(searching(words));
    CHECK(text.code == 1);
    CHECK(text.out.find("in no way") != std::string::npos);
    CHECK(text.out.find("\n" + remedy + "\n") != std::string::npos);
    CHECK(text.out.find("give more accelerators") == std::string::npos);
    const Outcome document = run(searching(words, {"--json"}));
    const json answer = json::parse(document.out);
    cairn::test::conforms(schema, answer, "");
    CHECK(answer["hint"] == remedy);
    refused({"run", "--strategy-file", write_file("none.json", document.out)},
            {"none.json:", answer["refused"].get<std::string>(), remedy});
  }
  const std::vector<std::string> too_large{experiment, "--set", "cluster.gpus_per_node=1"};
  const Outcome fits_nowhere = run(searching(too_large));
  CHECK(fits_nowhere.code == 1);
  CHECK(fits_nowhere.out.find("\ngive more accelerators") != std::string::npos);
  // Ways that were compared in vain are not warned of.
  CHECK(json::parse(run(searching(too_large, {"--json"})).out)["warnings"].empty());
}

TEST_CASE("Where no plan of five degrees is allowed, the reason comes with its own remedy") {
  const std::vector<std::string> asked{"search", "llama3-8b-fsdp-dgx-h100", "--method", "pangu",
                                       "--set",  "cluster.gpus_per_node=1"};
  const Outcome fits_nowhere = run(asked);
  CHECK(fits_nowhere.code == 1);
  CHECK(fits_nowhere.out.find("fits into") != std::string::npos);
  CHECK(fits_nowhere.out.find("\ngive more accelerators") != std::string::npos);
  std::vector<std::string> words = asked;
  words.insert(words.end(), {"--set", "strategy.schedule=dualpipe"});
  const Outcome none = run(words);
  CHECK(none.code == 1);
  CHECK(none.out.find("is allowed") != std::string::npos);
  CHECK(none.out.find("even number of stages") != std::string::npos);
  CHECK(none.out.find("give more accelerators") == std::string::npos);
  words.emplace_back("--json");
  const json answer = json::parse(run(words).out);
  cairn::test::conforms(json::parse(run({"schema", "cairn.degrees/1"}).out), answer, "");
  CHECK_FALSE(answer["hint"].get<std::string>().empty());
}

TEST_CASE("Five degrees take exactly what cairn run says of their settings") {
  const json schema = json::parse(run({"schema", "cairn.degrees/1"}).out);
  const std::vector<std::string> asked{"llama3-8b-fsdp-dgx-h100",
                                       "--set",
                                       "training.framework=megatron",
                                       "--set",
                                       "training.global_batch=32",
                                       "--set",
                                       "strategy.tp=3"};  // which is no plan
  std::vector<std::string> words = asked;
  words.insert(words.begin(), "search");
  words.insert(words.end(), {"--method", "pangu", "--json"});
  const json searched = found(words);
  cairn::test::conforms(schema, searched, "");
  std::vector<std::string> again = asked;
  again.insert(again.begin(), "run");
  again.insert(again.end(), {"--engine", "analytic", "--json"});
  for (const json& each : searched["settings"]) again.insert(again.end(), {"--set", each.get<std::string>()});
  const Outcome ran = run(again);
  CAPTURE(ran.err);
  REQUIRE(ran.code <= 1);
  CHECK(json::parse(ran.out)["result"]["iteration_time_s"] == searched["time_s"]);
  // The command that the text gives runs the same plan: what the search was given is in it.
  words.pop_back();
  const Outcome text = run(words);
  CHECK(text.out.find("--set training.global_batch=32") != std::string::npos);
  refused({"search", "llama3-8b-fsdp-dgx-h100", "--method", "pangu", "--set", "strategy.cp=2"}, {"strategy.cp"});
}

TEST_CASE("Unlike accelerators get shares of their own") {
  const json schema = json::parse(run({"schema", "cairn.shares/1"}).out);
  const std::vector<std::string> asked{
      "search",   "llama3-8b-fsdp-dgx-h100",
      "--method", "cephalo",
      "--set",    "training.global_batch=64",
      "--set",    "cluster.groups=[{count: 4, accelerator: h100-sxm5-80gb}, {count: 4, accelerator: a100-sxm4-80gb}]"};
  std::vector<std::string> words = asked;
  words.emplace_back("--json");
  const json searched = found(words);
  cairn::test::conforms(schema, searched, "");
  REQUIRE(searched["ranks"].size() == 8);
  std::int64_t sequences = 0;
  for (const json& each : searched["ranks"]) sequences += each["sequences"].get<std::int64_t>();
  CHECK(sequences == 64);
  CHECK(searched["groups"][0]["most_sequences"] > searched["groups"][1]["most_sequences"]);
  if (!searched["even_s"].is_null()) CHECK(searched["time_s"].get<double>() <= searched["even_s"].get<double>());
  const Outcome text = run(asked);
  CHECK(text.code == 0);
  CHECK(std::count(text.out.begin(), text.out.end(), '\n') <= 24);
  const std::size_t warnings = searched["warnings"].size();  // of which the first is shown
  REQUIRE(warnings > 2);
  CHECK(text.out.find(std::to_string(warnings - 1) + " more warnings: --full") != std::string::npos);
  refused({"search", "llama3-8b-fsdp-dgx-h100", "--method", "cephalo"}, {"cluster.groups"});
  refused({"run", "llama3-8b-fsdp-dgx-h100", "--set", "cluster.groups=[{count: 8, accelerator: h100-sxm5-80gb}]"},
          {"groups", "cephalo"});
}
