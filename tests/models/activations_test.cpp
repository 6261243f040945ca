// Activation bytes come from the tensors that the derived backward pass reads; the published formulas are the check.
// Korthikanti et al. 2022, "Reducing Activation Recomputation in Large Transformer Models", equations 1 to 6.
#include <algorithm>
#include <cstdint>
#include <string>
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

namespace {

// Bytes of the operators whose names begin so, on one device.
double moved_bytes(const ir::Graph& graph, const std::string& prefix, ir::Phase phase) {
  double total = 0.0;
  for (const ir::Operator& op : graph.operators())
    if (op.phase == phase && op.name.compare(0, prefix.size(), prefix) == 0)
      total += ir::bytes(ir::Shard{.op = &op, .graph = &graph, .box = op.domain.box(k_sizes)});
  return total;
}

}  // namespace

TEST_CASE("a loss by library operators moves and keeps tensors of its own", "[models]") {
  // n = 64 * 2 * 1000 logits, 128 tokens. Forward: widen 2 + 4, log-softmax 4 + 4, the label's entry per token (label
  // 8, entry 4, loss 4). Backward: fill 4, the entry's gradient per token (label 8, gradient 4), log-softmax reads
  // gradient and result and writes 4 each, narrow 4 + 2. Kept beside the norm's input and output: the logarithms, 4.
  BuildOptions build = options(AttentionKernel::flash2);
  build.kernels.loss = LossKernel::log_softmax;
  const double n = 64.0 * 2.0 * 1000.0;
  const double tokens = 128.0;
  const ir::Model model = build_transformer(testing::gpt(4, k_hidden, k_heads, 1000, 64), build);
  const ir::Graph& head = graph_of(model, ir::Position::exit);
  CHECK(moved_bytes(head, "loss", ir::Phase::forward) == n * (2 + 4 + 4 + 4) + tokens * (8 + 4 + 4));
  CHECK(moved_bytes(head, "loss", ir::Phase::backward) == n * (4 + 4 + 4 + 4 + 4 + 2) + tokens * (8 + 4));
  CHECK(saved_bytes(head) == 64.0 * 2.0 * 4.0 * 96.0 + 4.0 * n);

  // The most likely token: the widened logits once more, one number a token.
  build.kernels.finds_best_token = true;
  const ir::Model reporting = build_transformer(testing::gpt(4, k_hidden, k_heads, 1000, 64), build);
  CHECK(moved_bytes(graph_of(reporting, ir::Position::exit), "accuracy", ir::Phase::forward) == n * 4 + tokens * 4);
  CHECK(moved_bytes(graph_of(reporting, ir::Position::exit), "accuracy", ir::Phase::backward) == 0);
}

TEST_CASE("a loss under a compiler is one kernel where the compiler takes it in", "[models]") {
  // n logits: read twice at most (2 bytes, counted once), one loss and one logarithm a token; 8 bytes a label.
  BuildOptions build = options(AttentionKernel::flash2);
  build.kernels.loss = LossKernel::log_softmax;
  build.kernels.compiled_loss = true;
  const double n = 64.0 * 2.0 * 1000.0;
  const auto loss_bytes = [&] {
    const ir::Model model = build_transformer(testing::gpt(4, k_hidden, k_heads, 1000, 64), build);
    return moved_bytes(graph_of(model, ir::Position::exit), "loss", ir::Phase::forward);
  };
  CHECK(loss_bytes() == n * (2 + 4 + 4 + 4) + 128.0 * (8 + 4 + 4));
  build.kernels.compiled = true;
  CHECK(loss_bytes() == n * 2 + 128.0 * (8 + 4 + 4));
}

TEST_CASE("metrics pass over the logits and take no part in the derivative", "[models]") {
  // Each pass reads 2 bytes a logit and writes 4 a token.
  BuildOptions build = options(AttentionKernel::flash2);
  build.kernels.metric_passes = 3;
  const ir::Model model = build_transformer(testing::gpt(4, k_hidden, k_heads, 1000, 64), build);
  const ir::Graph& head = graph_of(model, ir::Position::exit);
  const double n = 64.0 * 2.0 * 1000.0;
  CHECK(moved_bytes(head, "metric", ir::Phase::forward) == 3 * (n * 2 + 128.0 * 4));
  CHECK(moved_bytes(head, "metric", ir::Phase::backward) == 0);
}

