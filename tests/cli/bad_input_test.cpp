// Everything a user can get wrong: exit code 2, no result on standard output, and on standard error the place, the key
// and what to do about it.
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "cli/program.h"
#include "support/share.h"

using namespace cairn::cli_tests;

namespace {

const std::string k_good = R"(version: 1
name: small
model: {kind: transformer, layers: 8, hidden: 512, heads: 8, ffn: 2048, gated_mlp: false, vocab: 1024, tied_embeddings: false, position: rope}
cluster: {file: dgx-h100, nodes: 2}
training:
  seq_len: 512
  global_batch: 16
strategy:
  tp: 4
  pp: 2
  dp: 2
  stages: even
simulation:
  jitter: none
)";

struct Mistake {
  std::string name;
  std::string written;  // in the good file
  std::string instead;
  std::vector<std::string> expected;  // in the diagnostics
};

std::string with(const Mistake& mistake) {
  std::string text = k_good;
  const std::size_t at = text.find(mistake.written);
  REQUIRE(at != std::string::npos);
  return text.replace(at, mistake.written.size(), mistake.instead);
}

void refuses(const Outcome& outcome, const std::vector<std::string>& expected) {
  INFO(outcome.err);
  CHECK(outcome.code == 2);
  // With --json, the same as a document.
  CHECK((outcome.out.empty() || nlohmann::json::parse(outcome.out)["schema"] == "cairn.error/1"));
  CHECK(outcome.err.find("error:") != std::string::npos);
  for (const std::string& words : expected) {
    INFO(words);
    CHECK(outcome.err.find(words) != std::string::npos);
  }
}

