// Model files: our own block, Hugging Face's config.json, and what is wrong with either.
#include <string>

#include "catch.h"

#include "cairn/config/read.h"
#include "cairn/models/huggingface.h"
#include "small_configs.h"
#include "support/source_dir.h"

namespace cairn::models {
namespace {

using testing::mentions;

struct Outcome {
  TransformerConfig config;
  std::string problems = {};
};

Outcome read_text(const std::string& text, config::Syntax syntax = config::Syntax::yaml) {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(text, syntax, "model", diagnostics);
  const config::Loader loader({cairn::testing::source_dir() + "/configs"});
  Outcome outcome{.config = read_model(node, loader, diagnostics)};
  for (const core::Diagnostic& diagnostic : diagnostics.all()) outcome.problems += diagnostic.to_string() + "\n";
  return outcome;
}

TransformerConfig valid(const std::string& text, config::Syntax syntax = config::Syntax::yaml) {
  const Outcome outcome = read_text(text, syntax);
  CHECK(outcome.problems == "");
  return outcome.config;
}
TransformerConfig imported(const std::string& json) { return valid(json, config::Syntax::json); }

std::int64_t parameters(const TransformerConfig& config) {
  return build_transformer(config, BuildOptions{}).parameters();
}

}  // namespace

TEST_CASE("shipped models have their published parameter counts", "[models]") {
  const auto count = [](const std::string& name) { return parameters(valid(name)); };
  CHECK(count("llama-3.1-8b") == 8'030'261'248);
  CHECK(count("llama-3.1-70b") == 70'553'706'496);
  CHECK(count("llama-3.1-405b") == 405'853'388'800);
  CHECK(count("llama-2-7b") == 6'738'415'616);
  CHECK(count("llama-2-13b") == 13'015'864'320);
  CHECK(count("llama-2-70b") == 68'976'648'192);
  // 12 l h^2 + 13 l h + (V + s) h + 2 h: Narayanan et al. 2021, equation 2, and the final layernorm.
  const auto gpt = [](std::int64_t l, std::int64_t h, std::int64_t v) {
    return 12 * l * h * h + 13 * l * h + (v + 2048) * h + 2 * h;
  };
  CHECK(count("gpt3-175b") == gpt(96, 12288, 50257));
  CHECK(count("megatron-22b") == gpt(48, 6144, 51200));
  CHECK(count("megatron-175b") == gpt(96, 12288, 51200));
  CHECK(count("megatron-530b") == gpt(105, 20480, 51200));
  CHECK(count("megatron-1t") == gpt(128, 25600, 51200));
}

TEST_CASE("names, files, overriding keys", "[models]") {
  CHECK(valid("llama-3.1-8b").name == "llama-3.1-8b");
  CHECK(valid("gpt3-175b").name == "GPT-3 175B");
  CHECK(valid("{file: gpt3-175b, layers: 12}").layers == 12);
  const TransformerConfig cut = valid("{hf: llama-3.1-8b, layers: 4, dropout: 0.1}");
  CHECK(cut.layers == 4);
  CHECK(cut.dropout == 0.1);
  CHECK(cut.kv_head_count() == 8);
  CHECK(cut.norm == Norm::rmsnorm);
  CHECK_FALSE(cut.has_qkv_bias());
  CHECK(mentions(read_text("{file: gpt3-175b, layers: 0}").problems, "layers"));
  CHECK(mentions(read_text("{hf: llama-3.1-8b, hiden: 4}").problems, "did you mean 'hidden'"));
  CHECK(mentions(read_text("llama-3.1-7b").problems, "llama-"));
}

TEST_CASE("an inline block", "[models]") {
  const TransformerConfig config = valid(
      "kind: transformer\nlayers: 12\nhidden: 768\nheads: 12\nkv_heads: 4\nffn: 2048\ngated_mlp: true\nvocab: 32000\n"
      "tied_embeddings: false\nnorm: rmsnorm\nposition: rope\nbias: false\nblocks: [{repeat: 5, attention: {sliding: "
      "1024}}, {repeat: 1}]\n");
  CHECK(config.activation_function() == Activation::silu);
  CHECK(config.head_size() == 64);
  REQUIRE(config.blocks.size() == 2);
  CHECK(config.blocks[0].attention == AttentionPattern{.kind = AttentionKind::sliding, .window = 1024});
  CHECK(config.attention_of(config.blocks[1]) == AttentionPattern{});
  // Written out and read back, it is the same block.
  core::Diagnostics diagnostics;
  TransformerConfig again;
  config::read(config::parse_text(config::to_json(config), config::Syntax::json, "again", diagnostics), again,
               diagnostics);
  CHECK_FALSE(diagnostics.has_errors());
  CHECK(config::to_json(again) == config::to_json(config));
}

TEST_CASE("what is wrong with a block is said with its place", "[models]") {
  const std::string shape = "layers: 12\nhidden: 768\nheads: 12\nffn: 2048\nvocab: 32000\n";
  CHECK(mentions(read_text(shape + "tied_embeddings: true\n").problems, "model.gated_mlp"));
  CHECK(mentions(read_text(shape + "gated_mlp: true\n").problems, "model.tied_embeddings"));
  const std::string whole = shape + "tied_embeddings: true\ngated_mlp: false\n";
  CHECK(mentions(read_text(whole + "kv_heads: 5\n").problems, "model:8:"));
  CHECK(mentions(read_text(whole + "kv_heads: 5\n").problems, "does not divide heads"));
  CHECK(mentions(read_text(whole + "residual: kraken\n").problems, "as in ways: 4"));
  CHECK(mentions(read_text(whole + "ways: 4\n").problems, "residual: kraken only"));
  const std::string free = whole + "bias: false\n";
  CHECK(read_text(free + "moe: {experts: 8, top_k: 2, ffn: 64}\n").problems.empty());
  CHECK(mentions(read_text(free + "moe: {experts: 8, top_k: 2}\n").problems, "model.moe.ffn"));
  CHECK(mentions(read_text(free + "moe: {experts: 8, top_k: 9, ffn: 64}\n").problems, "number of experts"));
  CHECK(read_text(whole + "moe: {experts: 8, top_k: 2, ffn: 64}\n").problems.empty());
  CHECK(mentions(read_text(free + "moe: {experts: 8, top_k: 2, ffn: 64, shared_gate: true}\n").problems, "shared"));
  CHECK(mentions(read_text(whole + "norm_place: post\n").problems, "without biases"));
  CHECK(mentions(read_text(whole + "norm_place: shared\n").problems, "residual: parallel"));
  CHECK(mentions(read_text(free + "norm_place: post\nresidual: ladder\n").problems, "ladder and kraken"));
  CHECK(mentions(read_text(whole + "rope_dim: 32\n").problems, "position: rope"));
  CHECK(mentions(read_text(whole + "position: rope\nrope_dim: 65\n").problems, "head_dim"));
  CHECK(mentions(read_text(whole + "activation: clamped_silu\n").problems, "gated_mlp"));
  CHECK(mentions(read_text(whole + "blocks: [{attention: delta}]\n").problems, "no delta block"));
  CHECK(mentions(read_text(whole + "blocks: [{attention: {sliding: 4, chunked: 8}}]\n").problems, "one of the two"));
  CHECK(mentions(read_text(whole + "qk_norm: wole\n").problems, "whole"));
  CHECK(mentions(read_text(free + "moe: {experts: 8, top_k: 2, ffn: 64, dispatcher: smle}\n").problems, "smile"));
  CHECK(mentions(read_text(whole + "mla: {q_lora: 1536}\n").problems, "model.mla.kv_lora"));
  CHECK(mentions(read_text(whole + "blocks: [{mlp: moe}]\n").problems, "no moe block"));
  CHECK(mentions(read_text(whole + "blocks: [{attention: mla}]\n").problems, "no mla block"));
  CHECK(mentions(read_text(whole + "blocks: [{attention: linear}]\n").problems, "linear attention with biases"));
  CHECK(mentions(read_text(whole + "blocks: [{repeat: 5}]\n").problems, "does not divide layers"));
  CHECK(mentions(read_text(whole + "dropout: 1\n").problems, "[0, 1)"));
}

// Counts of published checkpoints, as their model pages give them.
TEST_CASE("Hugging Face families, by their exact parameter counts", "[models]") {
  // GPT-2: 50257 x 768 + 1024 x 768 + 12 (12 x 768^2 + 13 x 768) + 2 x 768
  CHECK(parameters(imported(R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
                               "vocab_size": 50257, "n_inner": null})")) == 124'439'808);
  // OPT-125m: 50272 x 768 + 2050 x 768 + the same blocks and final norm
  CHECK(parameters(
            imported(R"({"model_type": "opt", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
                               "ffn_dim": 3072, "vocab_size": 50272, "max_position_embeddings": 2048})")) ==
        125'239'296);
  // BLOOM: 250880 x 14336 + 2 x 14336 + 70 (12 x 14336^2 + 13 x 14336) + 2 x 14336
  CHECK(parameters(imported(R"({"model_type": "bloom", "n_embed": 14336, "n_layer": 70, "num_attention_heads": 112,
                               "vocab_size": 250880})")) == 176'247'271'424);
  // Mistral 7B: 2 x 32000 x 4096 + 32 (4096 (2 x 4096 + 2 x 1024) + 3 x 4096 x 14336 + 2 x 4096) + 4096
  CHECK(parameters(imported(
            R"({"model_type": "mistral", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
                               "intermediate_size": 14336, "vocab_size": 32000})")) == 7'241'732'096);
  // Qwen2 7B: 2 x 152064 x 3584 + 28 (3584 (2 x 3584 + 2 x 512) + 3584 + 2 x 512 + 3 x 3584 x 18944 + 2 x 3584) + 3584
  CHECK(parameters(
            imported(R"({"model_type": "qwen2", "hidden_size": 3584, "num_hidden_layers": 28, "num_attention_heads": 28,
                               "num_key_value_heads": 4, "intermediate_size": 18944, "vocab_size": 152064})")) ==
        7'615'616'512);
  // Qwen3 0.6B, tied, heads wider than hidden / heads: 151936 x 1024
  //   + 28 (1024 (2 x 2048 + 2 x 1024) + 2 x 128 + 3 x 1024 x 3072 + 2 x 1024) + 1024
  CHECK(parameters(
            imported(R"({"model_type": "qwen3", "hidden_size": 1024, "num_hidden_layers": 28, "num_attention_heads": 16,
                               "num_key_value_heads": 8, "intermediate_size": 3072, "vocab_size": 151936,
                               "tie_word_embeddings": true})")) == 596'049'920);
}

TEST_CASE("Hugging Face defaults of absent and null keys", "[models]") {
  const std::string shape =
      R"("hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 11008, "vocab_size": 32000)";
  const auto with = [&](const std::string& type, const std::string& more = {}) {
    return imported(R"({"model_type": ")" + type + R"(", )" + shape + (more.empty() ? "" : ", " + more) + "}");
  };
  CHECK(with("llama").kv_head_count() == 32);
  CHECK_FALSE(with("llama").tied_embeddings);
  CHECK_FALSE(with("llama").has_qkv_bias());
  CHECK(with("llama", R"("attention_bias": true)").has_projection_bias());
  CHECK_FALSE(with("llama", R"("attention_bias": true)").has_mlp_bias());
  CHECK(with("mistral").kv_head_count() == 8);
  CHECK(with("mistral", R"("num_key_value_heads": null)").kv_head_count() == 32);
  CHECK(with("mistral").blocks.at(0).attention->window == 4096);
  CHECK(with("mistral", R"("sliding_window": null)").blocks.empty());
  CHECK(with("qwen2").kv_head_count() == 32);
  CHECK(with("qwen2").has_qkv_bias());
  CHECK_FALSE(with("qwen2").has_projection_bias());
  CHECK(with("qwen2").blocks.empty());
  const TransformerConfig windowed = with("qwen2", R"("use_sliding_window": true)");
  REQUIRE(windowed.blocks.size() == 2);
  CHECK(windowed.blocks[0].repeat == 28);
  CHECK(windowed.blocks[1].attention->window == 4096);
  CHECK(with("qwen3").head_size() == 128);
  CHECK(with("qwen3").qk_norm == QkNorm::head);
  const TransformerConfig gpt2 =
      imported(R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257})");
  CHECK(gpt2.ffn == 3072);
  CHECK(gpt2.max_positions == 1024);
  CHECK(gpt2.dropout == 0.1);
  CHECK(gpt2.tied_embeddings);
}

TEST_CASE("Hugging Face files that cannot be built", "[models]") {
  const auto problems = [](const std::string& json) { return read_text(json, config::Syntax::json).problems; };
  CHECK(mentions(problems(R"({"model_type": "gpt_nex"})"), "unknown model_type"));
  CHECK(mentions(problems(R"({"model_type": "gpt_nex"})"), "known: bloom, deepseek_v2, deepseek_v3, falcon, gemma2"));
  CHECK(mentions(problems(R"({"model_type": "gpt_nex"})"), "cairn schema model"));
  CHECK(mentions(problems(R"({"model_type": "llamma"})"), "did you mean 'llama'"));
  for (const std::string type : {"mixtral", "deepseek_v3", "qwen3_moe"}) {
    CHECK(mentions(problems(R"({"model_type": ")" + type + R"("})"), "hidden_size"));
  }
  const std::string missing = problems(R"({"model_type": "llama", "hidden_size": 4096})");
  for (const char* key : {"num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size"})
    CHECK(mentions(missing, key));
  CHECK(mentions(
      problems(R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 2, "num_attention_heads": 32,
                             "num_key_value_heads": 5, "intermediate_size": 64, "vocab_size": 100})"),
      "does not divide heads"));
  CHECK(mentions(
      problems(R"({"model_type": "opt", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
                             "ffn_dim": 4096, "vocab_size": 50272, "word_embed_proj_dim": 512, "do_layer_norm_before": false})"),
      "not modelled yet"));
}

TEST_CASE("an unknown model_type names the families that read most of its keys", "[models]") {
  const auto problems = [](const std::string& json) { return read_text(json, config::Syntax::json).problems; };
  const std::string shape =
      R"("hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 8, "intermediate_size": 512, "vocab_size": 1000)";
  const auto unknown = [&](const std::string& more) {
    return problems(R"({"model_type": "something", )" + shape + ", " + more + "}");
  };
  CHECK(
      mentions(unknown(R"("kv_lora_rank": 64, "qk_rope_head_dim": 16, "qk_nope_head_dim": 32, "n_routed_experts": 8)"),
               "read by deepseek_v2 and deepseek_v3 and kimi_k2: {hf: ..., model_type: deepseek_v2}"));
  CHECK(mentions(unknown(R"("resid_pdrop": 0.0, "embd_pdrop": 0.0, "sliding_window": 64)"), "read by phi3:"));
  CHECK(mentions(unknown(R"("rotary_pct": 0.25, "use_parallel_residual": true)"), "read by gpt_neox:"));
  // A file that no family can read has no kin.
  CHECK_FALSE(mentions(problems(R"({"model_type": "something", "d_model": 256})"), "read by"));
}

TEST_CASE("a file is read as the model_type that the reference gives", "[models]") {
  const TransformerConfig phi = valid("{hf: phi-3-mini, model_type: llama}");
  CHECK(phi.blocks.empty());  // a llama has no window
  CHECK(parameters(phi) == 3'821'079'552);
  CHECK(valid("{hf: kimi-k2, model_type: deepseek_v3, layers: 2, blocks: [{mlp: moe}]}").layers == 2);
  CHECK(mentions(read_text("{hf: phi-3-mini, model_type: lama}").problems, "did you mean 'llama'"));
}

TEST_CASE("of a file with several parts the text is read, and the rest is named", "[models]") {
  const Outcome scout = read_text("llama-4-scout");
  CHECK(scout.config.layers == 48);
  CHECK(mentions(scout.problems, "model.vision_config: is left out"));
  CHECK(
      mentions(read_text(R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 64}})",
                         config::Syntax::json)
                   .problems,
               "model.text_config.num_hidden_layers"));
}

TEST_CASE("patterns of layers", "[models]") {
  const auto kinds = [](const TransformerConfig& c) {
    std::string text;
    for (const BlockPattern& block : c.blocks)
      text += std::to_string(block.repeat) + (c.attention_of(block).kind == AttentionKind::full ? "f" : "w");
    return text;
  };
  CHECK(kinds(valid("gemma-2-9b")) == "1w1f");
  CHECK(kinds(valid("gpt-oss-20b")) == "1w1f");
  CHECK(kinds(read_text("gemma-3-27b").config) == "5w1f5w1f5w1f5w1f5w1f5w1f5w1f5w1f5w1f5w1f2w");  // 62 = 10 x 6 + 2
  const std::string shape =
      R"({"model_type": "gemma2", "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 8, "intermediate_size": 512, "vocab_size": 1000)";
  CHECK(kinds(imported(
            shape +
            R"(, "layer_types": ["full_attention", "full_attention", "full_attention", "sliding_attention"]})")) ==
        "3f1w");
  CHECK(imported(shape + R"(, "sliding_window": null})").blocks.empty());
  CHECK_FALSE(imported(shape + R"(, "attn_logit_softcapping": null})").score_cap);
  const TransformerConfig maverick = read_text("llama-4-maverick").config;
  REQUIRE(maverick.blocks.size() == 4);  // dense and experts by turns, every fourth not rotated
  CHECK(maverick.mlp_of(maverick.blocks[0]) == MlpKind::dense);
  CHECK(maverick.mlp_of(maverick.blocks[1]) == MlpKind::moe);
  CHECK(maverick.attention_of(maverick.blocks[2]).kind == AttentionKind::chunked);
  CHECK(maverick.attention_of(maverick.blocks[3]).kind == AttentionKind::nope);
}

TEST_CASE("absurd sizes are refused, not computed", "[models]") {
  const std::string huge = "9223372036854775807";
  for (const std::string key :
       {"layers", "hidden", "heads", "ffn", "vocab", "kv_heads", "head_dim", "max_positions", "vocab_multiple"}) {
    CHECK(mentions(read_text("{file: gpt3-175b, " + key + ": " + huge + "}").problems, "model." + key));
  }
  for (const std::string key :
       {"hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "intermediate_size"}) {
    std::string json = R"({"model_type": "qwen2", "use_sliding_window": true)";
    for (const std::string each :
         {"hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "intermediate_size"}) {
      json += ", \"" + each + "\": " + (each == key ? huge : "64");
    }
    CHECK(mentions(read_text(json + "}", config::Syntax::json).problems, key));
  }
  TransformerConfig config = testing::gpt(2, 96, 6, 1000, 64);
  config.ffn = k_max_ffn + 1;
  CHECK_THROWS_AS(validate(config), core::ConfigurationError);
}

TEST_CASE("the schema of a model names its keys", "[models]") {
  const std::string schema = config::json_schema<TransformerConfig>("model");
  for (const char* key : {"\"layers\"", "\"kv_heads\"", "\"sliding\"", "\"moe\"", "\"vocab_multiple\""})
    CHECK(mentions(schema, key));
}

}  // namespace cairn::models
