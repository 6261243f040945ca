// What is too large to be counted, simulated, listed or read is refused in words that name the setting or the file.
#include <algorithm>

#include "catch.h"
#include "cli/program.h"

using namespace cairn::cli_tests;

namespace {

const std::string k_job = "llama3-8b-fsdp-dgx-h100";
const std::string k_network_job = "llama3-70b-64xdgx-h100";

void run_refused(const std::string& job, const std::string& setting, const std::vector<std::string>& words) {
  for (const char* engine : {"analytic", "event"}) {
    INFO(setting << " " << engine);
    refused({"run", job, "--set", setting, "--engine", engine}, words);
  }
}

}  // namespace

TEST_CASE("More micro-batches than 32 bits number are refused, not cut off") {
  // 34,359,738,400 sequences on 8 ranks are 2^32 + 4 micro-batches each.
  run_refused(k_job, "training.global_batch=34359738400", {"training.global_batch: 4294967300 micro-batches"});
  run_refused(k_job, "training.global_batch=8388608", {"training.global_batch", "micro_batch"});
  run_refused(k_job, "training.global_batch=1073741824", {"training.global_batch", "larger micro-batches"});
}

TEST_CASE("A step beyond simulated time is refused, and what makes it so long is named") {
  for (const char* setting :
       {"cluster.inter.bandwidth=1e-9 b/s", "cluster.inter.bandwidth=1 b/s", "cluster.inter.bandwidth=400 b/s",
        "cluster.inter.latency=1 d", "cluster.inter.oversubscription=1e9"})
    run_refused(k_network_job, setting, {"cluster", "simulated time reaches", "ranks"});
}

TEST_CASE("Work of more operations than 64 bits count is refused with the size that is too large") {
  run_refused(k_job, "training.seq_len=67108864", {"training.seq_len", "9223372036854775807"});
  refused({"bound", "--model", "llama-3.1-8b", "--accelerator", "h100-sxm5-80gb", "--seq", "1073741824"}, {"--seq"});
  refused(
      {"bound", "--model", "llama-3.1-8b", "--accelerator", "h100-sxm5-80gb", "--seq", "2147483647", "--batch", "1000"},
      {"--seq"});
  for (const char* setting : {"model.moe.capacity_factor=1e9", "model.moe.imbalance=9007199254740993"})
    run_refused("deepseek-v3-2048xh800", setting, {"moe."});
}

TEST_CASE("Files that never end, or hold nothing but errors, are refused") {
  refused({"topology", "star-8", "--flows", "/dev/zero"}, {"/dev/zero", "256 MiB"});
  refused({"bound", "--cdag", "/dev/zero", "--fast", "3"}, {"/dev/zero", "256 MiB"});
  std::string twice;
  for (int i = 0; i < 100; ++i) twice += "v a in\n";
  const Outcome outcome = run({"bound", "--cdag", write_file("twice.cdag", twice), "--fast", "3"});
  CHECK(outcome.code == 2);
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 20);
}

TEST_CASE("A fault that ends before it begins, or begins after all simulated time, is refused") {
  run_refused(k_job, "simulation.faults=[{rank: 1, compute: 0.5, from: 10 s, until: 1 s}]",
              {"simulation.faults[0].until", "not later than from"});
  run_refused(k_job, "simulation.faults=[{rank: 1, compute: 0.5, from: 1e9 s}]",
              {"simulation.faults[0].from", "simulated time reaches"});
}

TEST_CASE("The analytic engine says that it leaves out jitter and faults") {
  const Outcome outcome = run({"run", k_job, "--engine", "analytic", "--json", "--set",
                               "simulation.jitter={distribution: lognormal, sigma: 0.1}", "--set",
                               "simulation.faults=[{rank: 1, compute: 0.5}]"});
  CHECK(outcome.out.find("no jitter (analytic engine)") != std::string::npos);
  CHECK(outcome.out.find("no faults (analytic engine)") != std::string::npos);
}

TEST_CASE("A dragonfly of a thousand million routers is answered in closed form") {
  CHECK(run({"topology", "dragonfly-1024", "--set", "routers_per_group=1073741824"}).code == 0);
}

TEST_CASE("Long schedules are listed in time proportional to their length") {
  for (const char* kind : {"gnn-pipe", "gpipe", "2bp-gpipe", "modular"}) {
    INFO(kind);
    CHECK(run({"schedule", kind, "--stages", "3", "--micro-batches", "262144"}).code == 0);
  }
  refused({"schedule", "v-min", "--stages", "8", "--micro-batches", "20000"}, {"micro-batches", "--no-reorder"});
}
