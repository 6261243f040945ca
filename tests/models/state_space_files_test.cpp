// Files of state-space models: parameters against the tensors of the checkpoints, and what the files may say.
#include <numeric>
#include <string>
#include <vector>

#include "catch.h"

#include "reading.h"
#include "small_configs.h"

namespace cairn::models {
namespace {

using testing::mentions;
using testing::Outcome;
using testing::read_text;

std::int64_t parameters(const TransformerConfig& config) {
  return build_transformer(config, BuildOptions{}).parameters();
}

using Shapes = std::vector<std::vector<std::int64_t>>;

std::int64_t elements(const Shapes& shapes) {
  std::int64_t total = 0;
  for (const auto& shape : shapes)
    total += std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  return total;
}

// One layer of mamba_ssm's Mamba2 and the norm before it; NemotronHMamba2Mixer of transformers holds the same tensors.
std::int64_t mixer_layer(std::int64_t hidden, std::int64_t heads, std::int64_t head_dim, std::int64_t state,
                         std::int64_t groups, std::int64_t conv) {
  const std::int64_t inner = heads * head_dim, channels = inner + 2 * groups * state;
  return elements({{inner + channels + heads, hidden},  // in_proj
                   {channels, 1, conv},                 // conv1d.weight
                   {channels},                          // conv1d.bias
                   {heads},                             // dt_bias
                   {heads},                             // A_log
                   {heads},                             // D
                   {inner},                             // norm
                   {hidden, inner},                     // out_proj
                   {hidden}});                          // the layer's norm
}

// nemotron_h of transformers: every layer is a norm and a mixer, an attention or an MLP of two matrices.
std::int64_t nemotron_h(const std::string& pattern, std::int64_t hidden, std::int64_t ffn, std::int64_t heads,
                        std::int64_t mixer_heads, std::int64_t state) {
  constexpr std::int64_t k_kv_heads = 8, k_head_dim = 128, k_tokens_known = 131072;
  std::int64_t total = elements({{k_tokens_known, hidden}, {hidden}, {k_tokens_known, hidden}});
  for (const char layer : pattern) {
    if (layer == 'M') total += mixer_layer(hidden, mixer_heads, 64, state, 8, 4);
    if (layer == '-') total += elements({{ffn, hidden}, {hidden, ffn}, {hidden}});
    if (layer == '*')
      total += elements({{heads * k_head_dim, hidden},
                         {k_kv_heads * k_head_dim, hidden},
                         {k_kv_heads * k_head_dim, hidden},
                         {hidden, heads * k_head_dim},
                         {hidden}});
  }
  return total;
}

}  // namespace

TEST_CASE("state-space models have exactly the parameters of their checkpoints", "[models]") {
  const auto count = [](const std::string& name) { return parameters(read_text(name).config); };
  // The table has 50277 rows, padded to a multiple of 16; it is the head, too.
  const std::int64_t mamba = elements({{50288, 2560}, {2560}}) + 64 * mixer_layer(2560, 80, 64, 128, 1, 4);
  CHECK(count("mamba2-2.7b") == mamba);
  CHECK(mamba / 100'000'000 == 27);
  const std::string inner = "M-M-M-M-M*-";
  const std::string smaller = "M-M-M-M*-" + inner + inner + inner + "M-M-M-M-M-";
  const std::int64_t eight = nemotron_h(smaller, 4096, 21504, 32, 128, 128);
  CHECK(smaller.size() == 52);
  CHECK(count("nemotron-h-8b") == eight);
  CHECK(eight / 100'000'000 == 81);
  std::string larger = "M-M-M-M*-";
  for (int i = 0; i < 9; ++i) larger += inner;
  larger += "M-M-M-M-M-";
  const std::int64_t fifty_six = nemotron_h(larger, 8192, 32768, 64, 256, 256);
  CHECK(larger.size() == 118);
  CHECK(count("nemotron-h-56b") == fifty_six);
  CHECK(fifty_six / 1'000'000'000 == 56);
}

TEST_CASE("a layer for each letter, and equal layers are one class", "[models]") {
  const ir::Model model = build_transformer(read_text("nemotron-h-8b").config, BuildOptions{});
  std::vector<std::string> names;
  for (const ir::LayerClass& layer : model.classes) names.push_back(layer.name);
  CHECK(names == std::vector<std::string>{"embedding", "block.mamba2", "block.mlp", "block.attention", "head"});
  CHECK(model.body_layers() == 52);
  std::int64_t counts[5] = {};
  for (const ir::LayerRun& run : model.layers) counts[run.layer_class] += run.count;
  CHECK(counts[1] == 24);
  CHECK(counts[2] == 24);
  CHECK(counts[3] == 4);
}

TEST_CASE("a file says what a user's block says", "[models]") {
  const Outcome written = read_text(
      "layers: 4\nhidden: 256\nheads: 8\nkv_heads: 2\nffn: 1024\ngated_mlp: false\nvocab: 1000\ntied_embeddings: "
      "false\n"
      "norm: rmsnorm\nposition: none\nbias: false\nactivation: squared_relu\nmamba2: {state: 16, groups: 2, chunk: "
      "32}\n"
      "blocks: [{attention: mamba2, mlp: none}, {attention: none}, {mlp: none}, {attention: none}]\n");
  const Outcome foreign = read_text(R"({"model_type": "nemotron_h", "hidden_size": 256, "num_attention_heads": 8,
      "num_key_value_heads": 2, "head_dim": 32, "intermediate_size": 1024, "vocab_size": 1000, "mamba_num_heads": 8,
      "mamba_head_dim": 64, "ssm_state_size": 16, "n_groups": 2, "chunk_size": 32,
      "layers_block_type": ["mamba", "mlp", "attention", "mlp"]})",
                                    config::Syntax::json);
  CHECK(foreign.problems == "");
  CHECK(parameters(foreign.config) == parameters(written.config));
  const auto flops = [](const TransformerConfig& config) {
    return build_transformer(config, BuildOptions{}).forward_flops({.batch = 2, .sequence = 64}, false);
  };
  CHECK(flops(foreign.config) == flops(written.config));
}

