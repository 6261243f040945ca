// `cairn run NAME --json` of every shipped experiment, `cairn bound` of every line of bounds.txt, `cairn topology` of
// every line of networks.txt, `cairn search` of every line of searches.txt, `cairn attention` of every line of
// attentions.txt and `cairn partition` of every line of partitions.txt, against the document each gave when it was
// last blessed.
//
// Numbers may differ by what another mathematical library rounds differently; everything else must be equal. After a
// change that is meant: tests/golden/bless, and read the difference.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "support/source_dir.h"

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr double k_rounding = 1e-9;

std::string text_of(const std::string& arguments) {
  const std::string command = "'" + std::string(CAIRN_PROGRAM) + "' " + arguments;
  std::FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  pclose(pipe);
  return text;
}

json output_of(const std::string& arguments) { return json::parse(text_of(arguments + " --json")); }

// Without the hashes of files: a comment changes those.
json without_hashes(json document) {
  if (document.contains("sources"))
    for (json& source : document["sources"]) source.erase("hash");
  return document;
}

void same(const json& expected, const json& actual, const std::string& path) {
  INFO(path);
  if (expected.is_number() && actual.is_number()) {
    const double e = expected.get<double>();
    CHECK(std::abs(actual.get<double>() - e) <= k_rounding * std::abs(e));
  } else if (expected.is_object() && actual.is_object()) {
    std::set<std::string> keys;
    for (const auto& [key, value] : expected.items()) keys.insert(key);
    for (const auto& [key, value] : actual.items()) keys.insert(key);
    for (const std::string& key : keys) {
      INFO(key);
      REQUIRE(expected.contains(key));
      REQUIRE(actual.contains(key));
      same(expected[key], actual[key], path + "." + key);
    }
  } else if (expected.is_array() && actual.is_array()) {
    REQUIRE(expected.size() == actual.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      same(expected[i], actual[i], path + "[" + std::to_string(i) + "]");
  } else {
    CHECK(expected == actual);
  }
}

}  // namespace

TEST_CASE("Shipped experiments give what was blessed") {
  const fs::path folder = fs::path(cairn::testing::source_dir()) / "tests" / "golden" / "expected";
  const fs::path experiments = fs::path(cairn::testing::source_dir()) / "configs" / "experiments";
  std::set<std::string> shipped;
  std::set<std::string> blessed;
  for (const auto& file : fs::directory_iterator(experiments))
    if (file.path().extension() == ".yaml") shipped.insert(file.path().stem().string());
  for (const auto& file : fs::directory_iterator(folder)) blessed.insert(file.path().stem().string());
  CHECK(shipped == blessed);
  for (const std::string& name : blessed) {
    INFO(name);
    json expected = json::parse(std::ifstream(folder / (name + ".json")));
    json actual = output_of("run '" + (experiments / (name + ".yaml")).string() + "'");
    expected.erase("tool");  // the build that ran
    actual.erase("tool");
    same(without_hashes(expected), without_hashes(actual), "");
  }
}

TEST_CASE("The short answer of every shipped experiment is what was blessed, in 24 lines of 80 columns") {
  const fs::path folder = fs::path(cairn::testing::source_dir()) / "tests" / "golden" / "screens";
  const fs::path experiments = fs::path(cairn::testing::source_dir()) / "configs" / "experiments";
  for (const auto& file : fs::directory_iterator(experiments)) {
    const std::string name = file.path().stem().string();
    INFO(name);
    const std::string screen = text_of("run '" + file.path().string() + "'");
    std::ifstream stream(folder / (name + ".txt"));
    CHECK(screen == std::string(std::istreambuf_iterator<char>(stream), {}));
    CHECK(std::count(screen.begin(), screen.end(), '\n') <= 24);
    std::istringstream lines(screen);
    for (std::string line; std::getline(lines, line);)
      CHECK(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }) <= 80);
  }
}

// Li and Hoefler, "Chimera", SC 2021: GPT-2 of 1.39 billion parameters on 2,048 nodes of Piz Daint trains 1.38 times as
// fast as with DAPPLE and 1.42 times as with GPipe (these two and the depths of the pipelines from memory; between 1.16
// and 2.34 times as with any other, from the abstract). Nothing here is fitted to them: ours are 1.49, 8 % above, and
// 1.32, 7 % below. Claimed is what the means of the published families may be off at most (9 %, validate/published), so
// both ratios lie within it and inside the abstract's range. Not claimed is which of the two baselines is the faster:
// they are 3 % apart as published and 12 % the other way round here.
TEST_CASE("Chimera on 2,048 nodes of Piz Daint beside its published speed-ups") {
  const auto step_time = [](const char* schedule) {
    const fs::path expected = fs::path(cairn::testing::source_dir()) / "tests" / "golden" / "expected";
    const std::string name = std::string("gpt2-2048xpiz-daint-") + schedule + ".json";
    return json::parse(std::ifstream(expected / name))["result"]["iteration_time_s"].get<double>();
  };
  constexpr double k_band = 0.09;
  const double chimera = step_time("chimera");
  for (const auto& [baseline, published] : {std::pair{"dapple", 1.38}, std::pair{"gpipe", 1.42}}) {
    const double ours = step_time(baseline) / chimera;
    WARN("Chimera over " << baseline << ": " << ours << ", published " << published);
    CHECK(std::abs(ours / published - 1.0) < k_band);
  }
}

namespace {

// Every line of `list`.txt, a name and arguments, against `list`/name.json.
void same_as_blessed(const std::string& command, const std::string& list) {
  const fs::path golden = fs::path(cairn::testing::source_dir()) / "tests" / "golden";
  std::set<std::string> listed;
  std::ifstream lines(golden / (list + ".txt"));
  std::string name;
  std::string arguments;
  while (lines >> name && std::getline(lines >> std::ws, arguments)) {
    listed.insert(name);
    INFO(name << ": " << arguments);
    json expected = json::parse(std::ifstream(golden / list / (name + ".json")));
    json actual = output_of(command + " " + arguments);
    for (json* document : {&expected, &actual}) {
      document->erase("tool");
      for (const char* several : {"networks", "points"})
        if (document->contains(several))
          for (json& each : (*document)[several]) each.erase("tool");
    }
    same(without_hashes(expected), without_hashes(actual), "");
  }
  std::set<std::string> blessed;
  for (const auto& file : fs::directory_iterator(golden / list)) blessed.insert(file.path().stem().string());
  CHECK(listed == blessed);
}

}  // namespace

TEST_CASE("Bounds give what was blessed") { same_as_blessed("bound", "bounds"); }
TEST_CASE("Networks give what was blessed") { same_as_blessed("topology", "networks"); }
TEST_CASE("Comparisons of attention give what was blessed") { same_as_blessed("attention", "attentions"); }
TEST_CASE("Searches give what was blessed") { same_as_blessed("search", "searches"); }
TEST_CASE("Divisions give what was blessed") { same_as_blessed("partition", "partitions"); }