TEST_CASE("gradients of queries, keys and values are copied into one", "[models]") {
  // 3 x 96 elements a token, 2 bytes, read and written; nothing else changes.
  BuildOptions build = options(AttentionKernel::flash2);
  const ir::Model whole = build_transformer(testing::gpt(4, k_hidden, k_heads, 1000, 64), build);
  build.kernels.joins_qkv = true;
  const ir::Model joined = build_transformer(testing::gpt(4, k_hidden, k_heads, 1000, 64), build);
  const ir::Graph& before = graph_of(whole, ir::Position::body);
  const ir::Graph& after = graph_of(joined, ir::Position::body);
  CHECK(moved_bytes(after, "qkv.out.gradient_join", ir::Phase::backward) == 128.0 * 3 * 96 * (2 + 2));
  CHECK(moved_bytes(after, "", ir::Phase::backward) ==
        moved_bytes(before, "", ir::Phase::backward) + 128.0 * 3 * 96 * (2 + 2));
  CHECK(moved_bytes(after, "", ir::Phase::forward) == moved_bytes(before, "", ir::Phase::forward));
}

TEST_CASE("cuDNN puts gradients of queries, keys and values where it read them", "[models]") {
  // In one tensor that nothing comes between: no copy. Rotated, or queries of several heads to a key: copied.
  BuildOptions build = options(AttentionKernel::cudnn);
  build.kernels.joins_qkv = true;
  const auto copied = [&build](const TransformerConfig& config) {
    const ir::Model model = build_transformer(config, build);
    return moved_bytes(graph_of(model, ir::Position::body), "qkv.out.gradient_join", ir::Phase::backward);
  };
  TransformerConfig config = testing::gpt(4, k_hidden, k_heads, 1000, 64);
  CHECK(copied(config) == 0);
  config.position = PositionEncoding::rope;
  CHECK(copied(config) == 128.0 * 3 * 96 * (2 + 2));
  config.position = PositionEncoding::learned;
  config.kv_heads = 1;
  CHECK(copied(config) > 0);
}

TEST_CASE("a norm's derivative makes its parameters' gradients in the same pass", "[models]") {
  // Of two norms a layer: a pass over 128 x 96 elements of gradient and input, 2 bytes each, and over mean and scale of
  // 128 rows, 4 bytes each, is saved.
  BuildOptions build = options(AttentionKernel::flash2);
  const ir::Model apart = build_transformer(testing::gpt(4, k_hidden, k_heads, 1000, 64), build);
  build.kernels.one_pass_norm = true;
  const ir::Model joint = build_transformer(testing::gpt(4, k_hidden, k_heads, 1000, 64), build);
  const ir::Graph& before = graph_of(apart, ir::Position::body);
  const ir::Graph& after = graph_of(joint, ir::Position::body);
  CHECK(after.operators().size() == before.operators().size() - 2);
  CHECK(moved_bytes(after, "", ir::Phase::backward) ==
        moved_bytes(before, "", ir::Phase::backward) - 2.0 * (128.0 * 96 * (2 + 2) + 128.0 * (4 + 4)));
  CHECK(moved_bytes(after, "", ir::Phase::forward) == moved_bytes(before, "", ir::Phase::forward));
}

TEST_CASE("a fused norm on a widened copy", "[models]") {
  // Widen 2 + 4 and back 4 + 2 bytes an element; the norm itself reads 4 in place of 2, forward and, with the gradient
  // that it makes, backward. A compiler leaves nothing of it.
  BuildOptions build = options(AttentionKernel::flash2);
  build.kernels.wide_norm = true;
  const auto block = [&] { return build_transformer(testing::gpt(4, k_hidden, k_heads, 1000, 64), build); };
  const ir::Model wide = block();
  const double elements = 128.0 * 96;
  CHECK(moved_bytes(graph_of(wide, ir::Position::body), "norm1.widen", ir::Phase::forward) == elements * (2 + 4));
  CHECK(moved_bytes(graph_of(wide, ir::Position::body), "norm1.widen", ir::Phase::backward) == elements * (4 + 2));
  build.kernels.compiled = true;
  const ir::Model compiled = block();
  CHECK(moved_bytes(graph_of(compiled, ir::Position::body), "norm1.widen", ir::Phase::forward) == 0);
}

