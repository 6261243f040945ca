// Activation bytes come from the tensors that the derived backward pass reads; the published formulas are the check.
// Korthikanti et al. 2022, "Reducing Activation Recomputation in Large Transformer Models", equations 1 to 6.
#include <cstdint>
#include <vector>

#include "catch.h"

#include "small_configs.h"

namespace cairn::models {
namespace {

constexpr loopnest::Sizes k_sizes{.batch = 2, .sequence = 64};
constexpr std::int64_t k_hidden = 96, k_heads = 6;

BuildOptions options(AttentionKernel attention) {
  BuildOptions result;
  result.kernels.attention = attention;
  return result;
}

double saved_bytes(const ir::Graph& graph, const std::vector<char>& recomputed = {}) {
  double total = 0.0;
  for (const ir::TensorId id : graph.saved(recomputed)) {
    const ir::Tensor& tensor = graph.tensor(id);
    if (!tensor.statistic)
      total += static_cast<double>(tensor.elements(k_sizes)) * numerics::bytes_per_element(tensor.format);
  }
  return total;
}

template <class Choose>
std::vector<char> flagged(const ir::Graph& graph, Choose choose) {
  std::vector<char> flags(graph.forward_count());
  for (std::size_t id = 0; id < flags.size(); ++id) flags[id] = choose(graph.operators()[id]);
  return flags;
}

const ir::Graph& graph_of(const ir::Model& model, ir::Position position) {
  for (const ir::LayerClass& layer : model.classes) {
    if (layer.position == position) return layer.graph;
  }
  FAIL("no layer at that position");
  return model.classes.front().graph;
}

}  // namespace

TEST_CASE("saved activations of a GPT block: korthikanti_closed_form", "[models]") {
  const double sbh = 64.0 * 2.0 * 96.0;
  const double scores = 5.0 * 6.0 * 64.0 / 96.0;  // 5 a s / h
  for (const PointwiseKernel pointwise : {PointwiseKernel::fused, PointwiseKernel::eager}) {
    BuildOptions build = options(AttentionKernel::fused_softmax);
    build.kernels.pointwise = pointwise;
    const ir::Model model = build_transformer(testing::gpt(4, k_hidden, k_heads, 1000, 64), build);
    const ir::Graph& block = graph_of(model, ir::Position::body);

    CHECK(saved_bytes(block) == sbh * (34.0 + scores));
    CHECK(saved_bytes(block, flagged(block, [](const ir::Operator& op) { return op.region == "attention"; })) ==
          34.0 * sbh);
    CHECK(saved_bytes(block, flagged(block, [](const ir::Operator&) { return true; })) == 2.0 * sbh);
  }
}

TEST_CASE("saved activations of the ends: korthikanti_closed_form", "[models]") {
  // Section 4.3: embedding dropout keeps its mask, sbh; the head keeps the final norm's input and output, 4 sbh, and
  // fp32 logits, 4 sbv.
  const ir::Model model =
      build_transformer(testing::gpt(4, k_hidden, k_heads, 1000, 64), options(AttentionKernel::fused_softmax));
  const double sb = 64.0 * 2.0;
  CHECK(saved_bytes(graph_of(model, ir::Position::entry)) == sb * 96.0);
  CHECK(saved_bytes(graph_of(model, ir::Position::exit)) == 4.0 * sb * 96.0 + 4.0 * sb * 1000.0);
}

TEST_CASE("without dropout a block keeps no masks", "[models]") {
  // Of 34 + 5as/h the two residual masks are 2 sbh; the score mask and the dropped copy are 3as/h.
  TransformerConfig config = testing::gpt(4, k_hidden, k_heads, 1000, 64);
  config.dropout = 0.0;
  const ir::Model model = build_transformer(config, options(AttentionKernel::fused_softmax));
  CHECK(saved_bytes(graph_of(model, ir::Position::body)) == 64.0 * 2.0 * 96.0 * (32.0 + 2.0 * 6.0 * 64.0 / 96.0));
}

TEST_CASE("saved activations of a Llama block with flash attention", "[models]") {
  // Per token, 2 bytes each, h = 96, kv width 2/6 h = 32, ffn 256: norm1 in and out 2h, fused projection h + 2 * 32,
  // context h, norm2 in and out 2h, both halves 2 * 256, their product 256. The eager variant keeps the activation's
  // result too.
  const TransformerConfig config = testing::llama(4, 96, 6, 2, 256, 1000);
  const double tokens = 64.0 * 2.0;
  const double fused = tokens * 2.0 * (2 * 96 + (96 + 64) + 96 + 2 * 96 + 3 * 256);
  BuildOptions build = options(AttentionKernel::flash2);
  CHECK(saved_bytes(graph_of(build_transformer(config, build), ir::Position::body)) == fused);
  build.kernels.pointwise = PointwiseKernel::eager;
  CHECK(saved_bytes(graph_of(build_transformer(config, build), ir::Position::body)) == fused + tokens * 2.0 * 256);
  // An unfused norm keeps the widened input (4 bytes) and the narrowed normal (2) instead of the input (2).
  build.kernels.norm = NormKernel::unfused;
  CHECK(saved_bytes(graph_of(build_transformer(config, build), ir::Position::body)) ==
        fused + tokens * 2.0 * 256 + 2 * tokens * 96 * (4 + 2 - 2));
  build.kernels.compiled = true;
  CHECK(saved_bytes(graph_of(build_transformer(config, build), ir::Position::body)) == fused);
}

TEST_CASE("flash attention keeps one fp32 number per row and head", "[models]") {
  const ir::Model model = build_transformer(testing::llama(4, 96, 6, 2, 256, 1000), options(AttentionKernel::flash2));
  const ir::Graph& block = graph_of(model, ir::Position::body);
  double statistics = 0.0;
  for (const ir::TensorId id : block.saved()) {
    const ir::Tensor& tensor = block.tensor(id);
    if (tensor.statistic)
      statistics += static_cast<double>(tensor.elements(k_sizes)) * numerics::bytes_per_element(tensor.format);
  }
  // log-sum-exp per token and head, one scale per token and norm
  CHECK(statistics == 4.0 * 64.0 * 2.0 * (6.0 + 2.0));
}

TEST_CASE("a fused loss keeps the logits in the activation format", "[models]") {
  BuildOptions build = options(AttentionKernel::flash2);
  build.kernels.loss = LossKernel::fused;
  const ir::Model model = build_transformer(testing::gpt(4, k_hidden, k_heads, 1000, 64), build);
  CHECK(saved_bytes(graph_of(model, ir::Position::exit)) == 64.0 * 2.0 * (4.0 * 96.0 + 2.0 * 1000.0));
}

}  // namespace cairn::models