// Lines of k_good: 3 model, 4 cluster, 6 seq_len, 7 global_batch, 9 tp, 10 pp, 11 dp, 12 stages, 14 jitter.
const std::vector<Mistake> k_mistakes{
    {"unknown key", "  tp: 4", "  tq: 4", {"bad.yaml:9:", "strategy.tq", "did you mean 'tp'"}},
    {"unknown key of the cluster", "nodes: 2", "nodse: 2", {"bad.yaml:4:", "nodse", "did you mean 'nodes'"}},
    {"unknown key of the model", "heads: 8", "haeds: 8", {"bad.yaml:3:", "haeds", "heads"}},
    {"duplicate key", "  pp: 2", "  pp: 2\n  pp: 4", {"bad.yaml:11:", "pp"}},
    {"missing key", "  seq_len: 512\n", "", {"bad.yaml:", "training.seq_len", "missing"}},
    {"missing unit", "nodes: 2", "nodes: 2, intra: {bandwidth: 450}", {"bad.yaml:4:", "bandwidth", "unit", "GB/s"}},
    {"wrong unit", "nodes: 2", "nodes: 2, intra: {bandwidth: 450 GiB}", {"bad.yaml:4:", "bandwidth", "GB/s"}},
    {"zero degree", "  tp: 4", "  tp: 0", {"bad.yaml:9:", "strategy.tp", "1"}},
    {"negative degree", "  pp: 2", "  pp: -2", {"bad.yaml:10:", "strategy.pp", "1"}},
    {"fractional degree", "  pp: 2", "  pp: 2.5", {"bad.yaml:10:", "strategy.pp"}},
    {"degrees that do not multiply to the world",
     "  dp: 2",
     "  dp: 3",
     {"bad.yaml:11:", "strategy.dp", "24", "16", "dp: 2"}},
    {"degrees that do not divide the world",
     "  tp: 4\n  pp: 2\n  dp: 2",
     "  tp: 3\n  pp: 1",
     {"bad.yaml:9:", "strategy.tp", "16"}},
    {"even stages that do not divide", "layers: 8", "layers: 9", {"bad.yaml:12:", "strategy.stages", "balanced", "["}},
    {"a list of stages that does not add up", "stages: even", "stages: [3, 4]", {"bad.yaml:12:", "stages", "8"}},
    {"a list of stages of the wrong length", "stages: even", "stages: [3, 3, 2]", {"bad.yaml:12:", "stages", "2"}},
    {"more stages than layers", "layers: 8", "layers: 1", {"bad.yaml:10:", "strategy.pp", "1"}},
    {"heads not divisible by tp",
     "heads: 8",
     "heads: 6, head_dim: 64",
     {"bad.yaml:9:", "strategy.tp", "heads", "divisor"}},
    {"batch not divisible",
     "global_batch: 16",
     "global_batch: 15",
     {"bad.yaml:7:", "training.global_batch", "multiple of 2"}},
    {"no such model",
     "model: {kind: transformer, layers: 8, hidden: 512, heads: 8, ffn: 2048, gated_mlp: false, vocab: 1024, "
     "tied_embeddings: false, position: rope}",
     "model: llama-3.1-70",
     {"bad.yaml:3:", "model", "llama-3.1-70b"}},
    {"no such cluster", "dgx-h100", "dgx-h1000", {"bad.yaml:4:", "cluster", "dgx-h100"}},
    {"no such framework",
     "  global_batch: 16",
     "  global_batch: 16\n  framework: megatorn",
     {"bad.yaml:8:", "training.framework", "megatron"}},
    {"no such precision",
     "  global_batch: 16",
     "  global_batch: 16\n  precision: bf17",
     {"bad.yaml:8:", "training.precision", "bf16"}},
    {"no such schedule", "  stages: even", "  schedule: 1f2b", {"bad.yaml:12:", "strategy.schedule", "1f1b"}},
    {"no such word", "  stages: even", "  recompute: everything", {"bad.yaml:12:", "strategy.recompute", "full"}},
    {"not a number", "jitter: none", "jitter: {distribution: lognormal, sigma: .nan}", {"bad.yaml:14:", "sigma"}},
    {"infinite", "jitter: none", "jitter: {distribution: lognormal, sigma: .inf}", {"bad.yaml:14:", "sigma"}},
    {"an infinite quantity", "nodes: 2", "nodes: 2, intra: {bandwidth: inf GB/s}", {"bad.yaml:4:", "bandwidth"}},
    {"a quantity beyond all numbers",
     "nodes: 2",
     "nodes: 2, intra: {bandwidth: 1e999 GB/s}",
     {"bad.yaml:4:", "bandwidth"}},
    {"a negative quantity", "nodes: 2", "nodes: 2, intra: {bandwidth: -1 GB/s}", {"bad.yaml:4:", "bandwidth"}},
    {"a count beyond all numbers", "nodes: 2", "nodes: 99999999999999999999", {"bad.yaml:4:", "nodes"}},
    {"a fault of no rank",
     "  jitter: none",
     "  faults: [{rank: 16, compute: 0.5}]",
     {"bad.yaml:14:", "simulation.faults", "16", "0 to 15"}},
    {"not YAML", "  tp: 4", "  tp: [4", {"bad.yaml:", "error:"}},
    {"a tab", "  tp: 4", "\ttp: 4", {"bad.yaml:9:"}},
    {"an empty model",
     "model: {kind: transformer, layers: 8, hidden: 512, heads: 8, ffn: 2048, gated_mlp: false, vocab: 1024, "
     "tied_embeddings: false, position: rope}",
     "model:",
     {"bad.yaml:3:", "model"}},
};

}  // namespace

