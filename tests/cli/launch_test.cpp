// Launch arguments through the program: an import runs, an export is imported again.
#include "catch.h"
#include "program.h"

using namespace cairn::cli_tests;

TEST_CASE("An export is imported again, and the import runs as the experiment does") {
  const std::string script = scratch() + "/train.sh", again = scratch() + "/again.yaml";
  const std::vector<std::string> changes{"--set", "training.optimizer=adamw", "--set", "name=a plan"};
  const auto with = [&](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const Outcome exported = run(with({"export", "megatron", "llama3-70b-64xdgx-h100", "-o", script}, changes));
  CHECK(exported.code == 0);
  CHECK(exported.err.empty());
  const Outcome imported = run({"import", "megatron", script, "--cluster", "dgx-h100", "-o", again});
  INFO(imported.err);
  REQUIRE(imported.code == 0);
  const Outcome first = run(with({"run", "llama3-70b-64xdgx-h100", "--engine", "analytic", "--csv"}, changes));
  const Outcome second = run({"run", again, "--engine", "analytic", "--csv", "--set", "name=a plan"});
  REQUIRE(first.code == second.code);
  CHECK(first.out == second.out);
}

TEST_CASE("What is wrong with launch arguments is said with its place, and ends with 2") {
  const std::string file = write_file("bad.sh", "--num-layers two");
  refused({"import", "megatron", file, "--cluster", "dgx-h100"}, {"bad.sh:1:14: error: --num-layers"});
  refused({"import", "megatron", file}, {"--cluster is required"});
  refused({"import", "megatron", file, "--cluster", "dgx-h101"}, {"dgx-h100"});
  refused({"import", "deepspeed", file}, {"deepspeed"});
  refused({"export", "deepspeed", file}, {"deepspeed"});
  refused({"import", "torchtitan", write_file("bad.toml", "[a"), "--cluster", "dgx-h100"}, {"bad.toml:1:1"});
  refused({"import", "nanotron", write_file("bad.yaml", std::string("\0\1", 2)), "--cluster", "dgx-h100"},
          {"bad.yaml"});
  refused({"import", "nemo", write_file("recipe.py", "import nemo_run as run\n"), "--cluster", "dgx-h100"},
          {"recipe.py:1", "Python"});
  refused({"import", "megatron", write_file("large.sh", std::string(1 << 21, 'x')), "--cluster", "dgx-h100"},
          {"large.sh"});
  refused({"import", "megatron", write_file("junk.sh", std::string(1 << 19, '(')), "--cluster", "dgx-h100"},
          {"junk.sh:1:1"});
}
