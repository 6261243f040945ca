// Modules that predict tokens further ahead.
#include "catch.h"

#include "cairn/core/diagnostics.h"
#include "small_configs.h"

namespace cairn::models {
namespace {

using testing::llama;
using testing::mentions;

constexpr loopnest::Sizes k_sizes{.batch = 2, .sequence = 64};

TransformerConfig small(std::int64_t layers, std::int64_t depth) {
  TransformerConfig config = llama(layers, 96, 6, 2, 256, 1000);
  if (depth > 0) config.mtp = PredictionConfig{.depth = depth};
  return config;
}

std::string problem(TransformerConfig config) {
  try {
    validate(config);
  } catch (const core::ConfigurationError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a further token costs a block, a projection from twice the width, three norms", "[models]") {
  const auto count = [](const TransformerConfig& config) {
    return count_parameters(config, build_transformer(config, BuildOptions{}));
  };
  // Block: norms 2 x 96, queries, keys, values 96 x (96 + 2 x 32), projection 96 x 96, MLP 3 x 96 x 256.
  const std::int64_t block = 2 * 96 + 96 * 160 + 96 * 96 + 3 * 96 * 256;
  for (const std::int64_t depth : {1, 2, 3}) {
    const ParameterCount parameters = count(small(2, depth));
    CHECK(parameters.total == count(small(2, 0)).total);  // embedding and head are the model's own
    CHECK(parameters.active == parameters.total);
    CHECK(parameters.prediction == depth * (block + 2 * 96 * 96 + 3 * 96));
  }
  CHECK(count(small(2, 0)).prediction == 0);
}

TEST_CASE("a further token costs the work of a block, the projection and the head, and all of it is differentiated",
          "[models]") {
  const auto forward = [](std::int64_t layers, std::int64_t depth) {
    return build_transformer(small(layers, depth), BuildOptions{}).forward_flops(k_sizes, false);
  };
  const double tokens = 128, block = forward(3, 0) - forward(2, 0);
  CHECK(forward(2, 2) - forward(2, 0) == 2 * (block + 2 * tokens * (2 * 96 * 96 + 96 * 1000)));

  const ir::Model model = build_transformer(small(2, 2), BuildOptions{});
  const ir::Graph& head = model.classes.back().graph;
  int tables = 0;
  for (std::size_t id = 0; id < head.tensors().size(); ++id) {
    const ir::Tensor& tensor = head.tensors()[id];
    INFO(tensor.name);
    if (tensor.role == ir::Role::parameter) CHECK(head.gradient(static_cast<ir::TensorId>(id)) != ir::k_no_tensor);
    if (tensor.role == ir::Role::parameter && tensor.dims.front().name == "vocab") ++tables;
  }
  CHECK(tables == 2);  // one embedding and one head, however many modules read them
  CHECK(head.gradient(head.inputs().front()) != ir::k_no_tensor);
  double ahead = 0.0, back = 0.0;
  for (const ir::Operator& op : head.operators()) {
    const bool derived = op.forward >= 0;
    if (op.kind != ir::Kind::contraction || !(derived ? head.op(op.forward) : op).is_plain_contraction()) continue;
    (derived ? back : ahead) += ir::flops({.op = &op, .graph = &head, .box = op.domain.box(k_sizes)});
  }
  CHECK(back == 2 * ahead);
}

TEST_CASE("what further tokens cannot be predicted with is refused", "[models]") {
  CHECK(problem(small(2, 1)) == "accepted");
  TransformerConfig config = small(2, 1);
  config.tied_embeddings = true;
  CHECK(mentions(problem(config), "model.mtp"));
  config = small(2, 1);
  config.position = PositionEncoding::learned;
  CHECK(mentions(problem(config), "model.mtp"));
  config = small(2, k_max_prediction_depth + 1);
  CHECK(mentions(problem(config), "model.mtp.depth"));
}

}  // namespace cairn::models
