// Parameters of published models against the tensors of their checkpoints: each list below is written from the module
// definitions of the transformers library (models/<family>/modeling_*.py, 4.57), tensor by tensor.
#include <cmath>
#include <cstdint>
#include <vector>

#include "catch.h"

#include "cairn/config/read.h"
#include "cairn/models/huggingface.h"
#include "cairn/models/transformer.h"
#include "support/source_dir.h"

namespace cairn::models {
namespace {

// `count` tensors of one name and shape.
struct Tensors {
  const char* name;
  std::int64_t count;
  std::vector<std::int64_t> shape;
};

std::int64_t sum(const std::vector<Tensors>& checkpoint) {
  std::int64_t total = 0;
  for (const Tensors& each : checkpoint) {
    std::int64_t elements = each.count;
    for (const std::int64_t extent : each.shape) elements *= extent;
    total += elements;
  }
  return total;
}

ParameterCount counted(const std::string& reference) {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(reference, config::Syntax::yaml, "model", diagnostics);
  const config::Loader loader({cairn::testing::source_dir() + "/configs"});
  const TransformerConfig config = read_model(node, loader, diagnostics);
  for (const core::Diagnostic& each : diagnostics.all()) INFO(each.to_string());
  REQUIRE_FALSE(diagnostics.has_errors());
  return count_parameters(config, build_transformer(config, BuildOptions{}));
}

// In billions, to the nearest `step` of them.
double billions(std::int64_t count, double step = 1.0) {
  return std::round(static_cast<double>(count) / 1e9 / step) * step;
}

}  // namespace

TEST_CASE("Gemma 2 9B: its checkpoint's tensors", "[models][checkpoints]") {
  const std::int64_t total = sum({
      {"embed_tokens", 1, {256000, 3584}},
      {"q_proj", 42, {16 * 256, 3584}},
      {"k_proj, v_proj", 42 * 2, {8 * 256, 3584}},
      {"o_proj", 42, {3584, 16 * 256}},
      {"gate_proj, up_proj, down_proj", 42 * 3, {14336, 3584}},
      {"input, post_attention, pre_feedforward, post_feedforward layernorm", 42 * 4, {3584}},
      {"norm", 1, {3584}},
  });
  CHECK(counted("gemma-2-9b").total == total);
  CHECK(billions(total) == 9);
}

TEST_CASE("Gemma 3 27B, its text part: its checkpoint's tensors", "[models][checkpoints]") {
  const std::int64_t total = sum({
      {"embed_tokens", 1, {262208, 5376}},
      {"q_proj", 62, {32 * 128, 5376}},
      {"k_proj, v_proj", 62 * 2, {16 * 128, 5376}},
      {"o_proj", 62, {5376, 32 * 128}},
      {"q_norm, k_norm", 62 * 2, {128}},
      {"gate_proj, up_proj, down_proj", 62 * 3, {21504, 5376}},
      {"input, post_attention, pre_feedforward, post_feedforward layernorm", 62 * 4, {5376}},
      {"norm", 1, {5376}},
  });
  CHECK(counted("gemma-3-27b").total == total);
  CHECK(billions(total) == 27);
}

TEST_CASE("Llama 4, its text part: its checkpoint's tensors", "[models][checkpoints]") {
  const std::vector<Tensors> common{
      {"embed_tokens, lm_head", 2, {202048, 5120}},
      {"q_proj", 48, {40 * 128, 5120}},
      {"k_proj, v_proj", 48 * 2, {8 * 128, 5120}},
      {"o_proj", 48, {5120, 40 * 128}},
      {"input_layernorm, post_attention_layernorm", 48 * 2, {5120}},
      {"norm", 1, {5120}},
  };
  const auto mixture = [](std::int64_t layers, std::int64_t experts) {
    return sum({{"router", layers, {experts, 5120}},
                {"experts.gate_up_proj", layers, {experts, 5120, 2 * 8192}},
                {"experts.down_proj", layers, {experts, 8192, 5120}},
                {"shared_expert.gate_proj, up_proj, down_proj", layers * 3, {8192, 5120}}});
  };
  // What is left out of the file, which the published totals hold.
  const std::int64_t vision = sum({
      {"patch_embedding.linear", 1, {1408, 3 * 14 * 14}},
      {"class_embedding", 1, {1408}},
      {"positional_embedding_vlm", 1, {24 * 24 + 1, 1408}},
      {"layernorm_pre, layernorm_post, weight and bias", 4, {1408}},
      {"q_proj, k_proj, v_proj, o_proj", 34 * 4, {1408, 1408}},
      {"their biases", 34 * 4, {1408}},
      {"fc1, fc2", 34 * 2, {5632, 1408}},
      {"their biases", 34, {5632 + 1408}},
      {"input_layernorm, post_attention_layernorm, weight and bias", 34 * 4, {1408}},
      {"vision_adapter.mlp.fc1", 1, {4096, 5632}},
      {"vision_adapter.mlp.fc2", 1, {4096, 4096}},
      {"multi_modal_projector.linear_1", 1, {5120, 4096}},
  });
  const std::int64_t scout = sum(common) + mixture(48, 16);
  CHECK(counted("llama-4-scout").total == scout);
  CHECK(billions(scout + vision) == 109);
  CHECK(billions(counted("llama-4-scout").active) == 17);
  const std::int64_t maverick =
      sum(common) + mixture(24, 128) + sum({{"gate_proj, up_proj, down_proj", 24 * 3, {16384, 5120}}});
  CHECK(counted("llama-4-maverick").total == maverick);
  CHECK(billions(maverick + vision, 10) == 400);
  CHECK(billions(counted("llama-4-maverick").active) == 17);
}

TEST_CASE("Phi-3 mini: its checkpoint's tensors", "[models][checkpoints]") {
  const std::int64_t total = sum({
      {"embed_tokens, lm_head", 2, {32064, 3072}},
      {"qkv_proj", 32, {3 * 3072, 3072}},
      {"o_proj", 32, {3072, 3072}},
      {"gate_up_proj", 32, {2 * 8192, 3072}},
      {"down_proj", 32, {3072, 8192}},
      {"input_layernorm, post_attention_layernorm", 32 * 2, {3072}},
      {"norm", 1, {3072}},
  });
  CHECK(counted("phi-3-mini").total == total);
  CHECK(billions(total, 0.1) == Approx(3.8));
}

TEST_CASE("GPT-OSS: its checkpoint's tensors, experts unpacked", "[models][checkpoints]") {
  const auto checkpoint = [](std::int64_t layers, std::int64_t experts) {
    return sum({
        {"embed_tokens, lm_head", 2, {201088, 2880}},
        {"q_proj", layers, {64 * 64, 2880}},
        {"q_proj.bias", layers, {64 * 64}},
        {"k_proj, v_proj", layers * 2, {8 * 64, 2880}},
        {"their biases", layers * 2, {8 * 64}},
        {"o_proj", layers, {2880, 64 * 64}},
        {"o_proj.bias", layers, {2880}},
        {"sinks", layers, {64}},
        {"router.weight", layers, {experts, 2880}},
        {"router.bias", layers, {experts}},
        {"experts.gate_up_proj", layers, {experts, 2880, 2 * 2880}},
        {"experts.gate_up_proj_bias", layers, {experts, 2 * 2880}},
        {"experts.down_proj", layers, {experts, 2880, 2880}},
        {"experts.down_proj_bias", layers, {experts, 2880}},
        {"input_layernorm, post_attention_layernorm", layers * 2, {2880}},
        {"norm", 1, {2880}},
    });
  };
  CHECK(counted("gpt-oss-20b").total == checkpoint(24, 32));
  CHECK(billions(checkpoint(24, 32), 0.1) == Approx(20.9));  // model card, table 1
  const ParameterCount large = counted("{hf: gpt-oss-20b, layers: 36, moe: {experts: 128, top_k: 4, ffn: 2880}}");
  CHECK(large.total == checkpoint(36, 128));
  CHECK(billions(large.total, 0.1) == Approx(116.8));
  // The card counts the head and not the embedding.
  CHECK(billions(large.active - 201088LL * 2880, 0.1) == Approx(5.1));
}

TEST_CASE("GLM-4.5: its checkpoint's tensors, the module for a further token apart", "[models][checkpoints]") {
  const auto attention = [](std::int64_t layers) {
    return sum({{"q_proj", layers, {96 * 128, 5120}},
                {"q_proj.bias", layers, {96 * 128}},
                {"k_proj, v_proj", layers * 2, {8 * 128, 5120}},
                {"their biases", layers * 2, {8 * 128}},
                {"o_proj", layers, {5120, 96 * 128}},
                {"q_norm, k_norm", layers * 2, {128}},
                {"input_layernorm, post_attention_layernorm", layers * 2, {5120}}});
  };
  const auto mixture = [](std::int64_t layers) {
    return sum({{"gate.weight", layers, {160, 5120}},
                {"gate.e_score_correction_bias", layers, {160}},
                {"experts.*.gate_proj, up_proj, down_proj", layers * 160 * 3, {1536, 5120}},
                {"shared_experts.gate_proj, up_proj, down_proj", layers * 3, {1536, 5120}}});
  };
  const std::int64_t tables = sum({{"embed_tokens, lm_head", 2, {151552, 5120}}});
  const std::int64_t total = tables + attention(92) + mixture(89) +
                             sum({{"gate_proj, up_proj, down_proj", 3 * 3, {12288, 5120}}, {"norm", 1, {5120}}});
  const std::int64_t further = attention(1) + mixture(1) +
                               sum({{"eh_proj", 1, {5120, 2 * 5120}}, {"enorm, hnorm, shared_head.norm", 3, {5120}}});
  const ParameterCount count = counted("{hf: glm-4.5, mtp: {depth: 1}}");
  CHECK(count.total == total);
  CHECK(count.prediction == further);
  CHECK(counted("glm-4.5").total == total);
  // arXiv 2508.06471, table 1: with that module, without the two tables.
  CHECK(billions(total + further - tables) == 355);
}

TEST_CASE("Kimi K2: its checkpoint's tensors", "[models][checkpoints]") {
  const std::int64_t total = sum({
      {"embed_tokens, lm_head", 2, {163840, 7168}},
      {"q_a_proj", 61, {1536, 7168}},
      {"q_a_layernorm", 61, {1536}},
      {"q_b_proj", 61, {64 * (128 + 64), 1536}},
      {"kv_a_proj_with_mqa", 61, {512 + 64, 7168}},
      {"kv_a_layernorm", 61, {512}},
      {"kv_b_proj", 61, {64 * (128 + 128), 512}},
      {"o_proj", 61, {7168, 64 * 128}},
      {"input_layernorm, post_attention_layernorm", 61 * 2, {7168}},
      {"gate_proj, up_proj, down_proj", 3, {18432, 7168}},
      {"gate.weight", 60, {384, 7168}},
      {"gate.e_score_correction_bias", 60, {384}},
      {"experts.*.gate_proj, up_proj, down_proj", 60 * 384 * 3, {2048, 7168}},
      {"shared_experts.gate_proj, up_proj, down_proj", 60 * 3, {2048, 7168}},
      {"norm", 1, {7168}},
  });
  CHECK(counted("kimi-k2").total == total);
  CHECK(billions(total, 100) == 1000);
  CHECK(billions(counted("kimi-k2").active) == 33);  // 32 without the embedding's rows, which no product reads
  CHECK(billions(counted("kimi-k2").active - 163840LL * 7168) == 32);
}

TEST_CASE("OLMo 2: its checkpoint's tensors", "[models][checkpoints]") {
  const auto checkpoint = [](std::int64_t layers, std::int64_t h, std::int64_t kv, std::int64_t ffn) {
    return sum({
        {"embed_tokens, lm_head", 2, {100352, h}},
        {"q_proj, o_proj", layers * 2, {h, h}},
        {"k_proj, v_proj", layers * 2, {kv, h}},
        {"q_norm", layers, {h}},
        {"k_norm", layers, {kv}},
        {"gate_proj, up_proj, down_proj", layers * 3, {ffn, h}},
        {"post_attention_layernorm, post_feedforward_layernorm", layers * 2, {h}},
        {"norm", 1, {h}},
    });
  };
  CHECK(counted("olmo-2-7b").total == checkpoint(32, 4096, 4096, 11008));
  CHECK(billions(checkpoint(32, 4096, 4096, 11008)) == 7);
  // 32B has 8 key heads of 128.
  CHECK(counted("{hf: olmo-2-7b, layers: 64, hidden: 5120, heads: 40, kv_heads: 8, ffn: 27648}").total ==
        checkpoint(64, 5120, 1024, 27648));
  CHECK(billions(checkpoint(64, 5120, 1024, 27648)) == 32);
}

TEST_CASE("Falcon: its checkpoint's tensors, the tied head once", "[models][checkpoints]") {
  const std::int64_t one_key = sum({
      {"word_embeddings", 1, {65024, 4544}},
      {"query_key_value", 32, {4544 + 2 * 64, 4544}},
      {"dense", 32, {4544, 4544}},
      {"dense_h_to_4h, dense_4h_to_h", 32 * 2, {4 * 4544, 4544}},
      {"input_layernorm, weight and bias", 32 * 2, {4544}},
      {"ln_f, weight and bias", 2, {4544}},
  });
  CHECK(counted("falcon-7b").total == one_key);
  CHECK(billions(one_key) == 7);
  const std::int64_t grouped = sum({
      {"word_embeddings", 1, {65024, 14848}},
      {"query_key_value", 80, {(232 + 2 * 8) * 64, 14848}},
      {"dense", 80, {14848, 14848}},
      {"dense_h_to_4h, dense_4h_to_h", 80 * 2, {4 * 14848, 14848}},
      {"ln_attn, ln_mlp, weight and bias", 80 * 4, {14848}},
      {"ln_f, weight and bias", 2, {14848}},
  });
  CHECK(counted("falcon-180b").total == grouped);
  CHECK(billions(grouped, 10) == 180);
}

TEST_CASE("GPT-NeoX 20B: its checkpoint's tensors", "[models][checkpoints]") {
  const std::int64_t total = sum({
      {"embed_in, embed_out", 2, {50432, 6144}},
      {"query_key_value", 44, {3 * 6144, 6144}},
      {"query_key_value.bias", 44, {3 * 6144}},
      {"dense", 44, {6144, 6144}},
      {"dense.bias", 44, {6144}},
      {"dense_h_to_4h, dense_4h_to_h", 44 * 2, {24576, 6144}},
      {"their biases", 44, {24576 + 6144}},
      {"input_layernorm, post_attention_layernorm, weight and bias", 44 * 4, {6144}},
      {"final_layer_norm, weight and bias", 2, {6144}},
  });
  CHECK(counted("gpt-neox-20b").total == total);
  CHECK(total == 20'554'567'680);  // Black et al. 2022, arXiv 2204.06745, section 2: 20 B, the count of its release
}

TEST_CASE("Qwen3-Next 80B: its checkpoint's tensors, the module for a further token apart", "[models][checkpoints]") {
  const auto attention = [](std::int64_t layers) {
    return sum({{"q_proj, with gates", layers, {2 * 16 * 256, 2048}},
                {"k_proj, v_proj", layers * 2, {2 * 256, 2048}},
                {"o_proj", layers, {2048, 16 * 256}},
                {"q_norm, k_norm", layers * 2, {256}}});
  };
  const auto rest = [](std::int64_t layers) {
    return sum({{"gate", layers, {512, 2048}},
                {"experts.*.gate_proj, up_proj, down_proj", layers * 512 * 3, {512, 2048}},
                {"shared_expert.gate_proj, up_proj, down_proj", layers * 3, {512, 2048}},
                {"shared_expert_gate", layers, {1, 2048}},
                {"input_layernorm, post_attention_layernorm", layers * 2, {2048}}});
  };
  const std::int64_t key = 16 * 128, value = 32 * 128;
  const std::int64_t total = attention(12) + rest(48) +
                             sum({{"embed_tokens, lm_head", 2, {151936, 2048}},
                                  {"in_proj_qkvz", 36, {2 * key + 2 * value, 2048}},
                                  {"in_proj_ba", 36, {2 * 32, 2048}},
                                  {"conv1d", 36, {2 * key + value, 1, 4}},
                                  {"dt_bias, A_log", 36 * 2, {32}},
                                  {"linear_attn.norm", 36, {128}},
                                  {"out_proj", 36, {2048, value}},
                                  {"norm", 1, {2048}}});
  const std::int64_t further =
      attention(1) + rest(1) +
      sum({{"mtp.fc", 1, {2048, 2 * 2048}}, {"pre_fc_norm_embedding, pre_fc_norm_hidden, norm", 3, {2048}}});
  const ParameterCount count = counted("{hf: qwen3-next-80b-a3b, mtp: {depth: 1}}");
  CHECK(count.total == total);
  CHECK(count.prediction == further);
  CHECK(billions(total) == 80);
  // 3 B of products per token: all but the embedding and the head.
  CHECK(billions(counted("qwen3-next-80b-a3b").active - 2 * 151936LL * 2048) == 3);
}

}  // namespace cairn::models
