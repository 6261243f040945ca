// Activation memory per layer as Korthikanti et al. 2022 (arXiv 2205.05198, table 2) write it, against the sum of what
// the derived backward pass reads, sharded as the plan shards it. Their count leaves row statistics out; so does the
// comparison.
#include <cmath>

#include "cairn/models/transformer.h"
#include "cairn/plan/lowering.h"
#include "catch.h"

namespace {

using namespace cairn;

struct Shape {
  double s, b, h, a;
};

ir::Model gpt(const Shape& shape) {
  models::TransformerConfig config;
  config.name = "gpt";
  config.layers = 4;
  config.hidden = static_cast<std::int64_t>(shape.h);
  config.heads = static_cast<std::int64_t>(shape.a);
  config.ffn = 4 * config.hidden;
  config.vocab = 51200;
  config.tied_embeddings = true;
  config.dropout = 0.1;
  config.max_positions = static_cast<std::int64_t>(shape.s);
  models::BuildOptions options;
  options.kernels.attention = models::AttentionKernel::fused_softmax;
  options.activation = numerics::Format::fp16;
  options.parameter = numerics::Format::fp16;
  return models::build_transformer(config, options);
}

double saved(const ir::Model& model, const Shape& shape, const plan::Strategy& strategy) {
  plan::Lowering lowering(model, static_cast<std::int64_t>(shape.s), {});
  const plan::LayerState& state = lowering.layer_state(strategy, 1);  // embedding, block, head
  return state.saved_bytes - state.saved_statistic_bytes;
}

}  // namespace

TEST_CASE("activation bytes of a layer equal the published closed forms") {
  for (const Shape& shape : {Shape{2048, 1, 12288, 96}, Shape{2048, 4, 6144, 64}, Shape{1024, 2, 4096, 32}}) {
    const ir::Model model = gpt(shape);
    const double sbh = shape.s * shape.b * shape.h;
    const double scores = 5.0 * shape.a * shape.s * shape.s * shape.b;  // sbh x 5as/h
    for (const std::int64_t tensor : {1, 2, 4, 8}) {
      const auto t = static_cast<double>(tensor);
      plan::Strategy strategy;
      strategy.tensor = tensor;
      strategy.micro_batch = static_cast<std::int64_t>(shape.b);
      CHECK(saved(model, shape, strategy) == 10.0 * sbh + (24.0 * sbh + scores) / t);
      strategy.sequence_parallel = true;
      CHECK(saved(model, shape, strategy) == (34.0 * sbh + scores) / t);
      strategy.recompute = plan::Recompute::attention;
      CHECK(saved(model, shape, strategy) == 34.0 * sbh / t);
      strategy.sequence_parallel = false;
      CHECK(saved(model, shape, strategy) == 10.0 * sbh + 24.0 * sbh / t);
      strategy.recompute = plan::Recompute::full;
      CHECK(saved(model, shape, strategy) == 2.0 * sbh);
    }
  }
}

TEST_CASE("state bytes per device equal the formulas of the optimizer-sharding paper") {
  // Rajbhandari et al. 2020: 2 + 2 + K bytes per parameter with K = 12; sharding the optimizer over N leaves 4 + K/N.
  const Shape shape{1024, 1, 4096, 32};
  const ir::Model model = gpt(shape);
  plan::ParameterTreatment treatment;
  treatment.gradients = numerics::Format::fp16;
  treatment.parameters = numerics::Format::fp16;
  for (const std::int64_t data : {1, 2, 4, 16, 64, 1024}) {
    plan::Strategy strategy;
    strategy.data = data;
    strategy.stage_layers = {4};
    plan::Lowering lowering(model, 1024, treatment);
    const auto psi = static_cast<double>(model.parameters());
    const auto held = [&] {
      double sum = 0.0;
      for (const double bytes : lowering.lower(strategy).stage(0).resident) sum += bytes;
      return sum;
    };
    CHECK(held() == 16.0 * psi);
    strategy.sharded = plan::Sharded::optimizer;
    // A rank's share is a whole number of parameters.
    CHECK(held() == 4.0 * psi + 12.0 * std::ceil(psi / static_cast<double>(data)));
  }
}
