// `-`: a standard stream in place of a file.
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "cli/program.h"
#include "support/source_dir.h"

using namespace cairn::cli_tests;
using nlohmann::json;

namespace {

const std::string k_configs = cairn::testing::source_dir() + "/configs";

struct Piped {
  int code = 0;
  std::string out, err;
};

// What the program says when `text` comes to it through a pipe.
Piped piped(const std::string& text, const std::string& arguments, const std::string& folder = scratch()) {
  const std::string in = write_file("piped/in", text), out = scratch() + "/piped/out", err = scratch() + "/piped/err";
  const std::string command = "cd '" + folder + "' && cat '" + in + "' | '" + CAIRN_PROGRAM + "' " + arguments +
                              " > '" + out + "' 2> '" + err + "'";
  const int status = std::system(command.c_str());
  return {.code = WEXITSTATUS(status), .out = content(out), .err = content(err)};
}

}  // namespace

TEST_CASE("Where a file is read, - is standard input") {
  struct Case {
    std::string before;  // the file's name stands between
    std::string after;
    std::string text;
  };
  const std::string flows = "src,dst,bytes\n0,1,2GB\n1,2,1GB\n";
  const std::vector<Case> cases{
      {"topology", "--json", content(k_configs + "/topologies/star-8.yaml")},
      {"topology star-8 --flows", "--json", flows},
      {"bound --cdag", "--fast 3", "v a in\nv b out\ne a b\n"},
      {"schedule --file", "--json", "version: 1\nname: x\nstages: 1\nmicro_batches: 1\ndevices:\n  - [F0, B0]\n"},
      {"run --batch", "", "{\"file\": \"llama3-8b-fsdp-dgx-h100\"}\n"},
      {"config model", "--json", content(k_configs + "/models/llama-3.1-8b/config.json")}};
  for (const Case& each : cases) {
    INFO(each.before);
    const std::string file = write_file("piped/stdin", each.text);  // by the name that standard input has
    const Piped from_file = piped("", each.before + " " + file + " " + each.after);
    const Piped from_pipe = piped(each.text, each.before + " - " + each.after);
    INFO(from_pipe.err);
    CHECK(from_file.code == 0);
    CHECK(from_pipe.code == 0);
    CHECK_FALSE(from_pipe.out.empty());
    CHECK(from_pipe.out == from_file.out);
  }
}

TEST_CASE("A result goes through a pipe into the next run") {
  const std::string first = run({"run", "llama3-8b-fsdp-dgx-h100", "--json", "-q"}).out;
  const Piped again = piped(first, "run - --json -q");
  REQUIRE(again.code == 0);
  CHECK(json::parse(again.out)["result"] == json::parse(first)["result"]);
}

TEST_CASE("What standard input names is named as on the command line") {
  const std::string folder = scratch() + "/named";
  write_file("named/base.yaml", "extends: llama3-8b-fsdp-dgx-h100\nname: of the folder\n");
  const Piped path = piped("extends: ./base.yaml\n", "run - --json -q", folder);
  INFO(path.err);
  REQUIRE(path.code == 0);
  CHECK(json::parse(path.out)["experiment"]["name"] == "of the folder");
  const Piped bare = piped("extends: base\n", "run -", folder);
  CHECK(bare.code == 2);
  CHECK(bare.err.find("write './base.yaml'") != std::string::npos);
  const Piped wrong = piped("modle: x\n", "run -");
  CHECK(wrong.code == 2);
  CHECK(wrong.err.find("/dev/stdin:1:1: error: modle: unknown key") != std::string::npos);
}

TEST_CASE("Standard input is read once, and - written is standard output") {
  const Piped twice = piped("x", "topology - --flows -");
  CHECK(twice.code == 2);
  CHECK(twice.err.find("standard input was named twice") != std::string::npos);
  CHECK(run({"topology", "star-8", "-o", "-"}).out == run({"topology", "star-8"}).out);
}
