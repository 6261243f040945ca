// The other commands.
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "cli/program.h"

using namespace cairn::cli_tests;
using nlohmann::json;

TEST_CASE("Parameters of shipped models") {
  // Published counts of the Hugging Face checkpoints.
  const std::vector<std::pair<std::string, std::int64_t>> published{{"llama-3.1-8b", 8'030'261'248},
                                                                    {"llama-3.1-70b", 70'553'706'496},
                                                                    {"llama-3.1-405b", 405'853'388'800},
                                                                    {"llama-2-7b", 6'738'415'616}};
  for (const auto& [name, count] : published) {
    const json document = json::parse(run({"config", "model", name, "--json"}).out);
    CHECK(document["parameters"]["total"] == count);
    CHECK(document["parameters"]["active"] == count);
    const Outcome text = run({"config", "model", name});
    CHECK(text.code == 0);
    CHECK(text.out.find(std::to_string(count)) != std::string::npos);
  }
}

TEST_CASE("A model can be given as a path") {
  const std::string path = std::string(CAIRN_SOURCE_DIR) + "/configs/models/llama-3.1-8b/config.json";
  CHECK(json::parse(run({"config", "model", path, "--json"}).out)["parameters"]["total"] == 8'030'261'248);
}

TEST_CASE("A resolved experiment names where every value comes from") {
  const json shown = json::parse(run({"config", "show", "llama3-70b-64xdgx-h100"}).out);
  CHECK(shown["strategy"]["tp"] == 8);
  CHECK(shown["model"]["layers"] == 80);
  CHECK(shown["cluster"]["gpus_per_node"] == 8);
  CHECK(shown["cluster"]["accelerator"]["multiprocessors"]["value"] == 132);
  CHECK(shown["training"]["kernels"]["attention"] == "flash2");  // the framework's
  CHECK(shown["strategy"]["overlap"]["pp"].is_boolean());

  const json keys =
      json::parse(run({"config", "show", "llama3-70b-64xdgx-h100", "--origin", "--json", "--set", "strategy.pp=8"}).out)["keys"];
  const auto origin = [&](const std::string& block, const std::string& key) -> std::string {
    for (const json& each : keys)
      if (each["block"] == block && each["key"] == key) return each["from"];
    return "not shown";
  };
  CHECK(origin("experiment", "strategy.pp") == "--set");
  CHECK(origin("experiment", "strategy.cp") == "default");
  CHECK(origin("experiment", "strategy.tp").find("llama3-70b-64xdgx-h100.yaml:") != std::string::npos);
  CHECK(origin("cluster", "intra.bandwidth").find("dgx-h100.yaml:") != std::string::npos);
  CHECK(origin("cluster", "nodes").find("llama3-70b-64xdgx-h100.yaml:") != std::string::npos);
  CHECK(origin("framework", "p2p.host_waits").find("megatron.yaml:") != std::string::npos);
}

TEST_CASE("Names that configurations can refer to are listed") {
  const json all = json::parse(run({"config", "list", "--json"}).out);
  for (const char* kind : {"accelerators", "calibration", "clusters", "experiments", "frameworks", "models", "precision"})
    CHECK_FALSE(all[kind].empty());
  const Outcome clusters = run({"config", "list", "clusters"});
  CHECK(clusters.out.find("dgx-h100\n") != std::string::npos);
}

TEST_CASE("Folders of the environment come first") {
  write_file("mine/clusters/ours.yaml", "extends: dgx-h100\nname: ours\n");
  const Outcome outcome = run({.arguments = {"config", "list", "clusters"}, .environment = {{"CAIRN_CONFIGS", scratch() + "/mine"}}, .out_file = {}, .folder = {}});
  CHECK(outcome.out.find("ours\n") != std::string::npos);
  CHECK(outcome.out.find("dgx-h100\n") != std::string::npos);
}

TEST_CASE("Every schema is JSON Schema") {
  for (const char* name : {"experiment", "model", "cluster", "accelerator", "precision", "framework", "calibration", "cairn.run/1", "cairn.bound/1", "cairn.calibrate/1", "cairn.measurement/1", "cairn.error/1"}) {
    const Outcome outcome = run({"schema", name});
    INFO(name);
    CHECK(outcome.code == 0);
    CHECK(json::parse(outcome.out)["$schema"] == "https://json-schema.org/draft/2020-12/schema");
    CHECK(run({"schema"}).out.find(name) != std::string::npos);
  }
}

TEST_CASE("Completion knows the commands and their options") {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = run({"completion", shell}).out;
    INFO(shell);
    for (const char* word : {"run", "bound", "config", "validate", "calibrate", "schema", "calibrate", "engine", "analytic", "trace", "matmul", "rbw"})
      CHECK(script.find(word) != std::string::npos);
  }
  // A shell reads the script and completes.
  const std::string file = write_file("completion.bash", run({"completion", "bash"}).out);
  const std::string ask = "bash -c 'source " + file + "; COMP_WORDS=(cairn run --eng); COMP_CWORD=2; _cairn; test \"${COMPREPLY[0]}\" = --engine'";
  CHECK(std::system(ask.c_str()) == 0);
}

TEST_CASE("Completion knows the keys of an experiment and their words") {
  const std::string script = run({"completion", "fish"}).out;
  for (const char* word :
       {"strategy.tp= ", "strategy.recompute=per-op", "strategy.recompute.operators=", "strategy.recompute.method=block",
        "strategy.overlap.dp.bucket=", "strategy.overlap.tp.kind=iso", "strategy.overlap.ep.kind=two-batch",
        "strategy.zero.offload.policy=fuyou", "training.precision.gradients=bf16", "training.kernels.pointwise=eager",
        "model.residual=kraken", "model.ways=", "cluster.nodes="}) {
    INFO(word);
    CHECK(script.find(word) != std::string::npos);
  }
  // bash hands words over cut at '='.
  const std::string file = write_file("completion.bash", run({"completion", "bash"}).out);
  const auto completes = [&](const std::string& words, int at, const std::string& to) {
    const std::string ask = "bash -c 'source " + file + "; COMP_WORDS=(" + words + "); COMP_CWORD=" + std::to_string(at) +
                            "; _cairn; test \"${COMPREPLY[0]}\" = " + to + "'";
    return std::system(ask.c_str()) == 0;
  };
  CHECK(completes("cairn run --set strategy.overlap.tp.k", 3, "strategy.overlap.tp.kind=chunked"));
  CHECK(completes("cairn run --set strategy.recompute = fu", 5, "full"));
  CHECK(completes("cairn run --set strategy.recompute =", 4, "none"));
  CHECK(completes("cairn run --engine ev", 3, "event"));
}
