// The other commands.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "cli/program.h"
#include "support/conforms.h"
#include "support/source_dir.h"

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

TEST_CASE("A model's parameters are shown as a run shows them and to the last one, its attention by its parts") {
  const auto shown = [](const char* name) { return run({"config", "model", name}).out; };
  const std::string deepseek = shown("deepseek-v3");
  CHECK(deepseek.find("671 B (671026419200) total, 37.6 B (37552297472) active") != std::string::npos);
  CHECK(deepseek.find(
            "keys and values through 512, queries through 1536; a head's key 128 + 64 rotated, its value 128") !=
        std::string::npos);
  CHECK(shown("qwen3-next-80b-a3b").find("36 with a delta rule, 12 with full") != std::string::npos);
  CHECK(shown("llama-4-scout").find("36 with chunks of 8192, 12 with full without rotation") != std::string::npos);
  CHECK(shown("gemma-3-27b").find("52 with a window of 1024, 10 with full") != std::string::npos);
}

TEST_CASE("A model can be given as a path") {
  const std::string path = cairn::testing::source_dir() + "/configs/models/llama-3.1-8b/config.json";
  CHECK(json::parse(run({"config", "model", path, "--json"}).out)["parameters"]["total"] == 8'030'261'248);
}

TEST_CASE("A resolved experiment names where every value comes from") {
  const json shown = json::parse(run({"config", "show", "llama3-70b-64xdgx-h100"}).out);
  CHECK(shown["strategy"]["tp"] == 8);
  CHECK(shown["model"]["layers"] == 80);
  CHECK(shown["cluster"]["gpus_per_node"] == 8);
  CHECK(shown["cluster"]["accelerator"]["multiprocessors"]["value"] == 132);
  CHECK(shown["training"]["kernels"]["attention"] == "cudnn");  // the framework's on Hopper
  CHECK(shown["strategy"]["overlap"]["pp"].is_boolean());

  const json keys = json::parse(
      run({"config", "show", "llama3-70b-64xdgx-h100", "--origin", "--json", "--set", "strategy.pp=8"}).out)["keys"];
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
  for (const char* kind :
       {"accelerators", "calibration", "clusters", "experiments", "frameworks", "models", "precision"})
    CHECK_FALSE(all[kind].empty());
  const Outcome clusters = run({"config", "list", "clusters"});
  CHECK(clusters.out.find("dgx-h100\n") != std::string::npos);
}

TEST_CASE("Folders of the environment come first") {
  write_file("mine/clusters/ours.yaml", "extends: dgx-h100\nname: ours\n");
  const Outcome outcome = run({.arguments = {"config", "list", "clusters"},
                               .environment = {{"CAIRN_CONFIGS", scratch() + "/mine"}},
                               .out_file = {},
                               .folder = {}});
  CHECK(outcome.out.find("ours\n") != std::string::npos);
  CHECK(outcome.out.find("dgx-h100\n") != std::string::npos);
}

namespace {

// What the sources name as the schema of a document.
std::set<std::string> emitted_schemas() {
  std::set<std::string> found;
  const std::regex name("cairn\\.[a-z-]+/[0-9]+");
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::filesystem::path(cairn::testing::source_dir()) / "src")) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string text = content(entry.path().string());
    for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at) found.insert(at->str());
  }
  return found;
}

}  // namespace

TEST_CASE("Every schema is JSON Schema, and every document has one") {
  std::set<std::string> names = emitted_schemas();
  CHECK(names.size() >= 14);
  std::istringstream lines(run({"schema"}).out);
  std::set<std::string> listed;
  for (std::string line; std::getline(lines, line);) listed.insert(line.substr(0, line.find(' ')));
  names.insert(listed.begin(), listed.end());
  for (const std::string& name : names) {
    const Outcome outcome = run({"schema", name});
    INFO(name << outcome.err);
    CHECK(outcome.code == 0);
    CHECK(listed.contains(name));
    CHECK(json::parse(outcome.out)["$schema"] == "https://json-schema.org/draft/2020-12/schema");
  }
}

TEST_CASE("Documents are what their schemas say") {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"schedule", "--list"},
                                                    {"schedule", "--compare", "--stages", "4", "--micro-batches", "8"},
                                                    {"schedule", "1f1b", "--stages", "2", "--micro-batches", "2"},
                                                    {"config", "list"},
                                                    {"config", "list", "clusters"},
                                                    {"config", "model", "mixtral-8x7b"},
                                                    {"config", "show", "llama3-8b-fsdp-dgx-h100", "--origin"},
                                                    {"validate", "korthikanti2022_table5"}}) {
    std::vector<std::string> asked = arguments;
    asked.emplace_back("--json");
    const Outcome outcome = run(asked);
    INFO(arguments[0] << " " << arguments[1] << outcome.err);
    const json document = json::parse(outcome.out);
    const json schema = json::parse(run({"schema", document["schema"].get<std::string>()}).out);
    cairn::test::conforms(schema, document, "");
  }
}

