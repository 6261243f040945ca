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

  // Counted full, a window is its pairs to both sides: twice 136 + 768 but for the 64 on the diagonal.
  const auto full = [&](std::size_t index) {
    const ir::Graph& graph = model.classes[index].graph;
    return ir::flops_full(whole(graph, find(graph, "attention"))) / (4.0 * 2 * 6 * 16);
  };
  CHECK(full(1) == 2 * (136 + 768) - 64);
  CHECK(full(2) == 64 * 64);
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
    CHECK(model.forward_flops(k_sizes, /*unmasked=*/false) == expected);
  }
  // Causal: 65 / 128 of the pairs, whether the kernel skips the others or not.
  for (const AttentionKernel attention :
       {AttentionKernel::unfused, AttentionKernel::fused_softmax, AttentionKernel::flash2}) {
    BuildOptions options;
    options.kernels.attention = attention;
    const ir::Model model = build_transformer(gpt(2, 96, 6, 1000, 64), options);
    CHECK(model.forward_flops(k_sizes, /*unmasked=*/true) == expected - 4 * b * s * s * l * h * (1.0 - 65.0 / 128.0));
  }
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

TEST_CASE("traffic of memory-bound operators, in units of one bf16 residual stream", "[models]") {
  const ir::Model model = build_transformer(gpt(2, 96, 6, 1000, 64), BuildOptions{});
  const ir::Graph& block = model.classes[1].graph;
  const double tokens = 128, h = 96, unit = tokens * h * 2;
  // Norm: in, out; gain and shift; two fp32 numbers per token. Backward: gradient, input, input's gradient; gain;
  // statistics. Then gradient and input again for those of gain and shift, which fp32 accumulators are read and written
  // for.
  CHECK(traffic(block, "norm1") == 2 * unit + 2 * h * 2 + 2 * tokens * 4);
  CHECK(traffic(block, "norm1.backward") == 3 * unit + h * 2 + 2 * tokens * 4);
  CHECK(traffic(block, "norm1.parameter_gradient") == 2 * unit + 2 * tokens * 4 + 2 * 2 * h * 4);
  // Bias, dropout, addition: two in, one out, a mask of half a unit; backward without the residual.
  CHECK(traffic(block, "residual1") == 3.5 * unit + h * 2);
  CHECK(traffic(block, "residual1.backward") == 2.5 * unit);
  CHECK(traffic(block, "residual1.bias_gradient") == unit + 2 * h * 4);
  // Bias and gelu over four times the width.
  CHECK(traffic(block, "activation") == 8 * unit + 4 * h * 2);
  CHECK(traffic(block, "activation.backward") == 12 * unit + 4 * h * 2);
}

TEST_CASE("whatever the kernels, every parameter and every input gets a gradient", "[models]") {
  TransformerConfig with_all = gpt(4, 96, 6, 1000, 64);
  with_all.kv_heads = 2;
  with_all.qk_norm = QkNorm::head;
  with_all.embedding_norm = true;
  with_all.position = PositionEncoding::rope;
  with_all.gated_mlp = true;
  for (const TransformerConfig& config : {gpt(4, 96, 6, 1000, 64), llama(4, 96, 6, 2, 256, 1000), with_all}) {
    for (const AttentionKernel attention :
         {AttentionKernel::unfused, AttentionKernel::fused_softmax, AttentionKernel::cudnn}) {
      for (const NormKernel norm : {NormKernel::fused, NormKernel::unfused}) {
        for (const PointwiseKernel pointwise : {PointwiseKernel::fused, PointwiseKernel::eager}) {
          for (const LossKernel loss : {LossKernel::fused, LossKernel::unfused}) {
            BuildOptions options;
            options.kernels = {.attention = attention, .norm = norm, .pointwise = pointwise, .loss = loss};
            const ir::Model model = build_transformer(config, options);
            for (const ir::LayerClass& layer : model.classes) {
              const ir::Graph& graph = layer.graph;
              for (std::size_t id = 0; id < graph.tensors().size(); ++id) {
                const auto tensor = static_cast<ir::TensorId>(id);
                INFO(layer.name << " " << graph.tensor(tensor).name);
                if (graph.tensor(tensor).role == ir::Role::parameter) CHECK(graph.gradient(tensor) != ir::k_no_tensor);
              }
              for (const ir::TensorId input : graph.inputs()) CHECK(graph.gradient(input) != ir::k_no_tensor);
              for (const ir::Operator& op : graph.operators()) CHECK(ir::bytes(whole(graph, op)) > 0.0);
              CHECK(ir::topological_order(graph).size() == graph.operators().size());
            }
          }
        }
      }
    }
  }
}

TEST_CASE("every part of a batch is differentiated", "[models]") {
  // The derivative of a product is two products of its size, in the head as in the blocks.
  for (const std::int64_t parts : {1, 2}) {
    BuildOptions options;
    options.parts = parts;
    const ir::Model model = build_transformer(llama(2, 96, 6, 2, 256, 1000), options);
    for (const ir::LayerClass& layer : model.classes) {
      double forward = 0.0, backward = 0.0;
      for (const ir::Operator& op : layer.graph.operators()) {
        const bool derived = op.forward >= 0;
        if (op.kind == ir::Kind::contraction && (derived ? layer.graph.op(op.forward) : op).is_plain_contraction())
          (derived ? backward : forward) += ir::flops(whole(layer.graph, op));
      }
      INFO(layer.name << " in " << parts << " parts");
      CHECK(backward == 2 * forward);
      for (const ir::TensorId input : layer.graph.inputs()) CHECK(layer.graph.gradient(input) != ir::k_no_tensor);
    }
  }
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
  config.residual = Residual::kraken;
  CHECK(mentions(message(config), "model.ways"));
  config.residual = Residual::standard;
  config.blocks = {{.repeat = 1, .mlp = MlpKind::moe}};
  CHECK(mentions(message(config), "no moe block"));
  config.blocks = {{.repeat = 1, .attention = AttentionPattern{.kind = AttentionKind::mla}}};
  CHECK(mentions(message(config), "no mla block"));
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
