// What families of models add to a transformer: operators, counted by hand.
#include <string>
#include <vector>

#include "catch.h"

#include "small_configs.h"

namespace cairn::models {
namespace {

using testing::gpt;
using testing::llama;

constexpr loopnest::Sizes k_sizes{.batch = 2, .sequence = 128};
constexpr double k_tokens = 2 * 128;

const ir::Operator& find(const ir::Graph& graph, const std::string& name) {
  for (const ir::Operator& op : graph.operators())
    if (op.name == name) return op;
  FAIL("no operator " << name);
  return graph.operators().front();
}

const ir::Graph& body(const ir::Model& model) { return model.classes[1].graph; }

ir::Shard whole(const ir::Graph& graph, const std::string& name) {
  const ir::Operator& op = find(graph, name);
  return {.op = &op, .graph = &graph, .box = op.domain.box(k_sizes)};
}

TransformerConfig small() { return llama(2, 96, 6, 2, 256, 1000); }

TransformerConfig with_delta() {
  TransformerConfig c = small();
  c.delta = DeltaConfig{.key_heads = 2, .value_heads = 6, .key_dim = 8, .value_dim = 16, .convolution = 4};
  c.blocks = {{.repeat = 1, .attention = AttentionPattern{.kind = AttentionKind::delta}}};
  return c;
}

std::vector<TransformerConfig> all_features() {
  TransformerConfig attention = small();
  attention.attention_gate = attention.attention_sinks = true;
  attention.score_cap = attention.logit_cap = attention.embedding_scale = true;
  attention.norm_place = NormPlace::sandwich;
  attention.qk_norm = QkNorm::whole;
  attention.rope_dim = 8;
  attention.nope_scale = true;
  attention.blocks = {{.repeat = 1, .attention = AttentionPattern{AttentionKind::chunked, 32}},
                      {.repeat = 1, .attention = AttentionPattern{.kind = AttentionKind::nope}}};
  TransformerConfig beside = gpt(2, 96, 6, 1000, 128);
  beside.residual = Residual::parallel;
  beside.norm_place = NormPlace::shared;
  TransformerConfig after = small();
  after.norm_place = NormPlace::post;
  after.qk_norm = QkNorm::unscaled;
  TransformerConfig experts = small();
  experts.mlp_bias = true;
  experts.activation = Activation::clamped_silu;
  experts.moe = MixtureConfig{.experts = 8,
                              .top_k = 2,
                              .ffn = 64,
                              .shared_experts = 1,
                              .router_bias = true,
                              .balance_bias = true,
                              .shared_gate = true};
  return {attention, beside, after, experts, with_delta()};
}

}  // namespace

TEST_CASE("with every feature, whatever the kernels, every parameter and every input gets a gradient", "[models]") {
  for (const TransformerConfig& config : all_features())
    for (const bool separate : {false, true})
      for (const NormKernel norm : {NormKernel::fused, NormKernel::unfused})
        for (const PointwiseKernel pointwise : {PointwiseKernel::fused, PointwiseKernel::eager}) {
          BuildOptions options;
          options.kernels = {.norm = norm,
                             .pointwise = pointwise,
                             .separate_qkv = separate,
                             .separate_gate = separate,
                             .weighted_experts = separate};
          const ir::Model model = build_transformer(config, options);
          CHECK(model.parameters() == build_transformer(config, BuildOptions{}).parameters());
          for (const ir::LayerClass& layer : model.classes) {
            const ir::Graph& graph = layer.graph;
            for (std::size_t id = 0; id < graph.tensors().size(); ++id) {
              const auto tensor = static_cast<ir::TensorId>(id);
              INFO(layer.name << " " << graph.tensor(tensor).name);
              if (graph.tensor(tensor).role == ir::Role::parameter) CHECK(graph.gradient(tensor) != ir::k_no_tensor);
            }
            for (const ir::TensorId input : graph.inputs()) CHECK(graph.gradient(input) != ir::k_no_tensor);
            for (const ir::Operator& op : graph.operators()) CHECK(ir::bytes(whole(graph, op.name)) > 0.0);
            CHECK(ir::topological_order(graph).size() == graph.operators().size());
          }
        }
}

TEST_CASE("sinks weigh the context: it moves in and out, with a number per row and one per head", "[models]") {
  TransformerConfig config = small();
  config.attention_sinks = true;
  const ir::Model model = build_transformer(config, BuildOptions{});
  // 96 elements of 2 bytes twice, 6 log-sum-exps of 4 bytes; 6 sinks.
  CHECK(ir::bytes(whole(body(model), "sink")) == k_tokens * (2 * 96 * 2 + 6 * 4) + 6 * 2);
  CHECK(model.parameters() == build_transformer(small(), BuildOptions{}).parameters() + 2 * 6);
}

TEST_CASE("a rotated half of each head moves half as much", "[models]") {
  TransformerConfig config = small();
  config.rope_dim = 8;
  const ir::Model half = build_transformer(config, BuildOptions{}), all = build_transformer(small(), BuildOptions{});
  CHECK(2 * ir::bytes(whole(body(half), "rope")) == ir::bytes(whole(body(all), "rope")));
}

TEST_CASE("queries that are not rotated are scaled where they lie", "[models]") {
  TransformerConfig config = small();
  config.nope_scale = true;
  config.blocks = {{.repeat = 1, .attention = AttentionPattern{.kind = AttentionKind::nope}}};
  const ir::Model model = build_transformer(config, BuildOptions{});
  CHECK(ir::bytes(whole(body(model), "query_scale")) == k_tokens * 2 * 96 * 2);
  for (const ir::Operator& op : body(model).operators()) CHECK(op.name != "rope");
}

TEST_CASE("side by side, attention and MLP read what the block reads", "[models]") {
  TransformerConfig config = gpt(2, 96, 6, 1000, 128);
  const auto reads = [&](const std::string& name) {
    const ir::Model model = build_transformer(config, BuildOptions{});
    const ir::Graph& graph = body(model);
    return graph.tensor(find(graph, name).accesses.front().tensor).name;
  };
  CHECK(reads("norm2") == "residual1.out");
  config.residual = Residual::parallel;
  CHECK(reads("norm2") == "x");
  CHECK(reads("fc1") == "norm2.out");
  config.norm_place = NormPlace::shared;
  CHECK(reads("fc1") == "norm1.out");
}

TEST_CASE("norms behind a sub-layer, and on both sides of it", "[models]") {
  TransformerConfig config = small();
  const auto names = [&] {
    const ir::Model model = build_transformer(config, BuildOptions{});
    std::string text;
    for (std::size_t id = 0; id < body(model).forward_count(); ++id) {
      const std::string& name = body(model).operators()[id].name;
      if (name.starts_with("norm") || name == "attention" || name == "fc1" || name.starts_with("residual"))
        text += name + " ";
    }
    return text;
  };
  config.norm_place = NormPlace::post;
  CHECK(names() == "attention norm1.after residual1 fc1 norm2.after residual2 ");
  config.norm_place = NormPlace::sandwich;
  CHECK(names() == "norm1 attention norm1.after residual1 norm2 fc1 norm2.after residual2 ");
}

TEST_CASE("a gated delta rule, product by product", "[models]") {
  const ir::Model model = build_transformer(with_delta(), BuildOptions{});
  const ir::Graph& block = body(model);
  const double h = 96, n = 2, g = 3, d = 8, e = 16, c = 64, taps = 4;
  const double mixed = 2 * d + g * e;
  const auto flops = [&](const char* name) { return ir::flops(whole(block, name)); };
  CHECK(flops("qkvz") == 2 * k_tokens * h * n * (mixed + g * e));
  CHECK(flops("delta.gates") == 2 * k_tokens * h * n * 2 * g);
  CHECK(flops("delta.keys") == 2 * k_tokens * n * c * d);
  CHECK(flops("delta.scores") == 2 * k_tokens * n * c * d);
  CHECK(flops("delta.w") == 2 * k_tokens * n * g * c * d);
  CHECK(flops("delta.u") == 2 * k_tokens * n * g * c * e);
  CHECK(flops("delta.walk") == 4 * k_tokens * n * g * d * e);
  CHECK(flops("delta.query") == 2 * k_tokens * n * g * d * e);
  CHECK(flops("delta.context") == 2 * k_tokens * n * g * c * e);
  CHECK(flops("proj") == 2 * k_tokens * h * n * g * e);
  // Pairs j <= k <= i of a chunk: C (C + 1) (C + 2) / 6, a multiply-add each.
  CHECK(flops("delta.solve") == 2 * (k_tokens / c) * n * g * c * (c + 1) * (c + 2) / 6);
  // The first three tokens of a sequence lack 3 + 2 + 1 taps; a multiply-add per tap, and a silu of 4 over its taps.
  const double points = 2 * (128 * taps - 6) * n * mixed;
  CHECK(flops("convolution") == points * (2 + 4 / taps));
  // In, out and weights, each once.
  CHECK(ir::bytes(whole(block, "convolution")) == 2 * (2 * k_tokens * n * mixed + n * mixed * taps));
  // Parameters: projections, taps, two numbers per value head, a gain, the way back.
  const std::int64_t layer = 96 * (2 * (16 + 48 + 48) + 2 * 6) + 2 * 64 * 4 + 2 * 6 + 16 + 96 * 96;
  TransformerConfig plain = small();
  CHECK(model.parameters() - build_transformer(plain, BuildOptions{}).parameters() ==
        2 * (layer - (96 * (96 + 64) + 96 * 96)));
}

}  // namespace cairn::models