TEST_CASE("Completion knows the commands and their options") {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = run({"completion", shell}).out;
    INFO(shell);
    for (const char* word : {"run", "bound", "config", "validate", "calibrate", "schema", "calibrate", "engine",
                             "analytic", "trace", "matmul", "rbw"})
      CHECK(script.find(word) != std::string::npos);
  }
  // A shell reads the script and completes.
  const std::string file = write_file("completion.bash", run({"completion", "bash"}).out);
  const std::string ask = "bash -c 'source " + file +
                          "; COMP_WORDS=(cairn run --eng); COMP_CWORD=2; _cairn; test \"${COMPREPLY[0]}\" = --engine'";
  CHECK(std::system(ask.c_str()) == 0);
}

TEST_CASE("Completion knows the names of configurations") {
  const std::string file = write_file("completion.bash", run({"completion", "bash"}).out);
  const auto completes = [&](const std::string& words, int at, const std::string& to) {
    const std::string ask = "bash -c 'source " + file + "; COMP_WORDS=(" + words +
                            "); COMP_CWORD=" + std::to_string(at) +
                            "; _cairn; printf \"%s\\n\" \"${COMPREPLY[@]}\"' > " + scratch() + "/completed";
    INFO(words);
    CHECK(std::system(ask.c_str()) == 0);
    CHECK(("\n" + content(scratch() + "/completed")).find("\n" + to + "\n") != std::string::npos);
  };
  completes("cairn config list clu", 3, "clusters");
  completes("cairn config model llama-3", 3, "llama-3.1-70b");
  completes("cairn run llama3-70b", 2, "llama3-70b-64xdgx-h100");
  completes("cairn topology --compare dgx-h", 3, "dgx-h100");
  completes("cairn bound --accelerator h20", 3, "h200-sxm-141gb");
  completes("cairn run --set cluster.accelerator = h20", 5, "h200-sxm-141gb");
  completes("cairn run --set training.framework = meg", 5, "megatron");
  completes("cairn run --set strategy.schedule = zb", 5, "zb-h1");
  completes("cairn help sch", 2, "schedule");
  completes("cairn help ter", 2, "terms");
  completes("cairn config template acc", 3, "accelerator");
  completes("cairn validate korth", 2, "korthikanti2022_table5");
  completes("cairn bound --dtype fp8", 3, "fp8_e4m3");
  completes("cairn topology --set nod", 3, "nodes=");
  completes("cairn bound --set accelerator = h20", 5, "h200-sxm-141gb");
}

TEST_CASE("Names of files that a shell would read are no words of a completion script") {
  write_file("odd/clusters/$(touch gone).yaml", "extends: dgx-h100\n");
  const Outcome outcome = run({.arguments = {"completion", "bash"},
                               .environment = {{"CAIRN_CONFIGS", scratch() + "/odd"}},
                               .out_file = {},
                               .folder = {}});
  CHECK(outcome.code == 0);
  CHECK(outcome.out.find("touch") == std::string::npos);
}

TEST_CASE("A command that is none is told what there is, the nearest first") {
  refused({"frobnicate"}, {"no command is called 'frobnicate'", "there are: ", "run", "bound"});
  refused({"simulate"}, {"no command is called 'simulate'", "there are: "});
  refused({"shcedule"}, {"did you mean 'schedule'? there are: schedule"});
  refused({"config", "lst"}, {"cairn config: no command is called 'lst'", "did you mean 'list'?"});
  refused({}, {"a command is missing", "there are: run"});
  refused({"help", "rum"}, {"did you mean 'run'?"});
}

TEST_CASE("help is --help") {
  CHECK(run({"help"}).out == run({"--help"}).out);
  CHECK(run({"help", "run"}).out == run({"run", "--help"}).out);
  CHECK(run({"help", "config", "show"}).out == run({"config", "show", "--help"}).out);
  const std::string help = run({"--help"}).out;
  for (const char* word : {"Exit codes:", "130 interrupted", "CAIRN_CONFIGS", "CAIRN_DATA", "NO_COLOR"})
    CHECK(help.find(word) != std::string::npos);
  CHECK(run({"run", "--help"}).out.find("Example: cairn run ") != std::string::npos);
}

TEST_CASE("A word that is none of the few is named beside them") {
  refused({"run", "x", "--engine", "fast"}, {"--engine: 'fast' is not one of analytic, both, event"});
  refused({"run", "x", "--color", "red"}, {"--color: 'red' is not one of always, auto, never"});
  refused({"completion", "tcsh"}, {"'tcsh' is not one of bash, zsh, fish"});
  refused({"bound", "matmul m=8 n=8 k=8", "--fast", "8", "--game", "chess"}, {"--game: 'chess' is not one of rbw, hk"});
}

