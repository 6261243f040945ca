#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cairn/experiment/job.h"
#include "cairn/trace/chrome.h"
#include "catch.h"
#include "support/source_dir.h"

using namespace cairn;
using nlohmann::json;

namespace {

const char* const k_experiment = R"(
version: 1
model: {kind: transformer, layers: 8, hidden: 256, heads: 4, ffn: 1024, gated_mlp: false, vocab: 1024,
        tied_embeddings: true, position: rope, bias: false}
cluster: {file: dgx-h100, nodes: 2}
training: {seq_len: 512, global_batch: 16}
strategy: {tp: 2, pp: 4, dp: 2, zero: 1}
)";

struct Traced {
  json document;
  core::Picoseconds time = 0;
  std::vector<double> peaks;  // of the memory report, by stage
};

Traced traced_run(const std::vector<std::string>& overrides) {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(k_experiment, config::Syntax::yaml, "small.yaml", diagnostics);
  experiment::Job job(experiment::read(node, overrides), config::Loader({cairn::testing::source_dir() + "/configs"}));
  const experiment::Result result = job.run(predict::Engine::event, {.all_timelines = true});
  std::string text;
  trace::write_chrome(job.program(), result.prediction, [&](std::string_view piece) { text += piece; });
  std::vector<double> peaks;
  for (const predict::StageMemory& stage : result.prediction.memory.stages) peaks.push_back(stage.allocated_peak);
  return {json::parse(text), result.prediction.time, std::move(peaks)};
}

// Microseconds with six decimals, back to picoseconds.
core::Picoseconds picoseconds(const json& microseconds) { return std::llround(microseconds.get<double>() * 1e6); }

struct Slice {
  core::Picoseconds start;
  core::Picoseconds end;
};

}  // namespace

TEST_CASE("A timeline has one thread per stream, and its slices never overlap") {
  for (const std::vector<std::string>& overrides : {std::vector<std::string>{},
                                                    {"strategy.schedule={kind: interleaved-1f1b, chunks: 2}"},
                                                    {"strategy.recompute=full"},
                                                    {"simulation.jitter={distribution: lognormal, sigma: 0.05}"},
                                                    {"training.framework=ideal"}}) {
    const Traced traced = traced_run(overrides);
    std::map<std::pair<int, int>, std::vector<Slice>> threads;
    for (const json& event : traced.document["traceEvents"]) {
      if (event["ph"] != "X") continue;
      const core::Picoseconds start = picoseconds(event["ts"]);
      const core::Picoseconds duration = picoseconds(event["dur"]);
      CHECK(duration > 0);
      threads[{event["pid"], event["tid"]}].push_back({start, start + duration});
    }
    core::Picoseconds last = 0;
    std::set<int> stages;
    for (auto& [thread, slices] : threads) {
      stages.insert(thread.first);
      std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) { return a.start < b.start; });
      for (std::size_t i = 1; i < slices.size(); ++i) CHECK(slices[i].start >= slices[i - 1].end);
      last = std::max(last, slices.back().end);
    }
    CHECK(stages == std::set<int>{0, 1, 2, 3});
    // Jitter makes ranks of a stage differ; the one that ends last need not be the one shown.
    if (overrides.empty()) CHECK(last == traced.time);
    CHECK(last <= traced.time);
  }
}

TEST_CASE("Every arrow has a tail and a head, and time passes between them") {
  const Traced traced = traced_run({});
  std::map<std::string, core::Picoseconds> tails;
  std::map<std::string, core::Picoseconds> heads;
  for (const json& event : traced.document["traceEvents"]) {
    if (event["ph"] == "s") CHECK(tails.emplace(event["id"], picoseconds(event["ts"])).second);
    if (event["ph"] == "f") CHECK(heads.emplace(event["id"], picoseconds(event["ts"])).second);
  }
  // 8 micro-batches go up and come down over three borders between four stages; the tied embedding's gradient crosses
  // once each way.
  CHECK(tails.size() == 2 * 3 * 8 + 2);
  REQUIRE(heads.size() == tails.size());
  for (const auto& [id, time] : heads) {
    REQUIRE(tails.count(id) == 1);
    CHECK(tails[id] < time);
  }
}

TEST_CASE("Slices say what they are") {
  const Traced traced = traced_run({});
  bool seen = false;
  for (const json& event : traced.document["traceEvents"]) {
    if (event["ph"] != "X" || event["name"] != "fc1") continue;
    if (event["cat"] != "compute") continue;
    seen = true;
    // 512 tokens x 256 times 256 x 1024 / tp 2: 2 FLOPs a multiply-add.
    CHECK(event["args"]["flops"] == 2.0 * 512 * 256 * 512);
    CHECK(event["args"]["pass"] == "forward");
    CHECK(event["args"]["micro_batch"].get<int>() < 8);
    break;
  }
  CHECK(seen);
}