TEST_CASE("products apart: the same weights and kept bytes, products and one sum of gradients more", "[models]") {
  // h = 96, 6 heads of 16, 2 kv heads: q 96, k and v 32 each. Three and two products in place of one each; their input
  // gradients (3 and 2) are added: 3 reads and a write, 2 reads and a write of tokens * 96 * 2 bytes.
  const TransformerConfig config = testing::llama(4, 96, 6, 2, 256, 1000);
  BuildOptions build = options(AttentionKernel::flash2);
  const ir::Model together = build_transformer(config, build);
  build.kernels.separate_qkv = true;
  build.kernels.separate_gate = true;
  const ir::Model apart = build_transformer(config, build);
  const ir::Graph& one = graph_of(together, ir::Position::body);
  const ir::Graph& many = graph_of(apart, ir::Position::body);
  CHECK(one.parameter_elements() == many.parameter_elements());
  CHECK(saved_bytes(one) == saved_bytes(many));
  const auto products = [](const ir::Graph& graph) {
    return std::count_if(graph.operators().begin(), graph.operators().end(), [](const ir::Operator& op) {
      return op.phase == ir::Phase::forward && op.is_plain_contraction();
    });
  };
  CHECK(products(one) == 4);
  CHECK(products(many) == 7);
  CHECK(moved_bytes(many, "norm1.out.gradient_sum", ir::Phase::backward) == 128.0 * 96 * 2 * (3 + 1));
  CHECK(moved_bytes(many, "norm2.out.gradient_sum", ir::Phase::backward) == 128.0 * 96 * 2 * (2 + 1));
}

TEST_CASE("experts that scale rows themselves leave nothing to keep where rows are summed", "[models]") {
  // 128 tokens, 2 rows of 96 of each; a weight is 4 bytes.
  TransformerConfig config = testing::llama(4, 96, 6, 2, 256, 1000);
  config.moe = MixtureConfig{.experts = 8, .top_k = 2, .ffn = 64};
  for (const Dispatcher dispatcher : {Dispatcher::alltoall, Dispatcher::allgather}) {
    config.moe->dispatcher = dispatcher;
    BuildOptions build = options(AttentionKernel::flash2);
    const ir::Model behind = build_transformer(config, build);
    build.kernels.weighted_experts = true;
    const ir::Model inside = build_transformer(config, build);
    const ir::Graph& before = graph_of(behind, ir::Position::body);
    const ir::Graph& after = graph_of(inside, ir::Position::body);
    CHECK(saved_bytes(before) - saved_bytes(after) == 128.0 * 2 * 96 * 2);
    const auto moved_more = [&](const char* name, ir::Phase phase) {
      return moved_bytes(after, name, phase) - moved_bytes(before, name, phase);
    };
    CHECK(moved_more("experts.activation", ir::Phase::forward) == 128.0 * 2 * 4);
    CHECK(moved_more("experts.activation", ir::Phase::backward) == 128.0 * 2 * 4 * 2);
    CHECK(moved_more("combine", ir::Phase::forward) == -128.0 * 2 * 4);
    // The rows, the weights and their gradient.
    CHECK(moved_more("combine", ir::Phase::backward) == -128.0 * 2 * (96 * 2 + 4 + 4));
  }
}