TEST_CASE("A key of --set that stands elsewhere is told where") {
  refused({"run", "llama3-8b-fsdp-dgx-h100", "--set", "tp=4"}, {"tp: unknown key", "did you mean strategy.tp?"});
  refused({"run", "llama3-8b-fsdp-dgx-h100", "--set", "seq_len=4096"}, {"did you mean training.seq_len?"});
}

TEST_CASE("No key of a cluster is dropped by --set unasked, and one is taken back with null") {
  refused({"run", "llama3-70b-64xdgx-h100", "--set", "cluster=dgx-a100"},
          {"would drop what is laid over the file named there: nodes", "write cluster.file=dgx-a100 to keep it"});
  refused({"run", "llama3-70b-64xdgx-h100", "--set", "strategy.dp="},
          {"the value is missing", "--set strategy.dp=null"});
  refused({"run", "llama3-70b-64xdgx-h100", "--set", "strategy.dp=auto"},
          {"expected an integer", "--set strategy.dp=null"});
}

TEST_CASE("Counts are written out, and the message says how") {
  refused({"run", "llama3-8b-fsdp-dgx-h100", "--set", "training.seq_len=8k"},
          {"expected an integer, found '8k'", "write it out: 8000, or 8192 for 8Ki"});
  refused({"run", "llama3-70b-64xdgx-h100", "--set", "training.global_batch=4 M tokens"},
          {"4000000 tokens are not a whole number of sequences of",
           "488 or 489 sequences, which are 3997696 or 4005888 tokens", "'4 Mi tokens', which are 512 sequences"});
}

TEST_CASE("A line of a batch is told its own key and line") {
  const std::string lines = write_file("sets.jsonl",
                                       "{\"file\": \"llama3-8b-fsdp-dgx-h100\", \"set\": {\"\": 1}}\n"
                                       "{\"file\": \"llama3-8b-fsdp-dgx-h100\", \"set\": {\"strategy.tq\": 1}}\n");
  const Outcome outcome = run({"run", "--batch", lines});
  CHECK(outcome.code == 2);
  std::istringstream answers(outcome.out);
  for (const auto& [key_path, message] : {std::pair{"set", "an empty key"}, {"set.strategy.tq", "unknown key"}}) {
    std::string answer;
    REQUIRE(std::getline(answers, answer));
    const json found = json::parse(answer)["diagnostics"][0];
    CHECK(found["file"] == lines);
    CHECK(found["key_path"] == key_path);
    CHECK(found["message"] == message);
  }
  CHECK(outcome.out.find("--set") == std::string::npos);
  // Said once: standard error counts.
  CHECK(outcome.err == "cairn: " + lines + ": 2 of 2 lines could not be run, as their answers say: 1, 2\n");
  // What the command line sets stays its own.
  const Outcome mixed = run({"run", "--batch", write_file("good.jsonl", "{\"file\": \"llama3-8b-fsdp-dgx-h100\"}\n"),
                             "--set", "strategy.tq=1"});
  const json own = json::parse(mixed.out)["diagnostics"][0];
  CHECK(own["file"] == "--set");
  CHECK(own["key_path"] == "strategy.tq");
}

TEST_CASE("A batch has the same bytes on any number of threads, a line of answers for each line") {
  // Lines of unlike length follow each other, so that later ones are answered first.
  std::string lines;
  for (int i = 0; i < 40; ++i) {
    if (i % 7 == 3) lines += "\n";
    if (i % 5 == 4)
      lines += "{\"file\": \"no-such-" + std::to_string(i) + "\"}\n";
    else if (i % 4 == 0)
      lines += "{\"file\": \"llama3-405b-2048xdgx-h100\"}\n";
    else
      lines +=
          "{\"file\": \"llama3-8b-fsdp-dgx-h100\", \"set\": {\"training.seq_len\": " + std::to_string(64 * i) + "}}\n";
  }
  const std::string file = write_file("threads.jsonl", lines);
  for (const std::string form : {"--json", "--csv"}) {
    const auto with = [&](const std::string& threads) {
      return run({"run", "--batch", file, "--engine", "analytic", form, "--threads", threads});
    };
    const Outcome one = with("1");
    CHECK(one.code == 2);
    CHECK(std::count(one.out.begin(), one.out.end(), '\n') == (form == "--csv" ? 41 : 40));
    for (const std::string threads : {"2", "3", "64"}) {
      const Outcome several = with(threads);
      CHECK(several.out == one.out);
      CHECK(several.err == one.err);
      CHECK(several.code == one.code);
    }
  }
  refused({"run", "llama3-8b-fsdp-dgx-h100", "--threads", "2"}, {"--threads", "--batch"});
  refused({"run", "--batch", file, "--threads", "0"}, {"--threads"});
}

