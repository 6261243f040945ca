// Small configurations of NeMo, each with a few words whose meaning is known from NeMo's megatron_base_model.py and
// megatron_gpt_model.py.
#include <algorithm>

#include "imports.h"

using namespace cairn;
using cairn::testing::by_hand;
using cairn::testing::imported;
using cairn::testing::refusal;
using cairn::testing::resolved;
using cairn::testing::said_of;

namespace {

// A model of four layers on the eight devices of a node, with more words.
std::string small_nemo(const std::string& optimizer, const std::string& more) {
  return "trainer: {devices: 8, num_nodes: 1, precision: bf16}\n"
         "model: {mcore_gpt: true, transformer_engine: true, megatron_amp_O2: true, micro_batch_size: 1, "
         "global_batch_size: 64,\n"
         "  encoder_seq_length: 128, num_layers: 4, hidden_size: 64, num_attention_heads: 4, override_vocab_size: "
         "512,\n"
         "  optim: {" +
         optimizer + "}, " + more + "}\n";
}

constexpr const char* k_small = R"(
model: {layers: 4, hidden: 64, heads: 4, ffn: 256, gated_mlp: false, vocab: 512, tied_embeddings: true, norm: layernorm,
        position: learned, max_positions: 128, bias: true, dropout: 0.1}
cluster: {file: dgx-h100, nodes: 1}
training: {seq_len: 128, global_batch: 64, optimizer: adamw, framework: megatron, kernels: {loss: unfused})";

}  // namespace

TEST_CASE("How NeMo shares the state of data parallelism: optimizers, their buckets, FSDP") {
  const auto same = [](const std::string& optimizer, const std::string& more, const std::string& precision,
                       const std::string& strategy) {
    CAPTURE(optimizer, more);
    CHECK(resolved(imported("nemo", small_nemo(optimizer, more)).experiment) ==
          by_hand(std::string(k_small) + ", precision: " + precision + "}\nstrategy: {" + strategy + "}\n"));
  };
  // Without a distributed optimizer chunks of 125 MiB are reduced beside the backward pass; not with pipeline stages.
  same("name: fused_adam", "bias: true", "bf16",
       "zero: 0, overlap: {dp: {reduce: true, gather: false, bucket: 125 MiB}}");
  same("name: fused_adam", "async_grad_allreduce: false", "bf16", "zero: 0, overlap: {dp: false}");
  same("name: fused_adam", "pipeline_model_parallel_size: 2", "bf16", "pp: 2, zero: 0, overlap: {dp: false}");
  // Apex overlaps reductions where nothing is said, and counts MiB: 100 of them.
  same("name: distributed_fused_adam", "bias: true", "bf16",
       "zero: 1, overlap: {dp: {reduce: true, gather: false, bucket: 100 MiB}}");
  same("name: distributed_fused_adam, bucket_cap_mb: 25, overlap_param_sync: true, grad_sync_dtype: bf16", "bias: true",
       "bf16-bf16-gradients", "zero: 1, overlap: {dp: {reduce: true, gather: true, bucket: 25 MiB}}");
  // Megatron-Core counts elements: 1,000,000 of two bytes.
  same("name: mcore_distributed_optim, ddp_bucket_size: 1000000, grad_sync_dtype: bf16", "bias: true",
       "bf16-bf16-gradients", "zero: 1, overlap: {dp: {reduce: false, gather: false, bucket: 2000000 B}}");
  same("name: mcore_distributed_optim, num_distributed_optimizer_instances: 2", "bias: true", "bf16",
       "zero: {stage: 1, replicate: 2}, overlap: {dp: false}");
  same("name: fused_adam", "fsdp: true", "bf16", "zero: {stage: 3, reshard_after_forward: true}, overlap: {dp: true}");
  same("name: fused_adam", "fsdp: true, fsdp_sharding_strategy: grad, fsdp_grad_reduce_dtype: bf16",
       "{recipe: bf16, reduce: bf16}", "zero: {stage: 3, reshard_after_forward: false}, overlap: {dp: true}");
  // Ends of the pipeline: 3 layers before one.
  same("name: mcore_distributed_optim", "pipeline_model_parallel_size: 2, num_layers_in_last_pipeline_stage: 1", "bf16",
       "pp: 2, zero: 1, stages: [3, 1], overlap: {dp: false}");
}

