// Intervals from outside: what ships decides them, whatever measurements this machine has.
#include <nlohmann/json.hpp>

#include "catch.h"
#include "cli/program.h"

using namespace cairn::cli_tests;

TEST_CASE("A run says the same with and without measurements at hand") {
  const std::vector<std::string> asked{"run", "llama3-8b-fsdp-dgx-h100", "--engine", "analytic", "--json"};
  const Outcome without = run(asked);
  const Outcome with = run({.arguments = asked, .environment = {{"CAIRN_DATA", scratch()}}});
  CHECK(without.code == 0);
  CHECK(without.out == with.out);
  const auto result = nlohmann::json::parse(without.out)["result"];
  CHECK(result["interval"]["p10"] < result["interval"]["p90"]);
}

TEST_CASE("A broken file of intervals is refused with its place") {
  write_file("broken/intervals.yaml", "version: 1\nfamilies:\n  - traits: [megatron]\n    time: {rows: 0}\n");
  const Outcome outcome = run({.arguments = {"run", "llama3-8b-fsdp-dgx-h100", "--engine", "analytic"},
                               .environment = {{"CAIRN_CONFIGS", scratch() + "/broken"}}});
  CHECK(outcome.code == 2);
  CHECK(outcome.out.empty());
  INFO(outcome.err);
  CHECK(outcome.err.find("intervals.yaml:4:18: error: families[0].time.rows") != std::string::npos);
}

TEST_CASE("Intervals of some tables alone are not written") {
  refused({"validate", "korthikanti2022_table5", "--write-intervals", scratch() + "/intervals.yaml"},
          {"--write-intervals", "name no family"});
  refused({"validate", "--ideal", "--write-intervals", scratch() + "/intervals.yaml"},
          {"--write-intervals", "leave one of them out"});
}

TEST_CASE("Software without overheads that is slower than what was measured has exit code 1") {
  const auto table = [](const char* time) {
    return std::string(
               "status,framework,accelerator,num_gpus,gpus_per_node,nvlink_gb_s,model,layers,hidden,heads,ffn,gated_"
               "mlp,"
               "vocab,tied_embeddings,norm,position,bias,seq_len,global_batch,micro_batch,tp,pp,sequence_parallel,zero,"
               "recompute,precision,iter_time_s\n"
               "ok,megatron,a100-sxm4-80gb,2,8,300,small,4,1024,16,4096,no,51200,yes,layernorm,learned,yes,1024,256,1,"
               "2,1,no,0,none,bf16,") +
           time + "\n";
  };
  write_file("ideal/slow.csv", table("1000"));
  write_file("ideal/quick.csv", table("0.00002"));
  const std::string folder = scratch() + "/ideal";
  CHECK(run({"validate", "slow", "--data", folder, "--ideal"}).code == 0);
  const Outcome quick = run({"validate", "slow", "quick", "--data", folder, "--ideal"});
  CHECK(quick.code == 1);
  CHECK(quick.out.find("not below 0: quick\n") != std::string::npos);
  const Outcome document = run({"validate", "quick", "--data", folder, "--ideal", "--json"});
  CHECK(document.code == 1);
  const auto result = nlohmann::json::parse(document.out);
  CHECK(result["ideal"] == true);
  CHECK(result["families"][0]["passed"] == false);
  CHECK(result["families"][0]["bias"] > 0.0);
}
