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

inline constexpr std::int64_t k_mixture_sequence = 128;

inline plan::Strategy mixture_strategy(std::int64_t ep, std::int64_t etp = 1) {
  plan::Strategy s;
  s.data = ep * etp;
  s.expert = ep;
  s.expert_tensor = etp;
  s.stage_layers = {2};
  return s;
}

}  // namespace cairn::testing
