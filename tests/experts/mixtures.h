// Small mixtures of experts and plans that fit them.
#pragma once

#include "cairn/models/transformer.h"
#include "cairn/plan/lowering.h"
#include "support/random_plans.h"

namespace cairn::testing {

inline models::TransformerConfig small_mixture(models::Dispatcher dispatcher = models::Dispatcher::alltoall) {
  models::TransformerConfig config;
  config.name = "small mixture";
  config.layers = 2;
  config.hidden = 64;
  config.heads = 8;
  config.ffn = 96;
  config.gated_mlp = true;
  config.vocab = 128;
  config.norm = models::Norm::rmsnorm;
  config.position = models::PositionEncoding::rope;
  config.bias = false;
  models::MixtureConfig mixture;
  mixture.experts = 16;
  mixture.top_k = 2;
  mixture.ffn = 32;
  mixture.dispatcher = dispatcher;
  config.moe = mixture;
  return config;
}

// `build`: receives the options that the mixture is built with.
inline models::TransformerConfig random_mixture(core::Random& random, models::BuildOptions& build) {
  models::TransformerConfig result = small_mixture(static_cast<models::Dispatcher>(random.below(5)));
  result.layers = between(random, 1, 6);
  models::MixtureConfig& mixture = *result.moe;
  mixture.top_k = between(random, 1, 4);
  mixture.shared_experts = between(random, 0, 2);
  mixture.shortcut = mixture.shared_experts > 0 && coin(random);
  if (coin(random)) mixture.capacity_factor = 1.25;
  if (coin(random)) mixture.imbalance = 1.3;
  if (coin(random))
    result.mla =
        models::LatentConfig{.q_lora = coin(random) ? 16 : 0, .kv_lora = 16, .rope_dim = 4, .nope_dim = 8, .v_dim = 8};
  if (result.layers % 2 == 0 && coin(random))
    result.blocks = {{.repeat = 1, .mlp = models::MlpKind::dense}, {.repeat = 1, .mlp = models::MlpKind::moe}};
  build.parts = coin(random) ? 2 : 1;
  build.shared_experts_first = coin(random);
  build.fused_accumulation = coin(random);
  build.several_experts = coin(random);
  build.kernels.sorts_rows = coin(random);
  return result;
}

inline constexpr std::int64_t k_mixture_sequence = 128;
inline SharedHeads attention_of(const models::TransformerConfig& config) {
  return {.tokens = k_mixture_sequence, .heads = config.heads};
}

inline plan::Strategy mixture_strategy(std::int64_t ep, std::int64_t etp = 1) {
  plan::Strategy s;
  s.data = ep * etp;
  s.expert = ep;
  s.expert_tensor = etp;
  s.experts = 16;
  s.stage_layers = {2};
  return s;
}

}  // namespace cairn::testing