// In Megatron-Core's layers masked_softmax_fusion is off where nothing is said, in NeMo's own it is on; Transformer
// Engine has a switch of its own, which is on.
TEST_CASE("Which attention NeMo's words choose") {
  const auto same = [](const std::string& layers, const std::string& more, const std::string& kernel) {
    CAPTURE(layers, more);
    const std::string usual = "mcore_gpt: true, transformer_engine: true";
    std::string text = small_nemo("name: mcore_distributed_optim", more);
    text.replace(text.find(usual), usual.size(), layers);
    const launch::Imported read = imported("nemo", text);
    const config::Node* chosen = config::find_path(read.experiment, "training.kernels.attention");
    REQUIRE(chosen != nullptr);
    CHECK(chosen->text == kernel);
    return read;
  };
  const std::string core = "mcore_gpt: true, transformer_engine: false", own = "mcore_gpt: false";
  same(core, "bias: true", "unfused");
  same(core, "masked_softmax_fusion: true", "fused-softmax");
  same(own, "bias: true", "fused-softmax");
  same(own, "masked_softmax_fusion: false", "unfused");
  const auto flash = same(own, "use_flash_attention: true, masked_softmax_fusion: false", "flash2");
  CHECK(said_of(flash, "model.masked_softmax_fusion") == "no scores are kept");
  const std::string engine = "mcore_gpt: true, transformer_engine: true";
  const auto kept = same(engine, "attention_backend: unfused, masked_softmax_fusion: false", "fused-softmax");
  CHECK(said_of(kept, "model.masked_softmax_fusion") == "Transformer Engine's attention does not read it");
  const auto local = same(core, "attention_backend: flash", "unfused");
  CHECK(said_of(local, "model.attention_backend") == "of Transformer Engine's attention alone");
}

// Megatron-Core's own layers have Apex's FusedLayerNorm, which is no RMSNorm, and no products beside communication.
TEST_CASE("Attention that keeps its scores unfused is exported where a plan needs no Transformer Engine") {
  const auto exported = [](const std::string& norm, const std::string& strategy) {
    std::string text = std::string(k_small) + ", precision: bf16}\nstrategy: {" + strategy + "}\n";
    const std::string usual_norm = "layernorm", usual_kernel = "loss: unfused";
    text.replace(text.find(usual_norm), usual_norm.size(), norm);
    text.replace(text.find(usual_kernel), usual_kernel.size(), "loss: unfused, attention: unfused");
    core::Diagnostics problems;
    const config::Node node = config::parse_text(text, config::Syntax::yaml, "small.yaml", problems);
    problems.raise_if_errors();
    const config::Loader files = cairn::testing::shipped();
    return launch::export_arguments("nemo", experiment::Job(experiment::read(node), files), files);
  };
  const auto by_engine = [&](const std::string& norm, const std::string& strategy) {
    CAPTURE(norm, strategy);
    const launch::Exported found = exported(norm, strategy);
    const bool engine = found.text.find("transformer_engine: true") != std::string::npos;
    CHECK(engine != (found.text.find("transformer_engine: false") != std::string::npos));
    CHECK(engine == std::any_of(found.unsaid.begin(), found.unsaid.end(), [](const launch::Unsaid& each) {
            return each.subject.starts_with("training.kernels.attention");
          }));
    return engine;
  };
  CHECK_FALSE(by_engine("layernorm", "zero: 0"));
  CHECK(by_engine("rmsnorm", "zero: 0"));
  CHECK(by_engine("layernorm", "zero: 0, tp: 2, sequence_parallel: true, overlap: {tp: {kind: chunked}}"));
}

