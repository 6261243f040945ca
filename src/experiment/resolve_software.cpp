#include <fmt/format.h>

#include "narrow.h"
#include "resolving.h"

namespace cairn::experiment {
namespace {

// A framework's fused softmax does not exist for every shape: elsewhere its scores go through separate kernels.
models::Kernels kernels(Resolving& r) {
  const software::FrameworkProfile& framework = r.parts.software.framework;
  models::Kernels kernels = r.settings.training.kernels.over(framework.kernels_on(r.parts.machine.accelerator.value));
  const std::int64_t local_heads = r.plan.model.heads / r.plan.strategy.tensor;
  const std::int64_t seq_len = r.settings.training.seq_len, micro_batch = r.plan.strategy.micro_batch;
  if (kernels.attention == models::AttentionKernel::fused_softmax && local_heads > 0 &&
      !framework.fused_softmax.applies(seq_len, local_heads, micro_batch)) {
    kernels.attention = models::AttentionKernel::unfused;
    r.warn(fmt::format("no fused softmax kernel for {} keys, {} heads per rank and micro-batch {}: unfused kernels",
                       seq_len, local_heads, micro_batch));
  }
  return kernels;
}

}  // namespace

void resolve_tensor_overlap(Resolving& r) {
  const TensorOverlap asked = r.settings.strategy.overlap.tp.value_or(TensorOverlap{});
  constexpr std::int64_t k_default_chunks = 4;
  plan::Strategy& strategy = r.plan.strategy;
  strategy.overlap_tensor = asked.beside.value_or(r.parts.software.framework.overlap.tp_backward);
  strategy.asynchronous_tensor = r.plan.model.residual != models::Residual::standard;
  if (!asked.kind) return;
  if (strategy.tensor == 1) {
    r.warn("strategy.overlap.tp: nothing to overlap with tp 1");
    return;
  }
  if (*asked.kind == TensorOverlapKind::iso && !r.plan.model.causal)
    r.error("strategy.overlap.tp",
            "iso runs one half of the tokens ahead of the other, and a model without causal mask needs both at once",
            "use kind: chunked or t3");
  using Kind = plan::TensorPieces::Kind;
  strategy.tensor_pieces.kind = *asked.kind == TensorOverlapKind::chunked ? Kind::chunked
                                : *asked.kind == TensorOverlapKind::t3    ? Kind::triggered
                                                                          : Kind::halves;
  strategy.tensor_pieces.count =
      *asked.kind == TensorOverlapKind::chunked ? asked.chunks.value_or(k_default_chunks) : 1;
}

namespace {

// Tensors that the optimizer keeps of each parameter, beside a factored one.
int moments(Optimizer kind) {
  switch (kind) {
    case Optimizer::adam:
    case Optimizer::adamw:
    case Optimizer::adam8bit:
      return 2;
    case Optimizer::sgd:
    case Optimizer::sgd8bit:
      return 1;
    case Optimizer::adafactor:
      return 0;
  }
  return 2;
}

numerics::Format moments_format(const OptimizerChoice& optimizer, const software::PrecisionRecipe& recipe) {
  const bool narrow = optimizer.kind == Optimizer::adam8bit || optimizer.kind == Optimizer::sgd8bit;
  if (!narrow) return recipe.moments;
  return optimizer.block == 2048 ? numerics::Format::int8_b2048 : numerics::Format::int8_b256;
}

}  // namespace

void resolve_build(Resolving& r) {
  const software::PrecisionRecipe& recipe = r.parts.software.recipe;
  models::BuildOptions& build = r.plan.build;
  build.kernels = kernels(r);
  build.activation = software::activation_format(recipe);
  if (recipe.narrow) build.narrow = narrow_products(r.parts, r.plan.strategy);
  build.parameter = recipe.parameters;
  build.parameter_gradient = recipe.gradients;
  build.fused_accumulation = r.parts.software.framework.accumulation.fused;
  build.vocab_divisor = r.plan.strategy.vocab_parallel ? r.plan.strategy.tensor : 1;
}

void resolve_overlap(Resolving& r) {
  const software::OverlapDefaults& defaults = r.parts.software.framework.overlap;
  const Overlap& chosen = r.settings.strategy.overlap;
  plan::Strategy& strategy = r.plan.strategy;
  const DataOverlap data = chosen.dp.value_or(DataOverlap{});
  const bool sharded = r.settings.strategy.zero.stage > 0;
  const bool parameters = r.settings.strategy.zero.stage == 3;
  const bool by_shard = defaults.dp_reduce_sharded.value_or(defaults.dp_reduce);
  const bool reduce = parameters ? defaults.dp_reduce_zero3.value_or(by_shard)
                      : sharded  ? by_shard
                                 : defaults.dp_reduce;
  strategy.overlap_gradient_reduce = data.reduce.value_or(reduce);
  strategy.overlap_parameter_gather = data.gather.value_or(defaults.dp_gather);
  strategy.bucket_bytes =
      data.bucket.value_or(defaults.bucket.size(strategy.data, r.parts.software.recipe.reduce)).base();
  strategy.overlap_sends = chosen.pp.value_or(defaults.pp);
}

void resolve_treatment(Resolving& r) {
  const software::PrecisionRecipe& recipe = r.parts.software.recipe;
  const software::FrameworkProfile& framework = r.parts.software.framework;
  const OptimizerChoice& optimizer = r.settings.training.optimizer;
  r.plan.treatment = plan::ParameterTreatment{.parameters = recipe.parameters,
                                              .gradients = recipe.gradients,
                                              .reduce = recipe.reduce,
                                              .gather = recipe.dp_gather_wire,
                                              .master = recipe.master,
                                              .moments_format = moments_format(optimizer, recipe),
                                              .moments = moments(optimizer.kind),
                                              .factored_moment = optimizer.kind == Optimizer::adafactor,
                                              .separate_gradients = framework.accumulation.separate_buffer,
                                              .step_end = framework.step_end};
  if (recipe.narrow) narrow_weights(r.parts, r.plan.treatment);
}

}  // namespace cairn::experiment
