// cairn search --cost-model cairn, and cairn run --strategy-file.
#include <algorithm>
#include <cmath>
#include <sstream>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "cli/asked.h"
#include "cli/program.h"
#include "support/conforms.h"

using namespace cairn::cli_tests;
using nlohmann::json;

namespace {

std::vector<std::string> placement_search(const std::string& graph, std::vector<std::string> more = {}) {
  std::vector<std::string> words{"search", "--method",  "pase",     "--graph", graph, "--cost-model",
                                 "cairn",  "--cluster", "dgx-a100", "--nodes", "2",   "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Prose may have 100 columns, a table 80; warnings come last.
void fits_one_screen(const std::vector<std::string>& words) {
  const Outcome outcome = run(words);
  REQUIRE(outcome.code == 0);
  CAPTURE(outcome.out);
  std::istringstream out(outcome.out);
  std::size_t lines = 0;
  bool in_table = false;
  for (std::string line; std::getline(out, line); ++lines) {
    in_table =
        (in_table && !line.starts_with("warning")) || line.starts_with("  operator") || line.starts_with("  stage");
    CHECK(line.size() <= (in_table ? 80 : 100));
  }
  CHECK(lines <= 24);
}

}  // namespace

TEST_CASE("Placements run in exactly the time that their search found") {
  const json schema = json::parse(run({"schema", "cairn.placements/1"}).out);
  for (const std::string graph : {"alexnet", "dlrm", "rnnlm"})
    for (const std::string mesh : {"", "2x2x4", "16"}) {
      for (const std::string method : {"pase", "autoddl", "flexflow"}) {
        if (method != "pase" && !mesh.empty()) continue;
        CAPTURE(graph, mesh, method);
        std::vector<std::string> words = placement_search(graph);
        words[2] = method;
        if (!mesh.empty()) words.insert(words.end(), {"--axes", mesh});
        const json searched = found(words);
        cairn::test::conforms(schema, searched, "");
        CHECK(searched["method"] == method);
        CHECK(searched["proven"] == (method == "pase"));
        CHECK(searched["time_s"].get<double>() <= searched["data_parallel_time_s"].get<double>());
        const std::string file = write_file("found.json", searched.dump());
        const json ran = found({"run", "--strategy-file", file, "--json"});
        cairn::test::conforms(schema, ran, "");
        CHECK(ran["time_ps"] == searched["time_ps"]);
        CHECK(ran["operators"] == searched["operators"]);
        CHECK(ran["strategy"] == searched["strategy"]);
        CHECK(ran["method"].is_null());
        // The bare strategy means the same.
        const std::string bare = write_file("bare.yaml", searched["strategy"].dump());
        CHECK(found({"run", "--strategy-file", bare, "--json"})["time_ps"] == searched["time_ps"]);
        std::int64_t of_operators = 0;
        for (const json& op : ran["operators"]) of_operators += std::llround(op["time_s"].get<double>() * 1e12);
        CHECK(std::abs(of_operators - ran["time_ps"].get<std::int64_t>()) <=
              static_cast<std::int64_t>(ran["operators"].size()));
      }
    }
}

TEST_CASE("The exact search is never above the others, nor above any placements that are run") {
  for (const std::string graph : {"alexnet", "vgg16"}) {
    const json best = found(placement_search(graph));
    for (const std::string method : {"autoddl", "flexflow"}) {
      std::vector<std::string> words = placement_search(graph);
      words[2] = method;
      CHECK(best["time_ps"] <= found(words)["time_ps"]);
    }
    json other = best["strategy"];
    for (auto& [op, placement] : other["placements"].items()) placement = "B B";
    const std::string file = write_file("other.json", other.dump());
    CHECK(best["time_ps"] < found({"run", "--strategy-file", file, "--json"})["time_ps"]);
  }
}

TEST_CASE("Annotations of a few tensors are spread over the network") {
  const json batch_split = found({"run", "--strategy-file",
                                  write_file("batch.yaml",
                                             "network: alexnet\ncluster: {file: dgx-a100, nodes: 2}\n"
                                             "annotations: {image: S(b) S(b)}\n"),
                                  "--json"});
  CHECK(batch_split["time_s"].get<double>() == found(placement_search("alexnet"))["data_parallel_time_s"]);
  const Outcome wrong =
      run({"run", "--strategy-file",
           write_file("wrong.yaml", "network: alexnet\ncluster: dgx-a100\nannotations: {imgae: S(b)}\n")});
  CHECK(wrong.code == 2);
  CHECK(wrong.err.find("did you mean 'image'?") != std::string::npos);
}

TEST_CASE("Stages run in exactly the time that their search found") {
  const json schema = json::parse(run({"schema", "cairn.stages/1"}).out);
  for (const std::string graph : {"alexnet", "vgg16"}) {
    const json searched = found({"search", "--method", "alpa", "--graph", graph, "--cluster", "dgx-a100", "--nodes",
                                 "2", "--batch", "128", "--micro-batches", "8", "--layers", "4", "--json"});
    cairn::test::conforms(schema, searched, "");
    CHECK(searched["method"] == "alpa");
    CHECK(searched["fits"] == true);
    std::int64_t accelerators = 0;
    double sum = 0.0, longest = 0.0;
    for (const json& each : searched["stages"]) {
      std::int64_t devices = 1;
      for (const json& axis : each["axes"]) devices *= axis.get<std::int64_t>();
      accelerators += devices;
      sum += each["time_s"].get<double>();
      longest = std::max(longest, each["time_s"].get<double>());
    }
    CHECK(accelerators == 16);
    CHECK(searched["planned_s"].get<double>() == Approx(sum + 7.0 * longest));
    // 1F1B keeps no stage longer than the bottleneck does, and no stage works less than its micro-batches.
    CHECK(searched["time_s"].get<double>() <= searched["planned_s"].get<double>() * (1.0 + 1e-12));
    CHECK(searched["time_s"].get<double>() >= 8.0 * longest * (1.0 - 1e-12));
    const json ran = found({"run", "--strategy-file", write_file("stages.json", searched.dump()), "--json"});
    cairn::test::conforms(schema, ran, "");
    CHECK(ran["time_ps"] == searched["time_ps"]);
    CHECK(ran["stages"] == searched["stages"]);
    CHECK(ran["method"].is_null());
  }
}

TEST_CASE("Where no stages fit, the answer is no") {
  const std::vector<std::string> words{"search",    "--method",  "alpa",    "--graph", "bert",
                                       "--cluster", "piz-daint", "--nodes", "4"};
  const Outcome said = run(words);
  CHECK(said.code == 1);
  CHECK(said.out.find("no stages fit into") != std::string::npos);
  CHECK(said.out.find("more nodes") != std::string::npos);
  std::vector<std::string> as_json = words;
  as_json.emplace_back("--json");
  const Outcome written = run(as_json);
  CHECK(written.code == 1);
  const json none = json::parse(written.out);
  cairn::test::conforms(json::parse(run({"schema", "cairn.stages/1"}).out), none, "");
  CHECK(none["fits"] == false);
  CHECK(none["strategy"].is_null());
  CHECK(none["time_s"].is_null());
}

TEST_CASE("What the messages between stages rest on is said") {
  const std::string file = write_file(
      "two.yaml",
      "network: alexnet\ncluster: {file: dgx-a100, nodes: 2}\nstages:\n- {axes: [8], placements: {conv1: S(b)}}\n"
      "- {axes: [8], placements: {relu1: B, pool1: B, conv2: B, relu2: B, pool2: B, conv3: B, relu3: B, conv4: B, "
      "relu4: B, conv5: B, relu5: B, pool5: B, flatten: B, fc6: B, relu6: B, fc7: B, relu7: B, fc8: B, loss: B}}\n");
  const json ran = found({"run", "--strategy-file", file, "--json"});
  bool said = false;
  for (const json& each : ran["assumptions"]) {
    const auto text = each.get<std::string>();
    said = said || (text.find("links that were never measured") != std::string::npos &&
                    text.find("send over 2 ranks") != std::string::npos);
  }
  CHECK(said);
}

TEST_CASE("Stages are searched where a level of the network has domains of several nodes") {
  // 36 nodes of 4 are two racks of 72: 19 nodes are no submesh, 18 are.
  const json searched = found({"search", "--method", "alpa", "--graph", "alexnet", "--cluster", "gb200-nvl72",
                               "--nodes", "36", "--batch", "1152", "--micro-batches", "8", "--layers", "2", "--json"});
  std::int64_t accelerators = 0;
  for (const json& each : searched["stages"]) {
    std::int64_t devices = 1;
    for (const json& axis : each["axes"]) devices *= axis.get<std::int64_t>();
    accelerators += devices;
  }
  CHECK(accelerators == 144);
}

TEST_CASE("Stages are searched on one node without a network to others") {
  const json searched = found({"search", "--method", "alpa", "--graph", "alexnet", "--cluster",
                               "workstation-4x-a100-pcie", "--micro-batches", "4", "--json"});
  CHECK(searched["fits"] == true);
}

TEST_CASE("Stages that nodes cannot hold apart are refused") {
  const std::string nodes_of_six = write_file("six.yaml", "extends: dgx-a100\nname: Six\nnodes: 2\ngpus_per_node: 6\n");
  const std::string rest =
      "relu1: B, pool1: B, conv2: B, relu2: B, pool2: B, conv3: B, relu3: B, conv4: B, relu4: B, conv5: B, relu5: B, "
      "pool5: B, flatten: B, fc6: B, relu6: B, fc7: B, relu7: B, fc8: B";
  const auto staged = [&](const std::string& sizes) {
    const std::string a = sizes.substr(0, 1), b = sizes.substr(1, 1), c = sizes.substr(2, 1);
    return write_file("six-" + sizes + ".yaml", "network: alexnet\ncluster: " + nodes_of_six + "\nstages:\n- {axes: [" +
                                                    a + "], placements: {conv1: B}}\n- {axes: [" + b +
                                                    "], placements: {" + rest + "}}\n- {axes: [" + c +
                                                    "], placements: {loss: B}}\n");
  };
  refused({"run", "--strategy-file", staged("444")}, {"3 nodes of 6 accelerators", "the cluster has 2"});
  CHECK(run({"run", "--strategy-file", staged("642")}).code == 0);
}

TEST_CASE("A recurrence says how far its products lie outside the measurements") {
  // 64 sequences over 16 accelerators: 4 rows a step, and the least that was measured is 32.
  const json ran = found(placement_search("rnnlm"));
  bool said = false;
  for (const json& each : ran["warnings"])
    said = said || each.get<std::string>().find("n = 4: measured from 32 to 65536 only; 8 times") != std::string::npos;
  CHECK(said);
}

TEST_CASE("Placements and stages of a large network fit one screen") {
  for (const std::string graph : {"inceptionv3", "bert", "dlrm"}) {
    std::vector<std::string> words = placement_search(graph);
    words.erase(std::find(words.begin(), words.end(), "--json"));
    fits_one_screen(words);
  }
  for (const std::string graph : {"inceptionv3", "transformer-small"})
    fits_one_screen({"search", "--method", "alpa", "--graph", graph, "--cluster", "dgx-a100", "--nodes", "2", "--batch",
                     "256", "--micro-batches", "16", "--layers", "6"});
}

TEST_CASE("An answer holds a cluster of one's own, so that it means the same elsewhere") {
  const std::string cluster = write_file("own.yaml", "extends: dgx-a100\nname: Our own\nnodes: 2\n");
  for (const std::string method : {"pase", "alpa"}) {
    std::vector<std::string> words{"search", "--method", method, "--graph", "alexnet", "--cluster", cluster, "--json"};
    if (method == "pase") words.insert(words.end(), {"--cost-model", "cairn"});
    const json searched = found(words);
    CHECK(searched["cluster"] == "Our own");
    CHECK(searched["strategy"]["cluster"].is_object());
    CHECK(searched["strategy"].dump().find("own.yaml") == std::string::npos);
    const json ran = found({"run", "--strategy-file", write_file("own.json", searched.dump()), "--json"});
    CHECK(ran["time_ps"] == searched["time_ps"]);
    CHECK(ran["strategy"] == searched["strategy"]);
  }
}

TEST_CASE("What is wrong with placements is said with its remedy") {
  const std::vector<std::string> bare{"search", "--method", "pase", "--graph", "alexnet", "--cost-model", "cairn"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> words = bare;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  refused(bare, {"add --cluster dgx-a100"});
  refused(with({"--cluster", "dgx-a10"}), {"dgx-a100"});
  refused(with({"--cluster", "dgx-a100", "--least-extent", "2"}), {"--cost-model pase"});
  refused(with({"--cluster", "dgx-a100", "--axes", "4y2"}), {"outermost first"});
  refused(with({"--cluster", "dgx-a100", "--axes", "1x1x1x1x1"}), {"more than 4 axes"});
  refused(with({"--cluster", "dgx-a100", "--axes", "99999999999999999999"}), {"whole numbers"});
  refused(with({"--cluster", "dgx-a100", "--format", "int8"}), {"--format"});
  refused(with({"--cluster", "dgx-a100", "--threads", "2"}), {"--threads", "leave them out"});
  refused(with({"--cluster", "dgx-a100", "--axes", "3x8"}), {"--axes"});
  refused(with({"--cluster", "dgx-a100", "--devices", "9"}), {"--devices"});
  refused(with({"--cluster", "dgx-a100", "--nodes", "2", "--devices", "12"}), {"multiple of 8"});
  refused(with({"--cluster", "dgx-a100", "--devices", "8", "--axes", "8"}), {"leave one of them out"});
  refused({"search", "--method", "pase", "--graph", "alexnet", "--devices", "8", "--cluster", "dgx-a100"},
          {"add --cost-model cairn"});
  refused({"search", "llama3-8b-fsdp-dgx-h100", "--cost-model", "cairn"}, {"add --method"});
  refused({"search", "--method", "alpa", "--graph", "alexnet"}, {"add --cluster dgx-a100"});
  refused({"search", "--method", "alpa", "--graph", "alexnet", "--cluster", "dgx-a100", "--nodes", "65536"},
          {"nodes", "65539 submeshes", "fewer nodes"});
  refused({"search", "--method", "alpa", "--graph", "alexnet", "--cluster", "dgx-a100", "--axes", "8"},
          {"leave --devices, --axes and --seed out"});
  refused({"search", "--method", "alpa", "--graph", "alexnet", "--cluster", "dgx-a100", "--batch", "10",
           "--micro-batches", "3"},
          {"--micro-batches", "divisor"});
  refused({"search", "--method", "alpa", "--graph", "alexnet", "--cluster", "dgx-a100", "--batch", "1048576",
           "--micro-batches", "1048576"},
          {"--micro-batches: 1048576 of them in 8 stages", "give fewer"});
  refused(with({"--cluster", "gb200-nvl72", "--nodes", "36", "--devices", "76"}), {"leave one rack of 72 half used"});
  refused(
      {"run", "--strategy-file",
       write_file("crowded.yaml",
                  "network: alexnet\ncluster: dgx-a100\nstages:\n- {axes: [8], placements: {conv1: B}}\n"
                  "- {axes: [4], placements: {relu1: B, pool1: B, conv2: B, relu2: B, pool2: B, conv3: B, relu3: B, "
                  "conv4: B, relu4: B, conv5: B, relu5: B, pool5: B, flatten: B, fc6: B, relu6: B, fc7: B, relu7: B, "
                  "fc8: B, loss: B}}\n")},
      {"stages: they take 12 accelerators, and the cluster has 8"});
  refused(with({"--cluster", "dgx-a100", "--layers", "4"}), {"add --method alpa"});
  const std::string strategy = write_file("s.yaml", "network: alexnet\ncluster: dgx-a100\nplacements: {conv1: S(b)}\n");
  refused({"run", "--strategy-file", strategy}, {"s.yaml:3:", "placements.conv2: missing"});
  refused({"run", "--strategy-file", write_file("v.yaml", "network: alexnet\ncluster: dgx-a100\n")},
          {"give placements, annotations or stages"});
  refused({"run", "--strategy-file", strategy, "llama3-8b-fsdp-dgx-h100"}, {"leave one of them out"});
  refused({"run", "--strategy-file", strategy, "--engine", "event"}, {"leave them out"});
  refused({"run", "--strategy-file",
           write_file("t.yaml",
                      "network: alexnet\ncluster: dgx-a100\nplacements: "
                      "{conv1: S(q), cnv2: B}\n")},
          {"did you mean 'conv2'?"});
  refused({"run", "--strategy-file", write_file("u.yaml", "network: alexnt\ncluster: dgx-a100\n")}, {"alexnet"});
  refused({"run", "--strategy-file", scratch() + "/none.yaml"}, {"no such file"});
}