TEST_CASE("The file that mistakes are made in is good") {
  const Outcome outcome = run({"run", write_file("good.yaml", k_good)});
  INFO(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(outcome.err.empty());
  CHECK(outcome.out.find("step time") != std::string::npos);
}

TEST_CASE("Every mistake in an experiment is refused with its place and a remedy") {
  for (const Mistake& mistake : k_mistakes) {
    INFO(mistake.name);
    const std::string file = write_file("bad.yaml", with(mistake));
    refuses(run({"run", file, "--json"}), mistake.expected);
  }
}

TEST_CASE("All mistakes of a file are named at once") {
  const std::string file =
      write_file("bad.yaml",
                 "version: 1\nmodle: llama-3.1-8b\ncluster: dgx-h100\ntraining: {seq_length: 4096, global_batch: 0}\n");
  refuses(run({"run", file}),
          {"bad.yaml:2:", "modle", "bad.yaml:4:", "seq_length", "global_batch", "training.seq_len"});
}

TEST_CASE("Files that are no experiments are refused") {
  SECTION("missing") { refuses(run({"run", scratch() + "/nowhere.yaml"}), {"nowhere.yaml"}); }
  SECTION("a name that is nearly one") { refuses(run({"run", "llama3-70b-64xdgx-h10"}), {"llama3-70b-64xdgx-h100"}); }
  SECTION("a folder") { refuses(run({"run", scratch()}), {scratch()}); }
  SECTION("empty") { refuses(run({"run", write_file("empty.yaml", "")}), {"empty.yaml", "empty"}); }
  SECTION("binary") {
    std::string bytes;
    for (int i = 0; i < 4096; ++i) bytes += static_cast<char>(i * 37 % 256);
    refuses(run({"run", write_file("binary.yaml", bytes)}), {"binary.yaml"});
  }
  SECTION("a program") { refuses(run({"run", CAIRN_PROGRAM}), {"cairn"}); }
  SECTION("a list") { refuses(run({"run", write_file("list.yaml", "- 1\n- 2\n")}), {"list.yaml:1:"}); }
  SECTION("100 MB of zeros") {
    const std::string file = write_file("huge.yaml", "");
    std::filesystem::resize_file(file, 100'000'000);
    refuses(run({"run", file}), {"huge.yaml", "64 MiB"});
    std::filesystem::remove(file);
  }
  SECTION("many long keys") {
    const std::string file = write_file("long.yaml", "");
    std::ofstream stream(file);
    const std::string line(1000, 'k');
    for (std::size_t i = 0; i < 60'000 / cairn::test::k_share; ++i) stream << line << ": 1\n";
    stream.close();
    refuses(run({"run", file}), {"long.yaml:"});
    std::filesystem::remove(file);
  }
  SECTION("an alias bomb") {
    std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 12; ++i) {
      text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
      for (int j = 0; j < 10; ++j) text += (j > 0 ? ", *a" : "*a") + std::to_string(i - 1);
      text += "]\n";
    }
    refuses(run({"run", write_file("bomb.yaml", text)}), {"bomb.yaml:"});
  }
  SECTION("deep nesting") {
    refuses(
        run({"run", write_file("deep.yaml", "name: " + std::string(100'000, '[') + std::string(100'000, ']') + "\n")}),
        {"deep.yaml:"});
  }
}

TEST_CASE("A Hugging Face file that is not understood is refused") {
  const std::string experiment =
      "version: 1\nmodel: {hf: odd/config.json}\ncluster: dgx-h100\ntraining: {seq_len: 512, global_batch: 8}\n";
  const std::string file = write_file("hf.yaml", experiment);
  SECTION("an unknown model_type") {
    write_file("odd/config.json", R"({"model_type": "mamba9", "hidden_size": 512})");
    refuses(run({"run", file}), {"odd/config.json:1:", "model_type", "mamba9", "llama"});
  }
  SECTION("a missing key") {
    write_file("odd/config.json", R"({"model_type": "llama", "hidden_size": 512})");
    refuses(run({"run", file}), {"odd/config.json", "num_hidden_layers"});
  }
  SECTION("not JSON") {
    write_file("odd/config.json", "{\"model_type\": ");
    refuses(run({"run", file}), {"odd/config.json:1:"});
  }
  SECTION("missing") {
    std::filesystem::remove(scratch() + "/odd/config.json");
    refuses(run({"run", file}), {"hf.yaml:2:", "odd/config.json"});
  }
}

TEST_CASE("Overrides are read as strictly as files") {
  const std::string file = write_file("good.yaml", k_good);
  refuses(run({"run", file, "--set", "strategy.tq=4"}), {"strategy.tq", "did you mean 'tp'"});
  refuses(run({"run", file, "--set", "strategy.tp"}), {"strategy.tp", "strategy.tp=4"});
  refuses(run({"run", file, "--set", "strategy.tp=nan"}), {"strategy.tp"});
  refuses(run({"run", file, "--set", "simulation.jitter={distribution: lognormal, sigma: inf}"}), {"sigma"});
}