TEST_CASE("experts without a gate scale their rows in a kernel of their own, which keeps them", "[models]") {
  TransformerConfig config = testing::gpt(4, 96, 6, 1000, 128);
  config.moe = MixtureConfig{.experts = 8, .top_k = 2, .ffn = 64};
  BuildOptions build = options(AttentionKernel::flash2);
  const ir::Model behind = build_transformer(config, build);
  build.kernels.weighted_experts = true;
  const ir::Model inside = build_transformer(config, build);
  const ir::Graph& after = graph_of(inside, ir::Position::body);
  CHECK(saved_bytes(after) - saved_bytes(graph_of(behind, ir::Position::body)) == 128.0 * 2 * (64 - 96) * 2);
  CHECK(moved_bytes(after, "experts.scale", ir::Phase::forward) == 128.0 * 2 * (2 * 64 * 2 + 4));
}

TEST_CASE("with the all-to-all dispatcher, ranks of several experts sort rows by expert, and back", "[models]") {
  TransformerConfig config = testing::llama(4, 96, 6, 2, 256, 1000);
  config.moe = MixtureConfig{.experts = 8, .top_k = 2, .ffn = 64};
  BuildOptions build = options(AttentionKernel::flash2);
  const ir::Model one = build_transformer(config, build);
  build.kernels.sorts_rows = true;
  CHECK(build_transformer(config, build).classes[1].graph.operators().size() ==
        one.classes[1].graph.operators().size());
  build.several_experts = true;
  const ir::Model several = build_transformer(config, build);
  const ir::Graph& sorted = graph_of(several, ir::Position::body);
  CHECK(saved_bytes(sorted) == saved_bytes(graph_of(one, ir::Position::body)));
  for (const char* name : {"experts.sort", "experts.restore"})
    for (const ir::Phase phase : {ir::Phase::forward, ir::Phase::backward})
      CHECK(moved_bytes(sorted, name, phase) == 128.0 * 2 * 96 * 2 * 2);
  // The other dispatchers bring rows in the order of experts.
  for (const Dispatcher dispatcher : {Dispatcher::allgather, Dispatcher::merged}) {
    config.moe->dispatcher = dispatcher;
    const ir::Model sorted_before = build_transformer(config, build);
    CHECK(moved_bytes(graph_of(sorted_before, ir::Position::body), "experts.sort", ir::Phase::forward) == 0.0);
  }
}

TEST_CASE("a narrow norm keeps its input, and widens only the quotient", "[models]") {
  // Per element: square 2 + 2, mean 2, divide 2 + 2, widen 2 + 4, narrow 4 + 2, gain 2 + 2; kept: input 2, normal 2,
  // output 2 where the wide one keeps 4, 2 and 2. Scale: 4 bytes a token, written once and read once; gain once, 2
  // * 96.
  const TransformerConfig config = testing::llama(4, 96, 6, 2, 256, 1000);
  BuildOptions build = options(AttentionKernel::flash2);
  build.kernels.norm = NormKernel::unfused;
  const double wide = saved_bytes(graph_of(build_transformer(config, build), ir::Position::body));
  build.kernels.narrow_norm = true;
  const ir::Model narrow = build_transformer(config, build);
  const ir::Graph& block = graph_of(narrow, ir::Position::body);
  const double elements = 128.0 * 96;
  CHECK(saved_bytes(block) == wide - 2 * elements * (4 - 2));
  CHECK(moved_bytes(block, "norm1", ir::Phase::forward) == elements * (4 + 2 + 4 + 6 + 6 + 4) + 2 * 128.0 * 4 + 2 * 96);
}

TEST_CASE("a product that scales its result needs no pass for it", "[models]") {
  // Scores: 2 * 6 * 64 * 64. The pass reads and writes fp32 forward (8 bytes); its derivative does the same.
  BuildOptions build = options(AttentionKernel::unfused);
  build.kernels.wide_scores = true;
  const auto moved = [&](ir::Phase phase) {
    const ir::Model model = build_transformer(testing::llama(4, 96, 6, 6, 256, 1000), build);
    return moved_bytes(graph_of(model, ir::Position::body), "", phase);
  };
  const double forward = moved(ir::Phase::forward);
  const double backward = moved(ir::Phase::backward);
  build.kernels.scaled_product = true;
  CHECK(forward - moved(ir::Phase::forward) == 2.0 * 6 * 64 * 64 * 8);
  CHECK(backward - moved(ir::Phase::backward) == 2.0 * 6 * 64 * 64 * 8);
}