TEST_CASE("Lines far behind one that takes long wait for it") {
  std::string lines = "{\"file\": \"llama3-405b-2048xdgx-h100\"}\n";
  for (int i = 0; i < 500; ++i) lines += "{\"file\": \"no-such-" + std::to_string(i) + "\"}\n";
  const std::string file = write_file("behind.jsonl", lines);
  const Outcome one = run({"run", "--batch", file, "--engine", "both", "--threads", "1"});
  CHECK(std::count(one.out.begin(), one.out.end(), '\n') == 501);
  for (const std::string threads : {"2", "3"})
    CHECK(run({"run", "--batch", file, "--engine", "both", "--threads", threads}).out == one.out);
}

TEST_CASE("A line of a batch may extend an experiment") {
  const std::string base = write_file("extended/base.yaml", "extends: llama3-8b-fsdp-dgx-h100\nname: base\n");
  const std::string lines = write_file("extended/lines.jsonl",
                                       "{\"extends\": \"llama3-8b-fsdp-dgx-h100\", \"training\": {\"seq_len\": 4096}}\n"
                                       "{\"extends\": \"base\", \"training\": {\"seq_len\": 2048}}\n"
                                       "{\"extends\": \"bsae\"}\n");
  const Outcome outcome = run({"run", "--batch", lines});
  CHECK(outcome.code == 2);
  std::istringstream answers(outcome.out);
  std::string shipped, beside, missing;
  std::getline(answers, shipped);
  std::getline(answers, beside);
  std::getline(answers, missing);
  const json alone =
      json::parse(run({"run", "llama3-8b-fsdp-dgx-h100", "--set", "training.seq_len=4096", "--json", "-q"}).out);
  CHECK(json::parse(shipped)["result"] == alone["result"]);
  CHECK(json::parse(shipped)["sources"] == alone["sources"]);
  CHECK(json::parse(beside)["experiment"]["name"] == "base");
  CHECK(json::parse(beside)["experiment"]["training"]["seq_len"] == 2048);
  CHECK(json::parse(missing)["diagnostics"][0]["key_path"] == "extends");
}

TEST_CASE("A network that is missing is told with the place of its cluster") {
  const std::string file =
      write_file("unlinked.yaml",
                 "version: 1\nmodel: llama-2-7b\ncluster: {name: unlinked, accelerator: h100-sxm5-80gb, nodes: 4, "
                 "gpus_per_node: 8, intra: {kind: nvswitch, bandwidth: 450 GB/s, latency: 1 us}}\n"
                 "training: {seq_len: 512, global_batch: 16}\n");
  refused({"run", file}, {"unlinked.yaml:3:10: error: cluster.inter: missing: 4 nodes"});
}

TEST_CASE("Of many errors in a file the first are shown, the others counted") {
  std::string text = "version: 1\n";
  for (int i = 0; i < 500; ++i) text += "nonsense" + std::to_string(i) + ": 1\n";
  const Outcome outcome = run({"run", write_file("many.yaml", text)});
  CHECK(outcome.code == 2);
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 21);
  CHECK(outcome.err.find("many.yaml: and 48") != std::string::npos);
}

TEST_CASE("Completion knows the keys of an experiment and their words") {
  const std::string script = run({"completion", "fish"}).out;
  for (const char* word :
       {"strategy.tp= ", "strategy.recompute=per-op", "strategy.recompute.operators=",
        "strategy.recompute.method=block", "strategy.overlap.dp.bucket=", "strategy.overlap.tp.kind=iso",
        "strategy.overlap.ep.kind=two-batch", "strategy.zero.offload.policy=fuyou", "training.precision.gradients=bf16",
        "training.kernels.pointwise=eager", "model.residual=kraken", "model.ways=", "cluster.nodes="}) {
    INFO(word);
    CHECK(script.find(word) != std::string::npos);
  }
  // bash hands words over cut at '='.
  const std::string file = write_file("completion.bash", run({"completion", "bash"}).out);
  const auto completes = [&](const std::string& words, int at, const std::string& to) {
    const std::string ask = "bash -c 'source " + file + "; COMP_WORDS=(" + words +
                            "); COMP_CWORD=" + std::to_string(at) + "; _cairn; test \"${COMPREPLY[0]}\" = " + to + "'";
    return std::system(ask.c_str()) == 0;
  };
  CHECK(completes("cairn run --set strategy.overlap.tp.k", 3, "strategy.overlap.tp.kind=chunked"));
  CHECK(completes("cairn run --set strategy.recompute = fu", 5, "full"));
  CHECK(completes("cairn run --set strategy.recompute =", 4, "none"));
  CHECK(completes("cairn run --engine ev", 3, "event"));
}
