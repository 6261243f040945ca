// Configurations of pytorch/torchtitan at 238fa99 (2026-02), torchtitan/models/llama3/train_configs, by the file each
// names: their words and values, written afresh. What is expected of each was written by reading it beside
// torchtitan/config/job_config.py.
#include "imports.h"

using namespace cairn;
using cairn::testing::by_hand;
using cairn::testing::imported;
using cairn::testing::refusal;
using cairn::testing::resolved;
using cairn::testing::said_of;

TEST_CASE("llama3_8b.toml: fully sharded, operators recomputed") {
  const auto read = imported("torchtitan", R"toml(
# for 64 A100
[job]
description = "Llama 3 8B training"
[model]
name = "llama3"
flavor = "8B"
# converters = ["float8"]
[optimizer]
name = "AdamW"
lr = 3e-4
[training]
local_batch_size = 1
seq_len = 8192
max_norm = 1.0  # clipping
steps = 1000
dataset = "c4"
[parallelism]
data_parallel_replicate_degree = 1
data_parallel_shard_degree = -1
tensor_parallel_degree = 1
pipeline_parallel_degree = 1
context_parallel_degree = 1
[compile]
enable=false
components = ["model", "loss"]
[activation_checkpoint]
mode = "selective"  # ["none", "selective", "full"]
selective_ac_option = "op"
[quantize.linear.float8]
enable_fsdp_float8_all_gather = false
filter_fqns = ["output"]
)toml",
                             {.cluster = "dgx-a100", .nodes = 8});
  CHECK(resolved(read.experiment) == by_hand(R"(
model: {layers: 32, hidden: 4096, heads: 32, kv_heads: 8, ffn: 14336, gated_mlp: true, vocab: 128256,
        tied_embeddings: false, norm: rmsnorm, position: rope, bias: false}
cluster: {file: dgx-a100, nodes: 8}
training:
  seq_len: 8192
  global_batch: 64    # one sequence a rank
  tokens: 524288000   # 1000 steps
  optimizer: adamw
  framework: torchtitan
  precision: bf16
strategy: {zero: 3, recompute: per-op}
)"));
  CHECK(said_of(read, "training.max_norm") == "has no counterpart");
  CHECK(said_of(read, "training.dataset") == "has no counterpart");
  CHECK(said_of(read, "quantize.linear.float8.filter_fqns") == "has no counterpart");
}

TEST_CASE("llama3_405b.toml: FP8, asynchronous tensor parallelism, compiled") {
  const auto read = imported("torchtitan", R"toml(
[model]
name = "llama3"
flavor = "405B"
converters = ["float8"]
[training]
local_batch_size = 2
seq_len = 8192
[parallelism]
data_parallel_shard_degree = -1
tensor_parallel_degree = 8  # 8-way TP
enable_async_tensor_parallel = true
[activation_checkpoint]
mode = "full"
[compile]
enable=true
components = ["model", "loss"]
[quantize.linear.float8]
enable_fsdp_float8_all_gather = true
)toml",
                             {.nodes = 16});
  CHECK(resolved(read.experiment) == by_hand(R"(
model: {layers: 126, hidden: 16384, heads: 128, kv_heads: 8, ffn: 53248, gated_mlp: true, vocab: 128256,
        tied_embeddings: false, norm: rmsnorm, position: rope, bias: false}
cluster: {file: dgx-h100, nodes: 16}
training:
  seq_len: 8192
  global_batch: 32    # 16 data-parallel ranks with two
  optimizer: adamw
  framework: torchtitan
  precision: {recipe: fp8-current, dp_gather_wire: fp8_e4m3}
  kernels: {compiled: true}
strategy: {tp: 8, sequence_parallel: true, micro_batch: 2, zero: 3, recompute: full, overlap: {tp: {kind: chunked}}}
)"));
}

