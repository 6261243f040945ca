#include "cairn/validation/measured_run.h"

#include "cairn/experiment/experiment.h"
#include "catch.h"
#include "rows.h"
#include "support.h"

namespace cairn::validation {
namespace {

using test::at;
using test::changed;
using test::complete;
using test::contains;
using test::Row;
using test::run_of;

TEST_CASE("a complete row becomes an experiment") {
  const MeasuredRun run = run_of(complete());
  CHECK(run.reason.empty());
  CHECK(run.line == 7);
  CHECK(run.time_s == 1.5);
  CHECK_FALSE(run.memory_bytes);
  CHECK(run.label == "tiny 16 GPUs tp2 pp2x2 dp4 mb2 zero1 full");
  CHECK(at(run, {"cluster", "file"}) == "dgx-a100");
  CHECK(at(run, {"cluster", "nodes"}) == "2");
  CHECK(at(run, {"cluster", "gpus_per_node"}) == "8");
  CHECK(at(run, {"cluster", "intra", "bandwidth"}) == "300 GB/s");
  CHECK(at(run, {"cluster", "inter", "nics_per_node"}) == "4");
  CHECK(at(run, {"cluster", "inter", "bandwidth"}) == "100 Gb/s");
  CHECK(at(run, {"training", "precision", "gradients"}) == "fp16");
  CHECK(at(run, {"training", "precision", "reduce"}) == "fp16");

  const experiment::Experiment read = experiment::read(run.experiment).experiment;
  CHECK(read.training.seq_len == 1024);
  CHECK(read.training.global_batch.sequences == 32);
  CHECK(read.framework.text == "megatron");
  CHECK(read.strategy.schedule.kind == "interleaved-1f1b");
  CHECK(read.strategy.schedule.chunks == 2);
  CHECK(read.strategy.recompute.kind == experiment::RecomputeKind::full);
  CHECK(read.strategy.zero.stage == 1);
  CHECK_FALSE(read.strategy.stages);  // the framework cuts
}

TEST_CASE("what no row states comes from the family") {
  Family family;
  family.release = "2022";
  family.dropout = 0.1;
  family.vocab_multiple = 128;
  family.attention = {{"unfused", "fused-softmax"}};
  const MeasuredRun run = run_of(complete(), family);
  CHECK(at(run, {"training", "framework"}) == "megatron@2022");
  CHECK(at(run, {"training", "kernels", "attention"}) == "fused-softmax");
  CHECK(at(run, {"model", "dropout"}) == "0.1");
  CHECK(at(run, {"model", "vocab_multiple"}) == "128");
  CHECK(at(changed({{"framework", "megatron@2021"}, {"dropout", "0"}}, family), {"training", "framework"}) ==
        "megatron@2021");
  CHECK(at(changed({{"dropout", "0"}}, family), {"model", "dropout"}) == "0");
  family.dropouts = {{"LLAMA", 0.0}, {"GPT3", 0.2}};
  CHECK(at(changed({{"model", "GPT3-5B"}}, family), {"model", "dropout"}) == "0.2");
  CHECK(at(changed({{"model", "another"}}, family), {"model", "dropout"}) == "0.1");
}

TEST_CASE("a family's recipe is that of rows which leave theirs open") {
  Family family;
  const auto recipe = [&family](const std::string& stated, const std::string& assumed) {
    return at(changed({{"precision", stated}, {"assumed", assumed}}, family), {"training", "precision", "recipe"});
  };
  CHECK(recipe("fp8", "") == "fp8-delayed");
  family.precision = "fp8-current";
  CHECK(recipe("fp8", "") == "fp8-current");
  CHECK(recipe("bf16", "norm precision bias") == "fp8-current");
  CHECK(recipe("bf16", "norm bias") == "bf16");
  CHECK(recipe("fp8-blockwise", "") == "fp8-blockwise");
}

TEST_CASE("a release that a row's source dates") {
  Family family;
  family.release = "2024";
  family.dated = {{"2022-", "2022"}};
  CHECK(at(changed({{"ref", "table of 2022-05"}}, family), {"training", "framework"}) == "megatron@2022");
  CHECK(at(changed({{"ref", "table of 2024-05"}}, family), {"training", "framework"}) == "megatron@2024");
  CHECK(at(run_of(complete(), family), {"training", "framework"}) == "megatron@2024");
}

TEST_CASE("a release that only some kernels tell") {
  Family family;
  family.release = "2024";
  family.releases = {{"unfused", "2021"}, {"flash1", "2022"}};
  CHECK(at(changed({{"attention_kernel", "unfused"}}, family), {"training", "framework"}) == "megatron@2021");
  CHECK(at(changed({{"attention_kernel", "flash1"}}, family), {"training", "framework"}) == "megatron@2022");
  CHECK(at(changed({{"attention_kernel", "flash2"}}, family), {"training", "framework"}) == "megatron@2024");
  CHECK(at(changed({{"attention_kernel", "flash1"}, {"framework", "megatron@2021"}}, family),
           {"training", "framework"}) == "megatron@2021");
}

TEST_CASE("a family's own cluster and formats of gradients go before those of the row") {
  Family family;
  family.cluster = "aws-p5";
  family.gradients = "bf16";
  MeasuredRun run = run_of(complete(), family);
  CHECK(at(run, {"cluster", "file"}) == "aws-p5");
  CHECK(at(run, {"cluster", "inter", "nics_per_node"}) == "4");  // widths stay the row's
  CHECK(at(run, {"training", "precision", "gradients"}) == "bf16");
  CHECK(at(run, {"training", "precision", "reduce"}) == "bf16");
  family.reduce = "fp32";
  run = changed({{"accelerator", "p40-24gb"}}, family);  // no reference cluster of its own is needed
  CHECK(run.reason.empty());
  CHECK(at(run, {"training", "precision", "gradients"}) == "bf16");
  CHECK(at(run, {"training", "precision", "reduce"}) == "fp32");
}

TEST_CASE("nodes that are not full, one node, one stage") {
  const MeasuredRun four = changed({{"num_gpus", "4"}, {"dp", "1"}});
  CHECK(at(four, {"cluster", "gpus_per_node"}) == "4");
  CHECK(at(four, {"cluster", "nodes"}) == "1");
  CHECK(at(four, {"cluster", "inter"}) == "(absent)");
  CHECK(changed({{"num_gpus", "12"}}).reason == "12 GPUs do not fill nodes of 8");
  const MeasuredRun flat = changed({{"pp", "1"}, {"dp", "8"}, {"schedule", "interleaved-1f1b"}});
  CHECK(at(flat, {"strategy", "schedule", "kind"}) == "1f1b");
  CHECK(at(flat, {"strategy", "schedule", "chunks"}) == "1");
}

TEST_CASE("whether gradients are reduced beside the backward pass") {
  CHECK(at(run_of(complete()), {"strategy", "overlap"}) == "(absent)");
  CHECK(experiment::read(changed({{"dp_overlap", "yes"}}).experiment).experiment.strategy.overlap.dp->reduce == true);
  CHECK(experiment::read(changed({{"dp_overlap", "no"}}).experiment).experiment.strategy.overlap.dp->reduce == false);
}

TEST_CASE("layers that do not divide are balanced") {
  CHECK(at(changed({{"layers", "6"}}), {"strategy", "stages"}) == "balanced");  // 2 stages x 2 chunks
  Family family;
  family.framework_cuts = true;
  const MeasuredRun left = changed({{"layers", "6"}}, family);
  CHECK(left.experiment.find("strategy")->find("stages") == nullptr);
  CHECK(at(changed({{"layers", "6"}, {"vpp", "1"}}), {"strategy", "stages"}) == "(absent)");
}

TEST_CASE("a fused normalisation named with the attention kernel") {
  const MeasuredRun run = changed({{"attention_kernel", "flash2+rms"}});
  CHECK(at(run, {"training", "kernels", "attention"}) == "flash2");
  CHECK(at(run, {"training", "kernels", "norm"}) == "fused");
  CHECK(at(changed({{"attention_kernel", "flash2"}}), {"training", "kernels", "norm"}) == "(absent)");
}

TEST_CASE("step times by every convention") {
  // 32 sequences of 1024 tokens at 1024 tokens/s on each of 16 GPUs: 2 s. A stated time goes first.
  CHECK(changed({{"iter_time_s", ""}, {"tokens_per_s_per_gpu", "1024"}}).time_s == Approx(2.0).epsilon(1e-14));
  CHECK(changed({{"tokens_per_s_per_gpu", "1024"}}).time_s == 1.5);

  // 96 B s l h^2 (1 + s/6h + V/16lh) with B 1, s 36, l 1, h 6, V 96: 96 x 36 x 36 x 3 = 373248, at as many FLOP/s.
  Family gpt;
  gpt.flops = FlopConvention::recomputed_gpt;
  Row small{{"iter_time_s", ""}, {"global_batch", "1"}, {"seq_len", "36"},
            {"layers", "1"},     {"hidden", "6"},       {"heads", "1"},
            {"vocab", "96"},     {"num_gpus", "1"},     {"tflops_per_gpu", "3.73248e-7"}};
  CHECK(changed(small, gpt).time_s.value() == Approx(1.0).epsilon(1e-14));

  // Layer 2 h^2 + 2 h^2 kv/heads + 3 h ffn = 8 + 4 + 18 = 30; per token 6 (30 + V h = 10) + 12 h s = 240 + 96 = 336;
  // 4 tokens: 1344.
  Family model;
  model.flops = FlopConvention::model;
  small = {{"iter_time_s", ""},  {"global_batch", "1"}, {"seq_len", "4"},  {"layers", "1"},
           {"hidden", "2"},      {"heads", "2"},        {"kv_heads", "1"}, {"ffn", "3"},
           {"gated_mlp", "yes"}, {"vocab", "5"},        {"num_gpus", "1"}, {"tflops_per_gpu", "1.344e-9"}};
  CHECK(changed(small, model).time_s.value() == Approx(1.0).epsilon(1e-14));
  CHECK_FALSE(changed(small).time_s);  // no convention: no time, and that is the reason
  CHECK(changed(small).reason == "no step time and no memory in a form that is understood");
}

TEST_CASE("memory") {
  const MeasuredRun run = changed({{"status", "memory"}, {"iter_time_s", ""}, {"mem_gib", "2"}});
  CHECK(run.memory_bytes == 2147483648.0);
  CHECK(run.reason.empty());
}

TEST_CASE("rows that cannot be run say why") {
  CHECK(changed({{"layers", ""}, {"pp", ""}}).reason == "unknown layers, pp");
  CHECK(changed({{"cp", "2"}}).reason.empty());
  CHECK(changed({{"global_batch", ""}, {"micro_batch", ""}}).reason == "unknown global_batch, micro_batch");
  Row without_cp = complete();
  without_cp.erase("cp");
  CHECK(run_of(without_cp).reason.empty());
  CHECK(changed({{"status", "failed"}}).reason == "failed: crash and out of memory are not told apart");
  CHECK(changed({{"status", "oom"}, {"iter_time_s", ""}}).reason.empty());
  CHECK(changed({{"iter_time_s", ""}}).reason == "no step time and no memory in a form that is understood");
  CHECK(changed({{"accelerator", "abacus"}}).reason == "no reference cluster for accelerator abacus");
  CHECK(changed({{"schedule", "interleaved-1f1b"}, {"vpp", ""}}).reason == "interleaved, but vpp is unknown");
  Family family;
  family.skip = {{"SFT", "packed short samples"}};
  CHECK(changed({{"notes", "7B SFT run"}}, family).reason == "SFT: packed short samples");
}

std::string refusal(const Row& changes) {
  return test::complaints([&] { changed(changes); });
}

TEST_CASE("tables that are wrong are refused") {
  CHECK(contains(refusal({{"layer", "4"}}), "did you mean 'layers'"));
  CHECK(contains(refusal({{"layers", "four"}}), "t.csv:7:1: error: layers: 'four' is no whole number"));
  CHECK(contains(refusal({{"layers", "4.5"}}), "whole number"));
  CHECK(contains(refusal({{"tp", "-2"}}), "tp: '-2'"));
  CHECK(contains(refusal({{"iter_time_s", "nan"}}), "iter_time_s: 'nan'"));
  CHECK(contains(refusal({{"bias", "maybe"}}), "neither yes nor no"));
  CHECK(contains(refusal({{"status", "fine"}}), "use ok, oom, failed or memory"));
}

}  // namespace
}  // namespace cairn::validation