TEST_CASE("What Apex's optimizer does otherwise is said, and transfers of 1f1b that are not batched") {
  const auto notes = [](const std::string& optimizer, const std::string& more) {
    return imported("nemo", small_nemo(optimizer, more)).notes.size();
  };
  CHECK(notes("name: mcore_distributed_optim", "bias: true") == 0);
  CHECK(notes("name: distributed_fused_adam", "bias: true") == 2);  // buckets of a layer; 16 bits beside those of bf16
  CHECK(notes("name: distributed_fused_adam, store_params: true", "bias: true") == 1);
  const auto pipeline =
      imported("nemo", small_nemo("name: mcore_distributed_optim",
                                  "pipeline_model_parallel_size: 2, batch_p2p_comm: false, overlap_p2p_comm: false"));
  CHECK(said_of(pipeline, "model.batch_p2p_comm").find("modelled as batched") != std::string::npos);
}

// What the step depends on; a reference in a word that has no counterpart is listed with it.
TEST_CASE("A reference that leads nowhere is refused where it is read, and listed elsewhere") {
  const std::string found =
      refusal("nemo", small_nemo("name: mcore_distributed_optim, grad_sync_dtype: '${missing}'", "bias: true"));
  INFO(found);
  CHECK(found.find("train:4:") != std::string::npos);
  CHECK(found.find("model.optim.grad_sync_dtype: '${missing}' cannot be resolved") != std::string::npos);
  const auto read = imported("nemo", small_nemo("name: mcore_distributed_optim", "exp_dir: '${missing}'"));
  CHECK(said_of(read, "model.exp_dir") == "has no counterpart");
}

TEST_CASE("What no configuration of NeMo 1 says is refused") {
  const auto says = [](const std::string& text, const std::string& part) {
    const std::string found = refusal("nemo", text, {.nodes = 1});
    INFO(found);
    return found.find(part) != std::string::npos;
  };
  CHECK(says("", "no settings of a model"));
  CHECK(says("a: [1", "train:"));
  CHECK(says("parallelism: {dp: 1}", "no settings of a model"));
  CHECK(says("# a recipe\nimport nemo_run as run\n", "train:2:1: error: a program: recipes of NeMo 2 are Python"));
  CHECK(says("model: {num_layers: two}", "train:1:21: error: model.num_layers: 'two' is no count"));
  CHECK(says("model: {num_layers: 2}", "model.hidden_size: is missing"));
  CHECK(says("model: {num_layers: 2}", "model.optim.name: is missing"));
  CHECK(says("model: {num_layers: '${.depth}'}", "'${.depth}' is no count"));
  CHECK(says("model: {num_layers: '${.num_layers}'}", "is no count"));  // itself
  CHECK(says(small_nemo("name: adafactor", "bias: true"), "'adafactor' has no counterpart"));
  CHECK(says(small_nemo("name: mcore_distributed_optim", "fsdp: true"), "beside fsdp: true, which NeMo refuses"));
  CHECK(says(small_nemo("name: fused_adam", "fsdp: true, fsdp_sharding_strategy: hybrid"), "use full or grad"));
  CHECK(says(small_nemo("name: mcore_distributed_optim, overlap_param_sync: true", "bias: true"),
             "without overlap_grad_sync"));
  CHECK(says(small_nemo("name: fused_adam", "fp8: true"), "say fp8_hybrid: true"));
  CHECK(says(small_nemo("name: fused_adam", "activation: tanh"), "'tanh' is no activation of NeMo"));
  CHECK(says(small_nemo("name: fused_adam", "position_embedding_type: ALiBi"), "'ALiBi' has no counterpart"));
  CHECK(says(small_nemo("name: fused_adam", "name: megatron_falcon_gpt"), "builds layers of its own"));
  CHECK(says(small_nemo("name: fused_adam", "data: {seq_length: 64}"), "64 beside encoder_seq_length 128"));
  CHECK(says(small_nemo("name: fused_adam", "pipeline_model_parallel_size: 2, overlap_p2p_comm: true"),
             "model.overlap_p2p_comm: without virtual stages, which Megatron-Core refuses"));
  CHECK(says(small_nemo("name: fused_adam", "bias: 3"), "'3' is neither true nor false"));
  CHECK(says(
      small_nemo("name: fused_adam",
                 "pipeline_model_parallel_size: 2, virtual_pipeline_model_parallel_size: 2, overlap_p2p_comm: true"),
      "say batch_p2p_comm: false"));
}
