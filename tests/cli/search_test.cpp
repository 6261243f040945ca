// cairn search: its document, its text, a space of one's own, and what is wrong with any of them.
#include <filesystem>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "cli/program.h"
#include "support/conforms.h"

using namespace cairn::cli_tests;
using nlohmann::json;

namespace {

const std::string k_experiment = "llama3-8b-fsdp-dgx-h100";  // eight devices

std::string space_file(const std::string& text) { return write_file("space.yaml", text); }
std::string small_space() {
  return space_file("space: {tp: [1, 2], micro_batch: [1, 2], recompute: [none, full], zero: [1, 3]}\n");
}

}  // namespace

TEST_CASE("A search answers with a document that conforms to its schema, and its cells are the space") {
  const Outcome outcome = run({"search", k_experiment, "--space", small_space(), "--json", "--top", "2"});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const json document = json::parse(outcome.out);
  cairn::test::conforms(json::parse(run({"schema", "cairn.search/1"}).out), document, "");
  CHECK(document["best"] == document["top"][0]);
  CHECK(document["top"].size() == 2);
  CHECK(document["space"]["points"] == 16);
  CHECK(document["certificate"]["gap"] == 0.0);
  CHECK(document["certificate"]["lower_bound_s"] == document["best"]["time_s"]);
  std::size_t next = 0;
  for (const json& cell : document["certificate"]["cells"]) {
    CHECK(cell[0] == next);
    next += cell[1].get<std::size_t>();
  }
  CHECK(next == 16);
}

TEST_CASE("The best plan runs as it was found") {
  const json best = json::parse(run({"search", k_experiment, "--space", small_space(), "--json"}).out)["best"];
  std::vector<std::string> words{"run", k_experiment, "--engine", "analytic", "--json"};
  for (const auto& [key, value] : best["settings"].items()) {
    words.emplace_back("--set");
    words.push_back("strategy." + key + "=" + value.get<std::string>());
  }
  const json run_document = json::parse(run(words).out);
  CHECK(run_document["result"]["iteration_time_s"] == best["time_s"]);
  CHECK(run_document["result"]["memory_bytes"]["device_peak"] == best["memory_bytes"]);
}

TEST_CASE("The default space is printed as a file, and that file is the default space") {
  const Outcome printed = run({"search", k_experiment, "--print-space"});
  REQUIRE(printed.code == 0);
  const Outcome given = run({"search", k_experiment, "--space", space_file(printed.out), "--json"});
  const Outcome left_out = run({"search", k_experiment, "--json"});
  REQUIRE(left_out.code == 0);
  CHECK(given.out == left_out.out);
}

TEST_CASE("The text begins with the answer, and its strategy can be pasted") {
  const Outcome outcome = run({"search", k_experiment, "--space", small_space()});
  REQUIRE(outcome.code == 0);
  CHECK(outcome.out.starts_with("Llama 3.1 8B fully sharded on one DGX H100: the best of 16 plans"));
  CHECK(outcome.out.find("strategy: {") != std::string::npos);
  CHECK(outcome.out.find("proven") != std::string::npos);
}

TEST_CASE("A search in which nothing fits ends with 1 and names the nearest plan") {
  const Outcome outcome = run({"search", k_experiment, "--space", space_file("space: {tp: [1], zero: [0]}\n"), "--set",
                               "strategy.recompute=none"});
  CHECK(outcome.code == 1);
  CHECK(outcome.out.find("no plan of 1 fits into memory") != std::string::npos);
  CHECK(outcome.out.find("lacks") != std::string::npos);
}

TEST_CASE("Conditions that leave nothing are named") {
  const Outcome outcome =
      run({"search", k_experiment, "--space", space_file("space: {tp: [1, 2]}\nconstraints: [\"tp > 2\"]\n")});
  CHECK(outcome.code == 1);
  CHECK(outcome.out.find("tp > 2") != std::string::npos);
}

TEST_CASE("Bad input of a search is refused with its place") {
  refused({"search", k_experiment, "--space", space_file("space: {tpp: [1]}\n")},
          {"space.yaml:1:9", "did you mean 'tp'"});
  refused({"search", k_experiment, "--space", space_file("space: {tp: [1]}\nconstraints: [\"tp <= \"]\n")},
          {"space.yaml:2:", "a value is due"});
  refused({"search", k_experiment, "--space", "nowhere.yaml"}, {"nowhere.yaml"});
  refused({"search", k_experiment, "--objective", "speed"}, {"speed"});
  refused({"search", k_experiment, "--time-limit", "0s"}, {"--time-limit", "no time"});
  refused({"search", k_experiment, "--time-limit", "soon"}, {"--time-limit"});
  refused({"search", k_experiment, "--top", "0"}, {"--top"});
  refused({"search"}, {"experiment"});
}

