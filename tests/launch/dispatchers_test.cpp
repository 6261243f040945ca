// How routed tokens reach their experts, in Megatron-LM's words and NeMo's. MoEFlexTokenDispatcher
// (core/transformer/moe/token_dispatcher.py): flex takes DeepEP, HybridEP or NCCL's expert parallelism as its backend;
// in releases of 2025 it asserts that --moe-enable-deepep is there. With DeepEP it asserts several ranks of experts,
// and transformer_config.py refuses rows that are padded to a capacity.
#include <string>

#include "imports.h"

using namespace cairn;
using cairn::testing::imported;
using cairn::testing::refusal;
using cairn::testing::said_of;
using cairn::testing::shipped;

namespace {

std::string megatron_mixture(const std::string& more) {
  return "ARGS=(--num-layers 4 --hidden-size 512 --num-attention-heads 8 --max-position-embeddings 128 --seq-length "
         "128 "
         "--micro-batch-size 1 --global-batch-size 64 --bf16 --vocab-size 512 --num-experts 8 "
         "--expert-model-parallel-size 8 " +
         more + ")\ntorchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py ${ARGS[@]}\n";
}

std::string nemo_mixture(const std::string& more) {
  return "trainer: {devices: 8, num_nodes: 1, precision: bf16}\n"
         "model: {mcore_gpt: true, transformer_engine: true, megatron_amp_O2: true, micro_batch_size: 1,\n"
         "  global_batch_size: 64, encoder_seq_length: 128, num_layers: 4, hidden_size: 64, num_attention_heads: 4,\n"
         "  override_vocab_size: 512, optim: {name: mcore_distributed_optim}, num_moe_experts: 8,\n"
         "  expert_model_parallel_size: 8, " +
         more + "}\n";
}

std::string dispatcher_of(const launch::Imported& read) {
  const config::Node* chosen = config::find_path(read.experiment, "model.moe.dispatcher");
  return chosen == nullptr ? "" : chosen->text;
}

// Eight experts, on as many ranks of eight as `ep`.
launch::Exported exported_mixture(const char* framework, const std::string& routing, int ep) {
  core::Diagnostics problems;
  const config::Node node = config::parse_text(R"(
model: {layers: 4, hidden: 512, heads: 8, ffn: 2048, gated_mlp: false, vocab: 512, tied_embeddings: true,
        moe: {experts: 8, top_k: 2, ffn: 1024, )" + routing +
                                                   R"(}}
cluster: {file: dgx-h100, nodes: 1}
training: {seq_len: 128, global_batch: 8, precision: bf16, framework: megatron}
strategy: {ep: )" + std::to_string(ep) + "}\n",
                                               config::Syntax::yaml, "small.yaml", problems);
  problems.raise_if_errors();
  return launch::export_arguments(framework, experiment::Job(experiment::read(node), shipped()), shipped());
}

std::string unsaid_of(const launch::Exported& exported, const std::string& subject) {
  for (const launch::Unsaid& each : exported.unsaid)
    if (each.subject == subject) return each.reason;
  return {};
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("Megatron-LM's flex dispatcher is DeepEP, however its backend is said") {
  const auto read = [](const std::string& more) { return imported("megatron", megatron_mixture(more)); };
  CHECK(dispatcher_of(read("")) == "allgather");  // the default
  CHECK(dispatcher_of(read("--moe-token-dispatcher-type alltoall")) == "alltoall");
  const std::string flex = "--moe-token-dispatcher-type flex ";
  for (const char* more : {"", "--moe-enable-deepep", "--moe-flex-dispatcher-backend deepep",
                           "--moe-enable-deepep --moe-flex-dispatcher-backend deepep"}) {
    CAPTURE(more);
    const launch::Imported deepep = read(flex + more);
    CHECK(dispatcher_of(deepep) == "deepep");
    CHECK(said_of(deepep, "--moe-enable-deepep").empty());
    CHECK(said_of(deepep, "--moe-flex-dispatcher-backend").empty());
  }
  const launch::Imported hybrid = read(flex + "--moe-flex-dispatcher-backend hybridep");
  CHECK(dispatcher_of(hybrid) == "deepep");
  CHECK(has(said_of(hybrid, "--moe-flex-dispatcher-backend"), "read as DeepEP"));
  const launch::Imported other = read("--moe-token-dispatcher-type alltoall --moe-flex-dispatcher-backend deepep");
  CHECK(dispatcher_of(other) == "alltoall");
  CHECK(has(said_of(other, "--moe-flex-dispatcher-backend"), "without --moe-token-dispatcher-type flex"));
}

TEST_CASE("Dispatchers that Megatron-Core refuses, or that Cairn does not have, are refused") {
  const auto refused = [](const std::string& more) { return refusal("megatron", megatron_mixture(more)); };
  const std::string flex = "--moe-token-dispatcher-type flex ";
  CHECK(has(refused("--moe-token-dispatcher-type pigeon"), "use one of alltoall, allgather, flex"));
  CHECK(has(refused("--moe-enable-deepep"), "without --moe-token-dispatcher-type flex"));
  CHECK(has(refused(flex + "--moe-flex-dispatcher-backend ncclep"), "use deepep or hybridep"));
  CHECK(has(refused(flex + "--moe-enable-deepep --moe-flex-dispatcher-backend hybridep"), "keep one of the two"));
  const std::string padded = "--moe-expert-capacity-factor 1.0 --moe-pad-expert-input-to-capacity";
  CHECK(has(refused(flex + padded), "with DeepEP, which Megatron-Core refuses"));
  CHECK(refused(flex + "--moe-flex-dispatcher-backend hybridep " + padded) == "accepted");
  CHECK(refused("--moe-token-dispatcher-type alltoall " + padded) == "accepted");
}

TEST_CASE("A fused router is said to be a key of profiles") {
  const launch::Imported read = imported("megatron", megatron_mixture("--moe-router-fusion"));
  CHECK(has(said_of(read, "--moe-router-fusion"), "kernels.fused_router"));
}

TEST_CASE("NeMo hands the same words to Megatron-Core") {
  const auto read = [](const std::string& more) { return imported("nemo", nemo_mixture(more)); };
  const std::string flex = "moe_token_dispatcher_type: flex";
  CHECK(dispatcher_of(read("bias: true")) == "allgather");
  CHECK(dispatcher_of(read(flex + ", moe_enable_deepep: true")) == "deepep");
  CHECK(said_of(read(flex + ", moe_enable_deepep: true"), "model.moe_enable_deepep").empty());
  CHECK(dispatcher_of(read("moe_token_dispatcher_type: alltoall, moe_enable_deepep: false")) == "alltoall");
  CHECK(has(refusal("nemo", nemo_mixture("moe_enable_deepep: true")), "moe_token_dispatcher_type flex"));
}

TEST_CASE("DeepEP is exported with the switch that Megatron-Core asserts, and comes back") {
  const launch::Exported megatron = exported_mixture("megatron", "dispatcher: deepep", 8);
  INFO(megatron.text);
  CHECK(has(megatron.text, "--moe-token-dispatcher-type flex\n"));
  CHECK(has(megatron.text, "--moe-enable-deepep\n"));
  CHECK(dispatcher_of(imported("megatron", megatron.text)) == "deepep");
  const launch::Exported nemo = exported_mixture("nemo", "dispatcher: deepep", 8);
  INFO(nemo.text);
  CHECK(has(nemo.text, "moe_token_dispatcher_type: flex\n"));
  CHECK(has(nemo.text, "moe_enable_deepep: true\n"));
  CHECK(dispatcher_of(imported("nemo", nemo.text)) == "deepep");
  for (const char* framework : {"megatron", "nemo"}) {
    const launch::Exported other = exported_mixture(framework, "dispatcher: alltoall", 8);
    CHECK_FALSE(has(other.text, "deepep"));
    CHECK(dispatcher_of(imported(framework, other.text)) == "alltoall");
  }
}

TEST_CASE("Where Megatron-Core refuses DeepEP, an export says so and has an all-to-all instead") {
  for (const char* framework : {"megatron", "nemo"}) {
    const launch::Exported padded = exported_mixture(framework, "dispatcher: deepep, capacity_factor: 1.25", 8);
    CHECK(has(unsaid_of(padded, "model.moe.dispatcher: deepep"), "padded to a capacity"));
    CHECK(dispatcher_of(imported(framework, padded.text)) == "alltoall");
    const launch::Exported alone = exported_mixture(framework, "dispatcher: deepep", 1);
    CHECK(has(unsaid_of(alone, "model.moe.dispatcher: deepep"), "every rank holds all experts"));
    CHECK_FALSE(has(alone.text, "enable-deepep"));
    CHECK_FALSE(has(alone.text, "enable_deepep"));
    CHECK(dispatcher_of(imported(framework, alone.text)) == "alltoall");
  }
}
