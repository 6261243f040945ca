// Parameters of published mixtures, and what is wrong with a mixture.
#include "cairn/config/loader.h"
#include "cairn/config/read.h"
#include "cairn/core/diagnostics.h"
#include "cairn/models/huggingface.h"
#include "catch.h"
#include "experts/mixtures.h"
#include "support/source_dir.h"

using namespace cairn;
using namespace cairn::testing;
using models::TransformerConfig;

namespace {

models::ParameterCount shipped(const char* name) {
  const config::Loader loader{std::vector<std::filesystem::path>{cairn::testing::source_dir() + "/configs"}};
  core::Diagnostics diagnostics;
  const TransformerConfig config = models::read_model(config::make_scalar(name, {}), loader, diagnostics);
  diagnostics.raise_if_errors();
  return models::count_parameters(config, models::build_transformer(config, {}));
}

std::string problem(const TransformerConfig& config) {
  try {
    models::validate(config);
  } catch (const core::ConfigurationError& error) {
    return error.what();
  }
  return {};
}

bool mentions(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("Published parameter counts") {
  // Mixtral of Experts, arXiv 2401.04088: 47 B, 13 B active; the count of its released weights.
  REQUIRE(shipped("mixtral-8x7b").total == 46'702'792'704);
  // 32 layers without 6 of 8 experts of 3 x 4096 x 14336 each.
  REQUIRE(shipped("mixtral-8x7b").active == 46'702'792'704 - 32LL * 6 * 3 * 4096 * 14336);
  // DeepSeek-V3, arXiv 2412.19437: 671 B, of which 37 B active (37.55, cut). By hand: latent attention 187,107,328 and
  // norms 14,336 in 61 layers; 3 dense MLPs of 3 x 7168 x 18432; 58 x (257 experts of 44,040,192, a router of 256 x
  // 7168 and a bias for each of its experts); two tables of 129280 x 7168 and a norm.
  const std::int64_t total = 61LL * (187'107'328 + 14'336) + 3LL * 3 * 7168 * 18432 +
                             58LL * (257 * 44'040'192LL + 256 * 7168 + 256) + 2LL * 129280 * 7168 + 7168;
  REQUIRE(shipped("deepseek-v3").total == total);
  REQUIRE(total / 1'000'000'000 == 671);
  REQUIRE(shipped("deepseek-v3").active == total - 58LL * 248 * 44'040'192);
  REQUIRE(shipped("deepseek-v3").active / 1'000'000'000 == 37);
  // Qwen3 technical report, arXiv 2505.09388: 30.5 B with 3.3 B active, 235 B with 22 B active.
  REQUIRE(shipped("qwen3-30b-a3b").total / 100'000'000 == 305);
  REQUIRE(shipped("qwen3-30b-a3b").active / 100'000'000 == 33);
  REQUIRE(shipped("qwen3-235b-a22b").total / 1'000'000'000 == 235);
  REQUIRE(shipped("qwen3-235b-a22b").active / 1'000'000'000 == 22);
}

TEST_CASE("A mixture that cannot be is named, with what to do") {
  TransformerConfig config = small_mixture();
  REQUIRE(problem(config).empty());
  config.moe->top_k = 17;
  REQUIRE(mentions(problem(config), "top_k"));
  config = small_mixture();
  config.moe->imbalance = 0.5;
  REQUIRE(mentions(problem(config), "imbalance"));
  config = small_mixture();
  config.moe->shortcut = true;
  REQUIRE(mentions(problem(config), "shared expert"));
  config = small_mixture();
  config.moe->shared_gate = true;
  REQUIRE(mentions(problem(config), "shared expert"));
  config = small_mixture();
  config.moe.reset();
  config.blocks = {{.repeat = 1, .mlp = models::MlpKind::moe}};
  REQUIRE(mentions(problem(config), "no moe block"));
}

TEST_CASE("A block written is the block read") {
  TransformerConfig config = small_mixture(models::Dispatcher::smile);
  config.moe->capacity_factor = 1.5;
  config.moe->node_limit = 3;
  config.mla = models::LatentConfig{.q_lora = 16, .kv_lora = 8, .rope_dim = 4, .nope_dim = 8, .v_dim = 8};
  const std::string text = config::to_json(config);
  core::Diagnostics diagnostics;
  TransformerConfig again;
  config::read(config::parse_text(text, config::Syntax::json, "text", diagnostics), again, diagnostics, "model");
  diagnostics.raise_if_errors();
  REQUIRE(config::to_json(again) == text);
}

TEST_CASE("Linear attention: FLOPs per token do not grow with the sequence") {
  TransformerConfig config = small_mixture();
  config.moe.reset();
  config.blocks = {{.repeat = 2, .attention = models::AttentionPattern{.kind = models::AttentionKind::linear}}};
  const ir::Model model = models::build_transformer(config, {});
  const auto per_token = [&](std::int64_t sequence) {
    return model.forward_flops({.batch = 1, .sequence = sequence}, false) / static_cast<double>(sequence);
  };
  REQUIRE(per_token(1024) == per_token(4096));
  config.blocks = {};
  const ir::Model full = models::build_transformer(config, {});
  // 8 heads of 8: per token and layer 4 d^2 + 4 C d in place of 4 s d a head, C = 64, s = 1024.
  REQUIRE(full.forward_flops({.batch = 1, .sequence = 1024}, false) / 1024 - per_token(1024) ==
          2 * 8 * (4.0 * 1024 * 8 - (4.0 * 8 * 8 + 4.0 * 64 * 8)));
}
