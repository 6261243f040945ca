// What names mean: never what happens to lie in the working folder.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "cli/program.h"
#include "support/source_dir.h"

using namespace cairn::cli_tests;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string k_configs = cairn::testing::source_dir() + "/configs";

Outcome run_in(const std::string& folder, const std::vector<std::string>& arguments) {
  return run({.arguments = arguments, .environment = {}, .out_file = {}, .folder = folder});
}

// A folder in which every name that is shipped means something else: a plain file, or a YAML file of other content.
std::string decoys(const std::string& name, bool yaml) {
  const std::string folder = scratch() + "/" + name;
  fs::create_directories(folder);
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(k_configs)) {
    const fs::path& file = entry.path();
    const fs::path stem = file.filename() == "config.json" ? file.parent_path().filename() : file.stem();
    if (!entry.is_regular_file()) continue;
    if (yaml)
      std::ofstream(folder + "/" + stem.string() + ".yaml") << "version: 1\nname: decoy\nnodes: 3\n";
    else
      std::ofstream(folder + "/" + stem.string()) << "hello\n";
  }
  return folder;
}

}  // namespace

TEST_CASE("The working folder does not change any answer") {
  const std::string empty = scratch() + "/empty";
  fs::create_directories(empty);
  const std::string xml = write_file(
      "names/topo.xml",
      "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"1\" modelid=\"1\">"
      "<pci busid=\"0000:01:00.0\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"0\" "
      "sm=\"80\"/></pci>"
      "<pci busid=\"0000:02:00.0\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"1\" "
      "sm=\"80\"/></pci></cpu></system>");
  const std::vector<std::vector<std::string>> questions{
      {"run", "llama3-70b-64xdgx-h100", "--json"},
      {"run", "llama3-70b-64xdgx-h100"},
      {"run", "deepseek-v3-2048xh800", "--json", "--engine", "analytic"},
      {"run", "llama3-70b-64xdgx-h100", "--json", "--set", "cluster={file: dgx-a100, nodes: 64}", "--set",
       "calibration=a100-sxm4-80gb", "--set", "training.framework=megatron@2022", "--set", "training.precision=fp16",
       "--set", "model=llama-2-70b"},
      {"config", "show", "llama3-70b-64xdgx-h100"},
      {"config", "show", "llama3-70b-64xdgx-h100", "--origin"},
      {"config", "model", "llama-3.1-8b"},
      {"config", "list"},
      {"topology", "dgx-h100", "--json"},
      {"topology", "--compare", "fat-tree-1024", "torus-1024"},
      {"attention", "--cluster", "dgx-h100", "--seq", "2Ki", "--heads", "8"},
      {"bound", "matmul m=64 n=64 k=64", "--accelerator", "h100-sxm5-80gb", "--json"},
      {"bound", "--model", "llama-3.1-8b", "--accelerator", "h100-sxm5-80gb", "--seq", "512"},
      {"import", "nccl-topo", xml},
      {"export", "megatron", "llama3-70b-64xdgx-h100"},
      {"export", "torchtitan", "llama3-8b-fsdp-dgx-h100"},
      {"export", "nemo", "llama3-70b-64xdgx-h100"}};
  for (const std::string& folder : {decoys("plain", false), decoys("yaml", true)})
    for (const std::vector<std::string>& question : questions) {
      INFO(folder << ": " << question[0] << " " << question[1]);
      const Outcome elsewhere = run_in(empty, question);
      const Outcome here = run_in(folder, question);
      CHECK(elsewhere.code <= 1);
      CHECK(here.code == elsewhere.code);
      CHECK(here.out == elsewhere.out);
      CHECK(here.err == elsewhere.err);
    }
}

TEST_CASE("A path is of the working folder, a bare name is not") {
  const std::string folder = scratch() + "/paths";
  write_file("paths/mine.yaml", "extends: llama3-8b-fsdp-dgx-h100\nname: of the folder\n");
  const auto name = [&](const std::string& experiment) {
    return json::parse(run_in(folder, {"run", experiment, "--json", "--engine", "analytic"}).out)["experiment"]["name"];
  };
  CHECK(name("mine.yaml") == "of the folder");
  CHECK(name("./mine") == "of the folder");
  CHECK(name("../paths/mine.yaml") == "of the folder");
  const Outcome bare = run_in(folder, {"run", "mine"});
  CHECK(bare.code == 2);
  CHECK(bare.err.find("write './mine.yaml'") != std::string::npos);
  const Outcome set = run_in(folder, {"run", "mine.yaml", "--set", "calibration=mine"});
  CHECK(set.code == 2);
  CHECK(set.err.find("write './mine.yaml'") != std::string::npos);
}

TEST_CASE("A file's names are looked for beside it first") {
  write_file("beside/deep/mine.yaml", content(k_configs + "/calibration/h100-sxm5-80gb.yaml"));
  const std::string experiment =
      write_file("beside/e.yaml", "extends: llama3-8b-fsdp-dgx-h100\ncalibration: deep/mine\ncluster: {file: box}\n");
  write_file("beside/box.yaml", "extends: dgx-h100\nname: my box\n");
  const Outcome outcome = run({"run", experiment, "--json"});
  INFO(outcome.err);
  REQUIRE(outcome.code <= 1);
  const json document = json::parse(outcome.out);
  const auto file_of = [&](const std::string& kind, std::size_t which) {
    std::vector<std::string> files;
    for (const json& source : document["sources"])
      if (source["kind"] == kind) files.push_back(source["file"]);
    return files.at(which);
  };
  CHECK(file_of("experiments", 0) == "e.yaml");
  CHECK(file_of("experiments", 1) == "experiments/llama3-8b-fsdp-dgx-h100.yaml");
  CHECK(file_of("calibration", 0) == "deep/mine.yaml");
  CHECK(file_of("clusters", 0) == "box.yaml");
  CHECK(file_of("clusters", 1) == "clusters/dgx-h100.yaml");
  CHECK(outcome.out.find(scratch()) == std::string::npos);
  // What its result says runs again from elsewhere, where there is no `box`.
  const std::string again = write_file("elsewhere/again.json", document["experiment"].dump());
  const json second = json::parse(run({"run", again, "--json"}).out);
  CHECK(second["experiment"] == document["experiment"]);
  CHECK(second["result"] == document["result"]);
  CHECK(run({"run", write_file("elsewhere/whole.json", outcome.out), "--json"}).code == outcome.code);
}

TEST_CASE("Each folder that was asked is told once") {
  const Outcome outcome = run({.arguments = {"run", "nothing-like-it-at-all"},
                               .environment = {{"CAIRN_CONFIGS", k_configs + "/"}},
                               .out_file = {},
                               .folder = {}});
  const std::size_t first = outcome.err.find("configs//experiments");
  const std::size_t other = outcome.err.find("configs/experiments");
  CHECK((first == std::string::npos) != (other == std::string::npos));
  CHECK(outcome.err.find("experiments") == outcome.err.rfind("experiments"));
}