TEST_CASE("A time limit leaves a document that says what is not proven") {
  const Outcome outcome = run({"search", k_experiment, "--time-limit", "1us", "--json"});
  CHECK(outcome.code == 1);
  const json document = json::parse(outcome.out);
  CHECK(document["certificate"]["complete"] == false);
  CHECK(document["certificate"]["defect"] == "");
}

TEST_CASE("The fewest accelerators and the longest sequence are searched as experiments of that size") {
  const json schema = json::parse(run({"schema", "cairn.search/1"}).out);
  for (const std::string objective : {"fewest-gpus", "longest-sequence"}) {
    INFO(objective);
    const Outcome outcome = run({"search", k_experiment, "--space", small_space(), "--objective", objective, "--json"});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const json found = json::parse(outcome.out);
    cairn::test::conforms(schema, found, "");
    CHECK(found["objective"] == objective);
    CHECK(found["extent"]["complete"] == true);
    std::vector<std::string> again{"search", k_experiment, "--space", small_space(), "--json"};
    for (const json& each : found["extent"]["overrides"]) {
      again.emplace_back("--set");
      again.push_back(each.get<std::string>());
    }
    const json at_size = json::parse(run(again).out);
    CHECK(!at_size.contains("extent"));
    for (const char* part : {"best", "top", "certificate"}) CHECK(found[part] == at_size[part]);
  }
}

TEST_CASE("A space may ask for a size, and the text begins with it") {
  const std::string space = space_file("space: {tp: [1, 8], zero: [1, 3]}\nobjective: fewest-gpus\n");
  const Outcome outcome = run({"search", k_experiment, "--space", space, "--set", "training.seq_len=2048"});
  REQUIRE(outcome.code == 0);
  CHECK(outcome.out.starts_with("the fewest GPUs at which a layout fits: "));
  CHECK(outcome.out.find("--set cluster.nodes=1") != std::string::npos);
  const Outcome stopped = run({"search", k_experiment, "--space", space, "--time-limit", "1us"});
  CHECK(stopped.code == 1);
  CHECK(stopped.out.find("as far as was searched") != std::string::npos);
}

TEST_CASE("A search goes on from its journal to the same bytes") {
  const std::string journal = scratch() + "/resumed.journal";
  std::filesystem::remove(journal);
  const Outcome whole = run({"search", k_experiment, "--json"});
  REQUIRE(whole.code == 0);
  std::vector<std::string> words{"search", k_experiment, "--json", "--resume", journal, "--time-limit", ""};
  for (int ms = 1; ms < 100000; ms *= 2) {
    words.back() = std::to_string(ms) + "ms";
    if (json::parse(run(words).out)["certificate"]["complete"] == true) break;
  }
  const auto size = std::filesystem::file_size(journal);
  CHECK(run({"search", k_experiment, "--json", "--resume", journal}).out == whole.out);
  CHECK(std::filesystem::file_size(journal) == size);
  refused({"search", k_experiment, "--resume", journal, "--set", "training.seq_len=4096"}, {journal, "set"});
  refused({"search", k_experiment, "--resume", journal, "-o", journal}, {journal});
  refused({"search", k_experiment, "--resume", "new.journal", "-o", "new.journal"}, {"new.journal"});
  CHECK(!std::filesystem::exists("new.journal"));
  refused({"search", k_experiment, "--resume", "new.journal", "--objective", "fewest-gpus"}, {"fewest-gpus"});
  refused({"search", k_experiment, "--resume", "/dev/null"}, {"no file"});
  refused({"search", k_experiment, "--resume", space_file("space: {tp: [1]}\n")}, {"no journal"});
  CHECK(std::filesystem::file_size(journal) == size);
}

TEST_CASE("Several processes search together only what they can share, and only where there is MPI") {
  // Of several launchers, one under another, the one of most processes counts.
  const auto two = [](std::vector<std::string> words) {
    words.insert(words.begin(), "search");
    return run(Invocation{.arguments = words, .environment = {{"OMPI_COMM_WORLD_SIZE", "1"}, {"PMI_SIZE", "2"}}});
  };
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--method", "pase", "--graph", "alexnet", "--devices", "4"}, {k_experiment, "--print-space"}}) {
    const Outcome outcome = two(words);
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.find("2 processes were started, and --") != std::string::npos);
  }
  const std::filesystem::path folder = std::filesystem::path(CAIRN_PROGRAM).parent_path();
  if (std::filesystem::exists(folder / "cairn-mpi.so")) return;  // tests/mpi
  const Outcome outcome = two({k_experiment});
  INFO(outcome.err);
  CHECK(outcome.code == 4);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.find("libopenmpi-dev") != std::string::npos);
}