TEST_CASE("a fused loss keeps the logits in the activation format", "[models]") {
  BuildOptions build = options(AttentionKernel::flash2);
  build.kernels.loss = LossKernel::fused;
  const ir::Model model = build_transformer(testing::gpt(4, k_hidden, k_heads, 1000, 64), build);
  CHECK(saved_bytes(graph_of(model, ir::Position::exit)) == 64.0 * 2.0 * (4.0 * 96.0 + 2.0 * 1000.0));
}

TEST_CASE("queries, keys and values are copied before they are rotated, and the copies kept", "[models]") {
  // One of queries, keys or values: 128 tokens x 96 elements x 2 bytes. Rotated in the projection's output, 3 of them
  // are kept. Copied, the storage of the first copy (3) and of the second (keys and values, 2).
  const TransformerConfig config = testing::llama(4, k_hidden, k_heads, k_heads, 256, 1000);
  BuildOptions build = options(AttentionKernel::flash2);
  build.kernels.pointwise = PointwiseKernel::eager;
  const ir::Model in_place = build_transformer(config, build);
  build.kernels.copies_qkv = true;
  const ir::Model copied = build_transformer(config, build);
  const ir::Graph& before = graph_of(in_place, ir::Position::body);
  const ir::Graph& after = graph_of(copied, ir::Position::body);
  const double one = 128.0 * 96 * 2;
  CHECK(saved_bytes(after) == saved_bytes(before) + (5 - 3) * one);

  const auto moved = [&after, one](const char* name, ir::Phase phase) { return moved_bytes(after, name, phase) / one; };
  CHECK(moved("qkv.order", ir::Phase::forward) == 3 + 3);
  CHECK(moved("kv.join", ir::Phase::forward) == 2 + 2);
  CHECK(moved("kv.order", ir::Phase::forward) == 2 + 2);
  CHECK(moved("q_rope", ir::Phase::forward) == 1 + 1);
  CHECK(moved("k_rope", ir::Phase::forward) == 1 + 1);
  // The two rotations again, gradients of keys and values beside each other, all three in one, and the projection's
  // order; the second copy's derivative is a view.
  CHECK(moved("q_rope", ir::Phase::backward) == 1 + 1);
  CHECK(moved("k_rope", ir::Phase::backward) == 1 + 1);
  CHECK(moved("kv.join", ir::Phase::backward) == 2 + 2);
  CHECK(moved("kv.order", ir::Phase::backward) == 0);
  CHECK(moved("qkv.order.out.gradient_join", ir::Phase::backward) == 3 + 3);
  CHECK(moved("qkv.order.backward", ir::Phase::backward) == 3 + 3);
  // In place, forward: half of queries and keys (2 + 2), two products (2 + 2 each), their sum (2 + 2 and 2): 18.
  // Backward: three of 2 + 2, and the sum of two gradients of the projection's output, 3 + 3 and 3: 21.
  CHECK(moved_bytes(after, "", ir::Phase::forward) == moved_bytes(before, "", ir::Phase::forward) + (18 - 18) * one);
  CHECK(moved_bytes(after, "", ir::Phase::backward) == moved_bytes(before, "", ir::Phase::backward) + (20 - 21) * one);
}

TEST_CASE("heads that share keys, and what a compiler fuses, are rotated where they are", "[models]") {
  BuildOptions build = options(AttentionKernel::flash2);
  build.kernels.pointwise = PointwiseKernel::eager;
  const auto same = [&build](std::int64_t kv_heads) {
    const TransformerConfig config = testing::llama(4, k_hidden, k_heads, kv_heads, 256, 1000);
    build.kernels.copies_qkv = false;
    const ir::Model without = build_transformer(config, build);
    build.kernels.copies_qkv = true;
    const ir::Model with = build_transformer(config, build);
    return saved_bytes(graph_of(with, ir::Position::body)) == saved_bytes(graph_of(without, ir::Position::body));
  };
  CHECK(same(2));
  CHECK_FALSE(same(k_heads));
  build.kernels.compiled = true;
  CHECK(same(k_heads));
}

}  // namespace cairn::models