TEST_CASE("llama3_70b.toml with stages: two of a device, the ends a layer shorter") {
  const auto read = imported("torchtitan", R"toml(
[model]
name = "llama3"
flavor = "70B"
[training]
local_batch_size = 8
seq_len = 8192
[parallelism]
data_parallel_shard_degree = -1
tensor_parallel_degree = 8
pipeline_parallel_degree = 4
pipeline_parallel_schedule = "Interleaved1F1B"
[activation_checkpoint]
mode = "full"
)toml",
                             {.nodes = 8});
  // 82 layers with embedding and head on 8 stages: the first two have 11, the others 10.
  CHECK(resolved(read.experiment) == by_hand(R"(
model: {layers: 80, hidden: 8192, heads: 64, kv_heads: 8, ffn: 28672, gated_mlp: true, vocab: 128256,
        tied_embeddings: false, norm: rmsnorm, position: rope, bias: false}
cluster: {file: dgx-h100, nodes: 8}
training: {seq_len: 8192, global_batch: 16, optimizer: adamw, framework: torchtitan}
strategy:
  tp: 8
  pp: 4
  sequence_parallel: true
  micro_batch: 1      # pieces of a local batch of 8
  stages: [10, 11, 10, 10, 10, 10, 10, 9]
  schedule: {kind: interleaved-1f1b, chunks: 2}
  zero: {stage: 3, reshard_after_forward: false}   # kept for the other micro-batches
  recompute: full
)"));
}

TEST_CASE("debug_model.toml: every second layer recomputed; copies without shards") {
  const auto read = imported("torchtitan", R"toml(
[model]
flavor = "debugmodel"
[training]
local_batch_size = 8
[parallelism]
data_parallel_replicate_degree = 8
data_parallel_shard_degree = 1
pipeline_parallel_schedule = "Interleaved1F1B"
)toml",
                             {.nodes = 1});
  CHECK(resolved(read.experiment) == by_hand(R"(
model: {layers: 6, hidden: 256, heads: 16, ffn: 768, gated_mlp: true, vocab: 2048, tied_embeddings: false, norm: rmsnorm,
        position: rope, bias: false}
cluster: {file: dgx-h100, nodes: 1}
training: {seq_len: 2048, global_batch: 64, optimizer: adamw, framework: torchtitan}
strategy: {micro_batch: 8, zero: 0, recompute: {kind: full, layers: ["1", "3", "5"]}}
)"));
  CHECK(said_of(read, "parallelism.pipeline_parallel_schedule") == "without pipeline stages");
}

TEST_CASE("What is no such configuration is refused with its place") {
  const auto says = [](const std::string& text, const std::string& part) {
    const std::string found = refusal("torchtitan", text, {.nodes = 1});
    INFO(found);
    return found.find(part) != std::string::npos;
  };
  CHECK(says("[model]\nname = \"deepseek_v3\"", "train:2:8: error: model.name: 'deepseek_v3' is no model"));
  CHECK(says("[model]\nflavor = \"9B\"", "use one of debugmodel, 8B, 70B, 405B"));
  CHECK(says("[training]\nseq_len = \"long\"", "train:2:11: error: training.seq_len: 'long' is no count"));
  CHECK(says("[training]\nseq_len = 1\nseq_len = 2", "train:3:1: error: 'training.seq_len' a second time"));
  CHECK(says("[training\nseq_len = 1", "train:1:1: error: a table's name that is not closed"));
  CHECK(says("a = [1, 2", "train:1:5: error: an array that is not closed"));
  CHECK(says("a = 1979-05-27", "is no value"));
  CHECK(says("a = \"\"\"x\"\"\"", "over several lines"));
  CHECK(says("a = {b = 1}", "a value is missing"));
  CHECK(says("[[a]]", "an array of tables"));
  CHECK(says("", "no settings"));
  CHECK(says("[parallelism]\ndata_parallel_shard_degree = 3", "are not the 8 of data parallelism"));
  CHECK(says("[activation_checkpoint]\nmode = \"memory_budget\"", "has no counterpart in Cairn"));
  CHECK(says("[quantize.linear.float8]\nrecipe_name = \"rowwise\"\n[model]\nconverters = [\"float8\"]",
             "use tensorwise"));
}
