// cairn search --method: the split of every operator of a graph.
#include <nlohmann/json.hpp>

#include "catch.h"
#include "cli/program.h"
#include "support/conforms.h"

using namespace cairn::cli_tests;
using nlohmann::json;

TEST_CASE("Splits of a graph conform to their schema, and name each operator's dimensions") {
  for (const std::string method : {"pase", "autoddl", "flexflow"}) {
    const Outcome outcome =
        run({"search", "--method", method, "--graph", "alexnet", "--devices", "8", "--batch", "96", "--json"});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const json document = json::parse(outcome.out);
    cairn::test::conforms(json::parse(run({"schema", "cairn.splits/1"}).out), document, "");
    CHECK(document["method"] == method);
    CHECK(document["batch"] == 96);
    CHECK(document["proven"] == (method == "pase"));
    CHECK(document["cost"].get<double>() <= document["data_parallel_cost"].get<double>());
    CHECK(document["iteration_space"]["fc6"] == json{"b", "n", "k"});
    CHECK(document["strategy"].size() == document["iteration_space"].size());
    for (const auto& [name, split] : document["strategy"].items()) {
      CHECK(split.size() == document["iteration_space"][name].size());
      std::int64_t parts = 1;
      for (const json& each : split) parts *= each.get<std::int64_t>();
      CHECK(parts <= 8);
    }
  }
}

TEST_CASE("The batch of a graph is the one it was published with, and the splits of a large graph fit one screen") {
  const json document =
      json::parse(run({"search", "--method", "pase", "--graph", "rnnlm", "--devices", "2", "--json"}).out);
  CHECK(document["batch"] == 64);
  CHECK(document["least_extent"] == 1);
  const Outcome outcome = run({"search", "--method", "pase", "--graph", "inceptionv3", "--devices", "8"});
  REQUIRE(outcome.code == 0);
  std::size_t lines = 0, width = 0;
  for (const char each : outcome.out) {
    width = each == '\n' ? 0 : width + 1;
    lines += each == '\n';
    CHECK(width <= 80);
  }
  CHECK(lines <= 24);
  CHECK(run({"search", "--method", "pase", "--graph", "inceptionv3", "--devices", "8", "--full"}).out.size() >
        outcome.out.size());
}

TEST_CASE("What is wrong with a search for splits is said with its remedy") {
  const auto refused = [](std::vector<std::string> words, const std::string& said) {
    words.insert(words.begin(), "search");
    const Outcome outcome = run(words);
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.find(said) != std::string::npos);
  };
  refused({}, "--method pase --graph alexnet");
  refused({"--method", "pase", "--devices", "8"}, "add --graph alexnet");
  refused({"--method", "pase", "--graph", "alexnet"}, "add --devices 32");
  refused({"--method", "pase", "--graph", "alexnt", "--devices", "8"}, "alexnet");
  refused({"--method", "pas", "--graph", "alexnet", "--devices", "8"}, "pase");
  refused({"--graph", "alexnet", "llama3-8b-fsdp-dgx-h100"}, "--method");
  refused({"--method", "pase", "--graph", "alexnet", "--devices", "8", "llama3-8b-fsdp-dgx-h100"}, "experiment");
  refused({"--method", "pase", "--graph", "alexnet", "--devices", "8", "--exhaustive"}, "leave them out");
  refused({"--method", "pase", "--graph", "alexnet", "--devices", "8", "--top", "3"}, "leave them out");
  refused({"--method", "pase", "--graph", "alexnet", "--devices", "8", "--seed", "3"}, "draws nothing");
  refused({"llama3-8b-fsdp-dgx-h100", "--seed", "3"}, "add --method");
  refused({"--method", "pase", "--graph", "alexnet", "--devices", "0"}, "less than 1");
  refused({"--method", "pase", "--graph", "alexnet", "--devices", "1048577"}, "give fewer");
  refused({"--method", "pase", "--graph", "bert", "--devices", "1048576", "--batch", "1048576"}, "--least-extent");
}
