// Rows of the wider header: models by name, racks, modules that are recomputed, words of frameworks and logs.
#include "cairn/experiment/experiment.h"
#include "cairn/experiment/job.h"
#include "catch.h"
#include "rows.h"
#include "support.h"

namespace cairn::validation {
namespace {

using test::at;
using test::by_model;
using test::changed;
using test::contains;
using test::Folder;
using test::published_run;
using test::remarks;
using test::Row;

// The plan and model that a row becomes; throws where it cannot be run.
struct Resolved {
  explicit Resolved(const MeasuredRun& run) : job(experiment::read(run.experiment), test::shipped()) {}
  experiment::Job job;
};

TEST_CASE("cp that a row does not state is 1; a long sequence whose batch it does not state is one of a rank") {
  CHECK(at(changed({{"cp", ""}}), {"strategy", "cp"}) == "1");
  CHECK(changed({{"cp", ""}}).reason.empty());
  const MeasuredRun open = changed({{"cp", "4"}, {"dp", "8"}, {"pp", "1"}, {"global_batch", ""}, {"micro_batch", ""}});
  CHECK(open.reason.empty());
  CHECK(at(open, {"strategy", "cp"}) == "4");
  CHECK(at(open, {"strategy", "micro_batch"}) == "1");
  CHECK(at(open, {"training", "global_batch"}) == "8");
  CHECK(std::any_of(open.remarks.begin(), open.remarks.end(),
                    [](const std::string& r) { return contains(r, "batch assumed"); }));
}

TEST_CASE("a sequence length or a batch that follows from speed and time") {
  // 16 GPUs x 1000 tokens/s x 1.5 s = 24,000 tokens of 32 sequences: 750, no multiple of 128 within 2 %.
  MeasuredRun run = changed({{"seq_len", ""}, {"tokens_per_s_per_gpu", "1000"}});
  CHECK(at(run, {"training", "seq_len"}) == "750");
  CHECK(remarks(run, "seq_len 750"));
  // 1360 tokens/s: 1020 tokens, published in few digits: 1024.
  CHECK(at(changed({{"seq_len", ""}, {"tokens_per_s_per_gpu", "1360"}}), {"training", "seq_len"}) == "1024");
  // 1024 tokens each: 24,000 / 1024 = 23.4 sequences.
  run = changed({{"global_batch", ""}, {"tokens_per_s_per_gpu", "1000"}});
  CHECK(at(run, {"training", "global_batch"}) == "23");
  CHECK(changed({{"seq_len", ""}}).reason == "unknown seq_len");
  CHECK(changed({{"seq_len", ""}, {"global_batch", ""}, {"tokens_per_s_per_gpu", "1000"}}).reason ==
        "unknown seq_len, global_batch");
}

TEST_CASE("tensor-parallel collectives beside products are chunked") {
  const MeasuredRun run = changed({{"tp_overlap", "yes"}, {"sequence_parallel", "yes"}, {"dp_overlap", "no"}});
  CHECK(run.reason.empty());
  const experiment::Overlap overlap = experiment::read(run.experiment).experiment.strategy.overlap;
  CHECK(overlap.tp->kind == experiment::TensorOverlapKind::chunked);
  CHECK(overlap.dp->reduce == false);
  CHECK(at(changed({{"tp_overlap", "yes"}, {"tp", "1"}, {"dp", "8"}}), {"strategy", "overlap"}) == "(absent)");
  CHECK(at(changed({{"tp_overlap", "no"}}), {"strategy", "overlap"}) == "(absent)");
}

TEST_CASE("settings that a row names in its notes") {
  Family family;
  family.attention = {{"unfused", "flash2"}};
  const auto keys = [](const std::string& text) {
    core::Diagnostics diagnostics;
    return config::parse_text(text, config::Syntax::yaml, "families.yaml", diagnostics);
  };
  family.noted = {
      {.words = {"impl=engine"}, .attention = {{"unfused", "fused-softmax"}}},
      {.words = {"no-fusion", "impl=engine"}, .framework = keys("accumulation: {value: {fused: false}}")},
      {.words = {"impl=engine"}, .without = {"one-by-one"}, .framework = keys("allocator: {caching: false}")}};
  family.noted.push_back({.words = {"impl=engine"}, .framework = keys("kernels: {value: {loss: fused}}")});
  family.noted.push_back(
      {.words = {"no-fusion", "impl=engine"}, .framework = keys("kernels: {value: {wide_scores: false}}")});
  family.noted.push_back({.words = {"experts-tensor=2"}, .strategy = keys("etp: 2")});
  const auto noted = [&](const char* notes, const char* framework = "megatron") {
    return changed({{"notes", notes}, {"framework", framework}, {"vocab", "50304"}}, family);
  };
  const MeasuredRun none = noted("args: impl=engines no-fusion");
  CHECK(at(none, {"training", "framework"}) == "megatron");
  CHECK(at(none, {"training", "kernels", "attention"}) == "flash2");
  const MeasuredRun all = noted("args: Impl=Engine no-fusion", "megatron@2022");
  CHECK(at(all, {"training", "kernels", "attention"}) == "fused-softmax");
  CHECK(at(all, {"training", "framework", "file"}) == "megatron@2022");
  const Resolved run(all);
  CHECK_FALSE(run.job.framework().accumulation.fused);
  CHECK_FALSE(run.job.framework().allocator.caching);
  CHECK_FALSE(run.job.framework().overlap.dp_reduce);  // the release's own
  const models::Kernels& kernels = run.job.framework().kernels;
  CHECK(kernels.loss == models::LossKernel::fused);
  CHECK_FALSE(kernels.wide_scores);
  CHECK(kernels.attention == models::AttentionKernel::fused_softmax);  // the release's own
  CHECK(at(noted("experts-tensor=2"), {"strategy", "etp"}) == "2");
  CHECK(at(noted("experts-tensor=4"), {"strategy", "etp"}) == "(absent)");
  family.experts_as_tensor = true;
  CHECK(at(noted("experts-tensor=2"), {"strategy", "etp"}) == "2");
  CHECK(at(noted(""), {"strategy", "etp"}) == "(absent)");  // no experts
  const Row experts = by_model("mixtral-8x7b", {{"notes", "experts-tensor=4"}});
  CHECK(at(published_run(experts, family), {"strategy", "etp"}) == "2");  // as tp
  const Resolved apart(noted("impl=engine; one-by-one"));
  CHECK(apart.job.framework().accumulation.fused);
  CHECK(apart.job.framework().allocator.caching);
  family.noted = {{.framework = keys("kernels: {value: {fused_router: true}}")}};  // of every row
  for (const char* notes : {"", "impl=engine"}) CHECK(Resolved(noted(notes)).job.framework().kernels.fused_router);
}

TEST_CASE("a model that a row names") {
  const Resolved shipped(published_run(by_model("llama-3.1-8b", {{"dropout", "0"}, {"mtp", "0"}})));
  CHECK(shipped.job.transformer().layers == 32);
  CHECK(shipped.job.transformer().kv_heads == 8);
  const Folder folder;
  folder.write("own.yaml",
               "version: 1\nkind: transformer\nlayers: 6\nhidden: 512\nheads: 8\nffn: 2048\ngated_mlp: false\n"
               "vocab: 51200\ntied_embeddings: true\nposition: rope\n");
  folder.write("foreign.json",
               R"({"model_type": "llama", "hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 10,
                   "num_attention_heads": 8, "vocab_size": 32000, "hidden_act": "silu"})");
  folder.write("both.yaml", "version: 1\nextends: ./own.yaml\nlayers: 8\n");
  folder.write("both.json", R"({"model_type": "unheard-of"})");
  const auto layers = [&](const char* name) {
    return Resolved(published_run(by_model(name, {{"dropout", "0.1"}}), {}, folder.path())).job.transformer().layers;
  };
  CHECK(layers("own") == 6);
  CHECK(layers("foreign") == 10);
  CHECK(layers("both") == 8);  // Cairn's own form goes first
  const Resolved own(published_run(by_model("own", {{"dropout", "0.1"}}), {}, folder.path()));
  CHECK(own.job.transformer().dropout == 0.1);
  CHECK(contains(published_run(by_model("owm"), {}, folder.path()).reason, "no model 'owm'"));
  CHECK(contains(published_run(by_model("owm"), {}, folder.path()).reason, "did you mean 'own'"));
  CHECK(contains(test::complaints([&] { published_run(by_model("../own"), {}, folder.path()); }), "is a path"));
  CHECK(published_run(by_model("own", {{"layers", "7"}}), {}, folder.path()).reason ==
        "layers 7 in the row, 6 in its model own");
  CHECK(published_run(by_model("own", {{"layers", "6"}}), {}, folder.path()).reason.empty());
}

TEST_CASE("a model known by its name alone") {
  const MeasuredRun run = published_run(by_model("", {{"model", "Llama 3.1 8B"}}));
  CHECK(run.reason.empty());
  CHECK(remarks(run, "model llama-3.1-8b, by its name"));
  CHECK(Resolved(run).job.transformer().layers == 32);
  CHECK(published_run(by_model("", {{"model", "ResNet-101"}})).reason ==
        "unknown layers, hidden, heads, ffn, vocab, gated_mlp, tied_embeddings, bias, norm, position");
}

Row on_racks(const char* gpus, const char* dp) {
  return by_model("llama-3.1-8b", {{"accelerator", "gb200-186gb"},
                                   {"num_gpus", gpus},
                                   {"gpus_per_node", "4"},
                                   {"nvlink_gb_s", "900"},
                                   {"nics_per_node", "4"},
                                   {"nic_gbit_s", "400"},
                                   {"tp", "1"},
                                   {"pp", "1"},
                                   {"dp", dp},
                                   {"global_batch", "576"},
                                   {"micro_batch", "1"}});
}

TEST_CASE("GPUs in racks") {
  const MeasuredRun one = published_run(on_racks("16", "16"));
  const Resolved small(one);
  CHECK(small.job.gpus() == 16);
  CHECK(remarks(one, "all 16 GPUs in one rack of 72"));
  CHECK(one.experiment.find("cluster")->find("levels")->items.size() == 1);
  // One whole rack.
  CHECK(published_run(on_racks("72", "72")).experiment.find("cluster")->find("levels")->items.size() == 1);
  // Two racks of 64, whose adapters are one a GPU.
  const MeasuredRun two = published_run(on_racks("128", "64"));
  const config::Node& levels = *two.experiment.find("cluster")->find("levels");
  REQUIRE(levels.items.size() == 2);
  CHECK(levels.items[0].find("size")->text == "64");
  CHECK(levels.items[0].find("bandwidth")->text == "900 GB/s");
  CHECK(levels.items[1].find("nics_per_node")->text == "64");
  CHECK(levels.items[1].find("bandwidth")->text == "400 Gb/s");
  CHECK(remarks(two, "64 GPUs of each rack of 72"));
  // 144 = 2 x 72; 96 is divided by neither 64 nor 72: 48.
  CHECK(remarks(published_run(on_racks("144", "144")), "72 GPUs of each rack"));
  CHECK(remarks(published_run(on_racks("96", "96")), "48 GPUs of each rack"));
  Row gb300 = on_racks("128", "128");
  gb300["accelerator"] = "gb300-279gb";
  CHECK(at(published_run(gb300), {"cluster", "file"}) == "gb300-nvl72");
}

TEST_CASE("platforms of AMD") {
  for (const char* name : {"mi300x", "mi325x", "mi350x", "mi355x"}) {
    CAPTURE(name);
    const MeasuredRun run = published_run(by_model("llama-3.1-8b", {{"accelerator", name}, {"nvlink_gb_s", "448"}}));
    CHECK(run.reason.empty());
    CHECK(at(run, {"cluster", "file"}) == std::string(name) + "-platform");
    CHECK(Resolved(run).job.gpus() == 16);
  }
}

TEST_CASE("how routed tokens travel, and how evenly") {
  const Row row =
      by_model("qwen3-30b-a3b",
               {{"tp", "1"}, {"pp", "1"}, {"dp", "16"}, {"ep", "8"}, {"dispatcher", "deepep"}, {"balance", "natural"}});
  MeasuredRun run = published_run(row);
  CHECK(at(run, {"model", "moe", "dispatcher"}) == "deepep");
  CHECK(at(run, {"model", "moe", "imbalance"}) == "1");
  CHECK_FALSE(remarks(run, "dispatcher"));
  CHECK(remarks(run, "natural routing is taken for even"));
  const auto with = [&](const char* column, const char* word) {
    Row other = row;
    other[column] = word;
    return published_run(other);
  };
  CHECK(at(with("dispatcher", "allgather"), {"model", "moe", "dispatcher"}) == "allgather");
  CHECK_FALSE(remarks(with("dispatcher", "alltoall"), "dispatcher"));
  CHECK(remarks(with("dispatcher", "hybridep"), "dispatcher hybridep is priced as deepep"));
  CHECK_FALSE(remarks(with("balance", "forced"), "routing"));
  CHECK(with("dispatcher", "pigeon").reason == "dispatcher 'pigeon' is not known");
  CHECK(with("balance", "lucky").reason == "balance 'lucky' is not known");
  CHECK(with("experts_overlap", "1f1b").reason ==
        "experts_overlap 1f1b: exchanges beside other micro-batches are not modelled");
  CHECK(with("experts_overlap", "none").reason.empty());
}

TEST_CASE("modules that are recomputed") {
  const auto operators = [](const char* model, const char* modules) {
    const MeasuredRun run =
        published_run(by_model(model, {{"tp", "1"}, {"pp", "1"}, {"dp", "16"}, {"ep", "1"}, {"recompute", modules}}));
    std::string text = run.reason;
    const config::Node* recompute = run.experiment.find("strategy")->find("recompute");
    if (recompute->is_scalar()) return text + recompute->text;
    for (const config::Node& name : recompute->find("operators")->items) text += name.text + " ";
    const Resolved runs(run);  // or it throws
    return text;
  };
  CHECK(operators("qwen3-30b-a3b", "layernorm+moe_act") == "norm1 norm2 experts.activation ");
  CHECK(operators("qwen3-30b-a3b", "moe") == "router permute experts combine ");
  CHECK(operators("llama-3.1-8b", "mlp+core_attn") == "fc1 activation fc2 attention ");
  CHECK(operators("llama-3.1-8b", "moe+layernorm") == "norm1 norm2 ");  // as Megatron-LM: nothing of that name to do
  CHECK(operators("llama-3.1-8b", "moe_act") == "none");
  CHECK(operators("llama-3.1-8b", "full") == "full");
  CHECK(contains(operators("llama-3.1-8b", "layernorm+brain"), "module 'brain' is not known"));
  CHECK(remarks(published_run(by_model("llama-3.1-8b", {{"recompute", "moe+layernorm"}})), "the model has no moe"));
}

TEST_CASE("a layout of stages, and modules for further tokens") {
  const Row row = by_model("llama-3.1-8b", {{"layout", "Et*15|t*17L"}, {"vpp", "1"}});
  MeasuredRun run = published_run(row);
  CHECK(at(run, {"strategy", "stages"}) == "Et*15|t*17L");
  CHECK(Resolved(run).job.strategy().stage_layers == std::vector<std::int64_t>{15, 17});
  run = published_run(by_model("llama-3.1-8b", {{"mtp", "1"}, {"pp", "1"}, {"dp", "8"}}));
  CHECK(at(run, {"model", "mtp", "depth"}) == "1");
  CHECK(Resolved(run).job.transformer().prediction_depth() == 1);
  CHECK(at(published_run(by_model("llama-3.1-8b", {{"mtp", "0"}})), {"model", "mtp"}) == "(absent)");
}

TEST_CASE("what is offloaded") {
  const MeasuredRun run =
      published_run(by_model("llama-3.1-8b", {{"offload", "optimizer"}, {"zero", "3"}, {"pp", "1"}, {"dp", "8"}}));
  CHECK(at(run, {"strategy", "zero", "stage"}) == "3");
  CHECK(at(run, {"strategy", "zero", "offload", "optimizer"}) == "host");
  CHECK(Resolved(run).job.strategy().offload.optimizer == plan::Home::host);
  CHECK(at(changed({{"offload", "none"}}), {"strategy", "zero"}) == "1");
  CHECK(contains(changed({{"offload", "activations:moe_act+core_attn"}}).reason, "not modelled"));
  CHECK(changed({{"offload", "worries"}}).reason == "offload 'worries' is not known");
}

TEST_CASE("what a memory figure counts") {
  const auto of = [](const char* kind, const char* rank) {
    return changed({{"status", "memory"}, {"mem_gib", "2"}, {"mem_kind", kind}, {"mem_rank", rank}});
  };
  CHECK(of("", "").memory_kind == MemoryKind::allocated);
  CHECK(of("", "").memory_rank == MemoryRank::fullest);
  CHECK(of("reserved", "last").memory_kind == MemoryKind::reserved);
  CHECK(of("reserved", "last").memory_rank == MemoryRank::last);
  CHECK(of("reserved", "first").memory_rank == MemoryRank::first);
  CHECK(of("device", "max").memory_kind == MemoryKind::device);
  CHECK(of("device", "max").memory_rank == MemoryRank::fullest);
  CHECK(of("device", "unknown").memory_rank == MemoryRank::fullest);
  CHECK(contains(test::complaints([&] { of("felt", ""); }), "use allocated, reserved, device"));
  CHECK(contains(test::complaints([&] { of("", "second"); }), "t.csv:7:1: error: mem_rank: unknown word 'second'"));
}

TEST_CASE("a kernel that another stands for, and graphs of kernels") {
  const MeasuredRun run =
      published_run(by_model("llama-3.1-8b", {{"attention_kernel", "flash4"}, {"cuda_graph", "full"}}));
  CHECK(at(run, {"training", "kernels", "attention"}) == "flash4");
  CHECK(remarks(run, "cuda_graph full"));
  Family family;
  family.attention = {{"flash4", "flash3"}};
  CHECK(at(published_run(by_model("llama-3.1-8b", {{"attention_kernel", "flash4"}}), family),
           {"training", "kernels", "attention"}) == "flash3");
}

TEST_CASE("notes of what is no full training") {
  const auto reason = [](const char* notes) {
    Row row = by_model("llama-3.1-8b");
    row["notes"] = notes;
    return published_run(row).reason;
  };
  CHECK(reason("LoRA rank 16") == "LoRA: adapters are trained, not the model");
  CHECK(reason("qlora") == "QLoRA: adapters are trained, not the model");
  CHECK(contains(reason("7B SFT run"), "packed short samples"));
  CHECK(contains(reason("fine-tuning of packed sequences"), "packed short samples"));
  CHECK(contains(reason("with adapters of width 8"), "adapters are trained"));
  CHECK(reason("full training, no LoRA").empty());
  CHECK(reason("full fine-tuning on packed samples without variable-length attention").empty());
  CHECK(reason("unpacked samples, explorable").empty());
}

// By hand: h 4, 2 heads of 2, one key head of 2, so q 4 and kv 2; projections 4 (4 + 4) + 16 = 48; gated MLP of 8: 96;
// core attention at 10 tokens 40; head 20 x 4 = 80. Two layers: 6 (2 (48 + 96 + 40) + 80) = 2688 a token, 26880 in all.
TEST_CASE("FLOP/s as Megatron-LM counts them") {
  Family family;
  family.flops = FlopConvention::megatron;
  const Row small{{"iter_time_s", ""},
                  {"global_batch", "1"},
                  {"seq_len", "10"},
                  {"layers", "2"},
                  {"hidden", "4"},
                  {"heads", "2"},
                  {"kv_heads", "1"},
                  {"ffn", "8"},
                  {"gated_mlp", "yes"},
                  {"vocab", "20"},
                  {"num_gpus", "1"},
                  {"tp", "1"},
                  {"tflops_per_gpu", "2.688e-8"}};
  CHECK(changed(small, family).time_s.value() == Approx(1.0).epsilon(1e-14));
  // The published counts of two mixtures, per token at 4,096 tokens.
  const auto tokens_per_s = [&](const char* model) {
    const MeasuredRun run = published_run(
        by_model(model,
                 {{"iter_time_s", ""}, {"tflops_per_gpu", "1"}, {"tp", "1"}, {"pp", "1"}, {"dp", "16"}, {"ep", "8"}}),
        family);
    return 32.0 * 4096.0 / *run.time_s / 16.0;
  };
  CHECK(1e12 / tokens_per_s("qwen3-30b-a3b") == Approx(2.3006e10).epsilon(1e-4));
  CHECK(1e12 / tokens_per_s("qwen3-235b-a22b") == Approx(1.4803e11).epsilon(1e-4));
}

// h 8, 2 heads: queries through 4, of 2 + 2 each: 4 (8 + 8 + 1) = 68; keys and values through 3, of 2 and 3:
// 3 (8 + 10 + 1) + 8 x 2 = 73; output 2 x 3 x 8 = 48; core at 10 tokens 10 x 2 (4 + 3) / 2 = 70. Top 2 of 4 experts of
// 5 and a shared one of 6, not gated: 2 x 8 (10 + 6) = 256. A layer 515. Head 20 x 8 = 160. One layer more for a further
// token, 3 x 8 + 2 x 64 = 152, and the head again: 6 (515 + 160 + 515 + 152 + 160) = 9012.
TEST_CASE("FLOP/s of latent attention, experts and a further token") {
  const Folder folder;
  folder.write("odd.yaml",
               "version: 1\nkind: transformer\nlayers: 1\nhidden: 8\nheads: 2\nffn: 7\ngated_mlp: false\nvocab: 20\n"
               "tied_embeddings: false\nposition: rope\nnorm: rmsnorm\nbias: false\nmtp: {depth: 1}\n"
               "mla: {q_lora: 4, kv_lora: 3, rope_dim: 2, nope_dim: 2, v_dim: 3}\n"
               "moe: {experts: 4, top_k: 2, ffn: 5, shared_experts: 1, shared_ffn: 6}\n");
  Family family;
  family.flops = FlopConvention::megatron;
  const MeasuredRun run = published_run(by_model("odd", {{"iter_time_s", ""},
                                                         {"tflops_per_gpu", "1"},
                                                         {"tp", "1"},
                                                         {"seq_len", "10"},
                                                         {"global_batch", "1"},
                                                         {"num_gpus", "1"}}),
                                        family, folder.path());
  CAPTURE(run.reason);
  CHECK(run.time_s.value() * 1e12 == Approx(9012.0 * 10.0).epsilon(1e-12));
}

}  // namespace
}  // namespace cairn::validation