TEST_CASE("files of state-space models", "[models]") {
  const auto problems = [](const std::string& json) { return read_text(json, config::Syntax::json).problems; };
  // As transformers has it: what is left out is Mamba-Codestral-7B's, whose norm has as many channels.
  const TransformerConfig codestral = read_text(R"({"model_type": "mamba2"})", config::Syntax::json).config;
  CHECK(parameters(codestral) ==
        elements({{32768, 4096}, {32768, 4096}, {4096}}) + 64 * mixer_layer(4096, 128, 64, 128, 8, 4));
  CHECK(mentions(problems(R"({"model_type": "mamba2", "num_heads": 64})"), "is not num_heads x head_dim"));
  CHECK(mentions(problems(R"({"model_type": "nemotron_h", "hybrid_override_pattern": "ME*-"})"), "experts beside"));
  CHECK(mentions(problems(R"({"model_type": "nemotron_h", "hybrid_override_pattern": "M-X"})"), "not known"));
  CHECK(mentions(problems(R"({"model_type": "nemotron_h"})"), "must name every layer"));
  CHECK(mentions(problems(R"({"model_type": "nemotron_h", "hybrid_override_pattern": "M-", "num_hidden_layers": 3})"),
                 "num_hidden_layers"));
  const std::string mamba_ssm = R"({"d_model": 64, "n_layer": 2, "vocab_size": 1000, "ssm_cfg": )";
  CHECK(problems(mamba_ssm + R"({"layer": "Mamba2", "headdim": 32}})").empty());
  CHECK(mentions(problems(mamba_ssm + R"({"layer": "Mamba1"}})"), "other than Mamba2"));
  CHECK(mentions(problems(mamba_ssm + "{}}"), "other than Mamba2"));
  CHECK(mentions(problems(mamba_ssm + R"({"layer": "Mamba2"}, "attn_layer_idx": [1]})"), "attn_layer_idx"));
  CHECK(mentions(problems(mamba_ssm + R"({"layer": "Mamba2", "headdim": 96}})"), "does not divide"));
  CHECK(mentions(read_text("mamba2-2.7b").problems, "a residual stream in fp32 is left out"));
}

}  // namespace cairn::models
