// How a transformer is put together: layer classes and runs, operators, FLOPs.
#include <cmath>
#include <string>
#include <vector>

#include "catch.h"

#include "cairn/core/diagnostics.h"
#include "small_configs.h"

namespace cairn::models {
namespace {

using testing::gpt;
using testing::llama;
using testing::mentions;

constexpr loopnest::Sizes k_sizes{.batch = 2, .sequence = 64};

const ir::Operator& find(const ir::Graph& graph, const std::string& name) {
  for (const ir::Operator& op : graph.operators()) {
    if (op.name == name) return op;
  }
  FAIL("no operator " << name);
  return graph.operators().front();
}

std::vector<std::string> forward_names(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (std::size_t id = 0; id < graph.forward_count(); ++id) names.push_back(graph.operators()[id].name);
  return names;
}

ir::Shard whole(const ir::Graph& graph, const ir::Operator& op) {
  return {.op = &op, .graph = &graph, .box = op.domain.box(k_sizes)};
}

double traffic(const ir::Graph& graph, const std::string& name) { return ir::bytes(whole(graph, find(graph, name))); }

}  // namespace

TEST_CASE("equal blocks are one class", "[models]") {
  const ir::Model model = build_transformer(llama(126, 96, 6, 2, 256, 1000), BuildOptions{});
  REQUIRE(model.classes.size() == 3);
  REQUIRE(model.layers.size() == 3);
  CHECK(model.layers[1].count == 126);
  CHECK(model.body_layers() == 126);
  CHECK(model.classes.front().position == ir::Position::entry);
  CHECK(model.classes.back().position == ir::Position::exit);
}

TEST_CASE("an attention pattern repeats until all layers are there", "[models]") {
  TransformerConfig config = llama(12, 96, 6, 2, 256, 1000);
  const AttentionPattern sliding{.kind = AttentionKind::sliding, .window = 16};
  config.blocks = {{.repeat = 5, .attention = sliding}, {.repeat = 1}};
  const ir::Model model = build_transformer(config, BuildOptions{});
  REQUIRE(model.classes.size() == 4);  // embedding, sliding block, full block, head
  std::vector<std::int64_t> counts;
  for (const ir::LayerRun& run : model.layers) counts.push_back(run.count);
  CHECK(counts == std::vector<std::int64_t>{1, 5, 1, 5, 1, 1});

  // Queries 0..15 see 1..16 keys, the other 48 see 16 each: 136 + 768 pairs; full causal 64 * 65 / 2 = 2080.
  const auto pairs = [&](std::size_t index) {
    const ir::Graph& graph = model.classes[index].graph;
    return ir::flops(whole(graph, find(graph, "attention"))) / (4.0 * 2 * 6 * 16);
  };
  CHECK(pairs(1) == 136 + 768);
  CHECK(pairs(2) == 2080);
}

TEST_CASE("operators of a GPT block in execution order", "[models]") {
  BuildOptions options;
  options.kernels.attention = AttentionKernel::fused_softmax;
  const ir::Model model = build_transformer(gpt(2, 96, 6, 1000, 64), options);
  CHECK(forward_names(model.classes[1].graph) ==
        std::vector<std::string>{"norm1", "qkv", "scores", "softmax", "dropout", "context", "transpose", "proj",
                                 "residual1", "norm2", "fc1", "activation", "fc2", "residual2"});
  CHECK(ir::topological_order(model.classes[1].graph).size() == model.classes[1].graph.operators().size());
}

TEST_CASE("operators of a Llama block in execution order", "[models]") {
  const ir::Model model = build_transformer(llama(2, 96, 6, 2, 256, 1000), BuildOptions{});
  CHECK(forward_names(model.classes[1].graph) == std::vector<std::string>{"norm1", "qkv", "rope", "attention", "proj",
                                                                          "residual1", "norm2", "fc1", "activation",
                                                                          "fc2", "residual2"});
}

TEST_CASE("forward FLOPs: narayanan_closed_form", "[models]") {
  // Narayanan et al. 2021, section 5.1: forward 24 b s l h^2 (1 + s/6h) + 2 b s h V, attention counted without its
  // mask.
  const double b = 2, s = 64, l = 2, h = 96, v = 1000;
  const double expected = 24 * b * s * l * h * h + 4 * b * s * s * l * h + 2 * b * s * h * v;
  for (const AttentionKernel attention :
       {AttentionKernel::unfused, AttentionKernel::fused_softmax, AttentionKernel::flash2}) {
    BuildOptions options;
    options.kernels.attention = attention;
    const ir::Model model = build_transformer(gpt(2, 96, 6, 1000, 64), options);
    CHECK(model.forward_flops(k_sizes, /*guarded=*/false) == expected);
  }
  // Causal: 65 / 128 of the pairs.
  const ir::Model model = build_transformer(gpt(2, 96, 6, 1000, 64), BuildOptions{});
  CHECK(model.forward_flops(k_sizes, /*guarded=*/true) == expected - 4 * b * s * s * l * h * (1.0 - 65.0 / 128.0));
}

TEST_CASE("flash attention moves its inputs and outputs once", "[models]") {
  const ir::Model model = build_transformer(llama(2, 96, 6, 2, 256, 1000), BuildOptions{});
  const ir::Graph& block = model.classes[1].graph;
  // Tokens 128: queries 96, keys 32, values 32 in; context 96 out, 2 bytes each; log-sum-exp 6 x 4 bytes.
  CHECK(traffic(block, "attention") == 128.0 * (2 * (96 + 32 + 32 + 96) + 4 * 6));
  // Backward: context's gradient, q, k, v, context, log-sum-exp in; dq, dk, dv out.
  CHECK(traffic(block, "attention.backward") == 128.0 * (2 * (96 + 160 + 96) + 4 * 6 + 2 * 160));
  // Rotation touches queries and keys, not values.
  CHECK(traffic(block, "rope") == 128.0 * 2 * 2 * (96 + 32));
}

TEST_CASE("bytes of the cross-entropy chain per logit", "[models]") {
  const ir::Model model = build_transformer(gpt(2, 96, 6, 1000, 64), BuildOptions{});
  const ir::Graph& head = model.classes.back().graph;
  const double logits = 128.0 * 1000.0;
  const auto per_logit = [&](const std::string& name) { return std::floor(traffic(head, name) / logits); };
  CHECK(per_logit("loss.cast") == 6);      // read 2, write 4
  CHECK(per_logit("loss.maximum") == 4);   // read 4
  CHECK(per_logit("loss.subtract") == 8);  // read and write 4
  CHECK(per_logit("loss.exp") == 8);
  CHECK(per_logit("loss.sum") == 4);
  CHECK(per_logit("loss.divide") == 8);
  CHECK(per_logit("loss.divide.backward") == 8);  // probabilities in, fp32 gradient out
  CHECK(per_logit("loss.cast.backward") == 6);
  BuildOptions fused;
  fused.kernels.loss = LossKernel::fused;
  const ir::Model fused_model = build_transformer(gpt(2, 96, 6, 1000, 64), fused);
  const ir::Graph& fused_head = fused_model.classes.back().graph;
  CHECK(std::floor(traffic(fused_head, "loss") / logits) == 2);
  CHECK(std::floor(traffic(fused_head, "loss.backward") / logits) == 4);
}

TEST_CASE("an embedding reads one row per token", "[models]") {
  const ir::Model model = build_transformer(llama(2, 96, 6, 2, 256, 100000), BuildOptions{});
  const ir::Graph& entry = model.classes.front().graph;
  // 128 tokens: 8-byte ids, a row of 96 in and out.
  CHECK(traffic(entry, "embedding") == 128.0 * (8 + 2 * 96 + 2 * 96));
}

TEST_CASE("what cannot be built says why", "[models]") {
  const auto message = [](const TransformerConfig& config) -> std::string {
    try {
      build_transformer(config, BuildOptions{});
    } catch (const core::ConfigurationError& error) {
      return error.what();
    }
    return "no error";
  };
  TransformerConfig config = llama(2, 96, 6, 4, 256, 1000);
  CHECK(mentions(message(config), "model.kv_heads"));
  CHECK(mentions(message(config), "does not divide heads"));
  config = llama(2, 100, 6, 2, 256, 1000);
  CHECK(mentions(message(config), "model.head_dim"));
  config = llama(2, 96, 6, 2, 256, 1000);
  config.residual = Residual::ladder;
  CHECK(mentions(message(config), "model.residual"));
  CHECK(mentions(message(config), "not modelled yet"));
  config.residual = Residual::standard;
  config.blocks = {{.repeat = 1, .mlp = MlpKind::moe}};
  CHECK(mentions(message(config), "mixture of experts"));
  config.blocks = {{.repeat = 1, .attention = {.kind = AttentionKind::linear}}};
  CHECK(mentions(message(config), "attention that is not modelled yet"));
  config.blocks = {{.repeat = 3}};
  CHECK(mentions(message(config), "does not divide layers"));
  config = gpt(2, 96, 6, 1000, 64);
  config.max_positions.reset();
  CHECK(mentions(message(config), "model.max_positions"));
  CHECK(for_sequence(config, 128).max_positions == 128);
  config.max_positions = 64;
  CHECK_THROWS_AS(for_sequence(config, 128), core::ConfigurationError);
}

}  // namespace cairn::models