TEST_CASE("Shared units have counters of the share in use") {
  const Traced alone = traced_run({});
  for (const json& event : alone.document["traceEvents"])
    CHECK((event["ph"] != "C" || event["name"] == "allocated memory"));
  const Traced traced = traced_run({"simulation.contention=true", "simulation.interference=true"});
  std::map<std::pair<int, std::string>, core::Picoseconds> last;
  std::map<std::string, double> most;
  for (const json& event : traced.document["traceEvents"]) {
    if (event["ph"] != "C" || event["name"] == "allocated memory") continue;
    const double share = event["args"]["share"];
    CHECK(share >= 0.0);
    CHECK(share <= 1.0);
    const core::Picoseconds time = picoseconds(event["ts"]);
    const auto [before, fresh] = last.try_emplace({event["pid"], event["name"]}, time);
    if (!fresh) CHECK(time > before->second);
    before->second = time;
    CHECK(time <= traced.time);
    most[event["name"]] = std::max(most[event["name"]], share);
  }
  for (const char* unit : {"intra out", "intra in", "multiprocessors", "memory bandwidth"}) {
    INFO(unit);
    CHECK(most[unit] > 0.0);
  }
}

TEST_CASE("The passes of micro-batches and idle time tile a stage, each from its first operator to its last") {
  for (const std::vector<std::string>& overrides : {std::vector<std::string>{},
                                                    {"strategy.schedule={kind: interleaved-1f1b, chunks: 2}"},
                                                    {"strategy.schedule=zb-h1"},
                                                    {"strategy.schedule=dualpipe", "strategy.zero=0"},
                                                    {"strategy.recompute=full"}}) {
    const Traced traced = traced_run(overrides);
    std::map<int, int> passes;  // threads by stage
    for (const json& event : traced.document["traceEvents"])
      if (event["name"] == "thread_name" && event["args"]["name"] == "passes") passes[event["pid"]] = event["tid"];
    REQUIRE(passes.size() == 4);
    std::map<int, std::vector<Slice>> tiles;
    // By stage and arguments of a pass: its slice, and the first and last operator on the compute stream, thread 0.
    std::map<std::pair<int, std::string>, Slice> drawn, computed;
    std::map<std::string, int> names;
    for (const json& event : traced.document["traceEvents"]) {
      if (event["ph"] != "X") continue;
      const Slice slice{picoseconds(event["ts"]), picoseconds(event["ts"]) + picoseconds(event["dur"])};
      const int stage = event["pid"];
      const json& arguments = event["args"];
      const std::string pass = arguments.value("pass", "") + std::to_string(arguments.value("micro_batch", -1)) + "." +
                               std::to_string(arguments.value("chunk", -1));
      if (event["tid"] == passes[stage]) {
        tiles[stage].push_back(slice);
        if (event["name"] == "idle") continue;
        ++names[event["name"]];
        CHECK(drawn.emplace(std::pair(stage, pass), slice).second);
      } else if (event["tid"] == 0 && arguments.contains("micro_batch")) {
        const auto [at, fresh] = computed.try_emplace({stage, pass}, slice);
        if (!fresh) at->second = {std::min(at->second.start, slice.start), std::max(at->second.end, slice.end)};
      }
    }
    for (auto& [stage, slices] : tiles) {
      std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) { return a.start < b.start; });
      CHECK(slices.front().start == 0);
      for (std::size_t i = 1; i < slices.size(); ++i) CHECK(slices[i].start == slices[i - 1].end);
      CHECK(slices.back().end == traced.time);
    }
    for (const auto& [pass, slice] : computed) {
      INFO(pass.first << " " << pass.second);
      REQUIRE(drawn.count(pass) == 1);
      CHECK(drawn[pass].start == slice.start);
      CHECK(drawn[pass].end == slice.end);
    }
    if (overrides.empty()) {
      // 8 micro-batches on each of 4 stages.
      for (const char* name : {"F0", "F7", "B0", "B7", "parameter update"}) CHECK(names[name] == 4);
      CHECK(computed.size() == 2 * 8 * 4);
    }
  }
  const std::string interleaved = traced_run({"strategy.schedule={kind: interleaved-1f1b, chunks: 2}"}).document.dump();
  CHECK(interleaved.find("\"B3 chunk 1\"") != std::string::npos);
  const std::string split = traced_run({"strategy.schedule=zb-h1"}).document.dump();
  for (const char* name : {"\"F3\"", "\"b3\"", "\"w3\""}) CHECK(split.find(name) != std::string::npos);
}

TEST_CASE("Allocated memory over time peaks where the memory report says") {
  for (const std::vector<std::string>& overrides : {std::vector<std::string>{},
                                                    {"strategy.zero=3"},
                                                    {"strategy.recompute=full", "training.framework=torchtitan"}}) {
    const Traced traced = traced_run(overrides);
    std::map<int, double> most;
    core::Picoseconds last = 0;
    for (const json& event : traced.document["traceEvents"]) {
      if (event["name"] != "allocated memory") continue;
      CHECK(event["ph"] == "C");
      most[event["pid"]] = std::max(most[event["pid"]], event["args"]["bytes"].get<double>());
      last = std::max(last, picoseconds(event["ts"]));
    }
    REQUIRE(most.size() == traced.peaks.size());
    for (const auto& [stage, bytes] : most) CHECK(bytes == traced.peaks[static_cast<std::size_t>(stage)]);
    CHECK(last <= traced.time);
  }
}
