// State-space mixers: work and traffic against counts by hand, and what a user may write.
#include <string>
#include <vector>

#include "catch.h"

#include "cairn/core/diagnostics.h"
#include "reading.h"
#include "small_configs.h"

namespace cairn::models {
namespace {

using testing::mentions;
using testing::Outcome;
using testing::read_text;

constexpr std::int64_t k_batch = 2, k_sequence = 64, k_tokens = k_batch * k_sequence;
constexpr loopnest::Sizes k_sizes{.batch = k_batch, .sequence = k_sequence};
constexpr AttentionPattern k_mixer{.kind = AttentionKind::mamba2}, k_nothing{.kind = AttentionKind::none};

// 8 heads of 16 x 8 in 2 groups, chunks of 16 tokens: inner width 128, B and C of 16 together.
constexpr std::int64_t k_hidden = 64, k_vocab = 1000, k_inner = 128, k_heads = 8, k_bc = 16, k_channels = 160;
constexpr std::int64_t k_projected = 2 * k_inner + 2 * k_bc + k_heads;

TransformerConfig mixers(std::int64_t layers) {
  TransformerConfig c;
  c.layers = layers;
  c.hidden = k_hidden;
  c.vocab = k_vocab;
  c.norm = Norm::rmsnorm;
  c.position = PositionEncoding::none;
  c.bias = false;
  c.mamba2 = Mamba2Config{.heads = k_heads, .head_dim = 16, .state = 8, .groups = 2, .conv = 4, .chunk = 16};
  c.blocks = {{.repeat = layers, .mlp = MlpKind::none, .attention = k_mixer}};
  return c;
}

std::int64_t parameters(const TransformerConfig& config) {
  return build_transformer(config, BuildOptions{}).parameters();
}

const ir::Graph& body(const ir::Model& model) { return model.classes[1].graph; }

double traffic(const ir::Graph& graph, const std::string& name) {
  for (const ir::Operator& op : graph.operators())
    if (op.name == name) return ir::bytes({.op = &op, .graph = &graph, .box = op.domain.box(k_sizes)});
  FAIL("no operator " << name);
  return 0.0;
}

}  // namespace

// Dao and Gu 2024, section 6: per chunk of Q tokens and head, with states of N x P, Q Q N for the scores (here once a
// group), Q Q P for the outputs inside, Q N P each for the state made and the state read. Beside them the two
// projections and the head, all multiply-adds.
TEST_CASE("FLOPs of a mixer: state_space_closed_form", "[models]") {
  const ir::Model model = build_transformer(mixers(3), BuildOptions{});
  const double h = k_hidden, q = 16, n = 8, p = 16, heads = k_heads, groups = 2, chunks = k_tokens / 16.0;
  const auto state_space_closed_form = [&](double pairs) {
    const double duality = chunks * (groups * pairs * n + heads * (pairs * p + 2 * q * n * p));
    return 2 * (3 * (duality + k_tokens * h * (k_projected + k_inner)) + k_tokens * h * k_vocab);
  };
  CHECK(model.forward_flops(k_sizes, /*unmasked=*/false) == state_space_closed_form(q * q));
  CHECK(model.forward_flops(k_sizes, /*unmasked=*/true) == state_space_closed_form(q * (q + 1) / 2));
}

TEST_CASE("FLOPs of a mixer are linear in the sequence, chunk by chunk, and in the state", "[models]") {
  const auto flops = [](const TransformerConfig& config, std::int64_t sequence) {
    return build_transformer(config, BuildOptions{}).forward_flops({.batch = 1, .sequence = sequence}, false);
  };
  const double one = flops(mixers(2), 16);
  for (const std::int64_t chunks : {2, 5, 64, 4096})
    CHECK(flops(mixers(2), 16 * chunks) == one * static_cast<double>(chunks));
  // A part of a chunk counts for what it is.
  CHECK(flops(mixers(2), 8) == one / 2);
  // N enters the scores, the states and the projection of B and C, and nothing else.
  TransformerConfig wide = mixers(1);
  wide.mamba2->state *= 2;
  const double n = 8, tokens = 64;
  const double added = 2 * n * tokens * (2 * 16 + 8 * 2 * 16 + 2 * 2 * k_hidden);
  CHECK(flops(wide, 64) - flops(mixers(1), 64) == added);
}

TEST_CASE("traffic of a mixer's operators", "[models]") {
  const ir::Model model = build_transformer(mixers(1), BuildOptions{});
  const ir::Graph& block = body(model);
  // bf16 but for the steps; 8 chunks in all of 16 x 16 scores for each of 2 groups, and 8 states of 16 x 8 each.
  const double t = 2.0 * k_tokens, scores = 2.0 * 8 * 2 * 256, states = 2.0 * 8 * 8 * 128;
  CHECK(traffic(block, "in_proj") == t * (k_hidden + k_projected) + 2.0 * k_projected * k_hidden);
  // Each of the two sequences is read with three zeros before it; weights of four taps, and biases.
  CHECK(traffic(block, "conv") == (t + 2.0 * 2 * 3) * k_channels + t * k_channels + 2.0 * 5 * k_channels);
  // One number per head in, a step and a decay in fp32 out.
  CHECK(traffic(block, "ssd.step") == t * k_heads + 2.0 * 2 * k_heads + k_tokens * 2.0 * 4 * k_heads);
  CHECK(traffic(block, "ssd.scores") == 2 * t * k_bc + scores);
  CHECK(traffic(block, "ssd.update") == t * (k_inner + k_bc) + states);
  CHECK(traffic(block, "ssd.scan") == 2 * states + 8.0 * k_heads * 4);
  CHECK(traffic(block, "ssd.from_state") == t * k_bc + states + t * k_inner);
  CHECK(traffic(block, "ssd.inside") == 3 * t * k_inner + scores);
  CHECK(traffic(block, "gated_norm") == 4 * t * k_inner + 2.0 * (k_heads + k_inner) + k_tokens * 2.0 * 4);
  CHECK(traffic(block, "out_proj") == t * (k_inner + k_hidden) + 2.0 * k_inner * k_hidden);
}

TEST_CASE("all of a mixer is differentiated, and its kernels share the gradients of what they share", "[models]") {
  TransformerConfig with_all = mixers(2);
  with_all.mamba2->bias = true;
  with_all.heads = 4;
  with_all.ffn = 96;
  with_all.blocks = {{.mlp = MlpKind::dense, .attention = k_mixer}, {.mlp = MlpKind::none}};
  for (const TransformerConfig& config : {mixers(2), with_all})
    for (const PointwiseKernel pointwise : {PointwiseKernel::fused, PointwiseKernel::eager}) {
      BuildOptions options;
      options.kernels.pointwise = pointwise;
      const ir::Model model = build_transformer(config, options);
      for (const ir::LayerClass& layer : model.classes) {
        const ir::Graph& graph = layer.graph;
        double forward = 0.0, backward = 0.0;
        for (const ir::Operator& op : graph.operators()) {
          INFO(layer.name << " " << op.name);
          CHECK(op.name != "conv.out.gradient_sum");
          CHECK(op.name != "in_proj.out.gradient_sum");
          const ir::Shard whole{.op = &op, .graph = &graph, .box = op.domain.box(k_sizes)};
          CHECK(ir::bytes(whole) > 0.0);
          const bool derived = op.forward >= 0;
          if (op.kind == ir::Kind::contraction && (derived ? graph.op(op.forward) : op).is_plain_contraction())
            (derived ? backward : forward) += ir::flops(whole);
        }
        CHECK(backward == 2 * forward);
        for (std::size_t id = 0; id < graph.tensors().size(); ++id) {
          const auto tensor = static_cast<ir::TensorId>(id);
          INFO(layer.name << " " << graph.tensor(tensor).name);
          if (graph.tensor(tensor).role == ir::Role::parameter) CHECK(graph.gradient(tensor) != ir::k_no_tensor);
        }
        for (const ir::TensorId input : graph.inputs()) CHECK(graph.gradient(input) != ir::k_no_tensor);
        CHECK(ir::topological_order(graph).size() == graph.operators().size());
      }
    }
  // Biases of both projections.
  TransformerConfig biased = mixers(1);
  biased.mamba2->bias = true;
  CHECK(parameters(biased) - parameters(mixers(1)) == k_projected + k_hidden);
}

TEST_CASE("what stages are weighed by", "[models]") {
  TransformerConfig config = mixers(2);
  CHECK(layer_weights(config) == std::vector<std::int64_t>(2, 3 * k_inner * k_hidden));
  config.layers = 5;
  config.heads = 4;
  config.ffn = 96;
  config.blocks = {
      {.mlp = MlpKind::none, .attention = k_mixer}, {.repeat = 2, .attention = k_nothing}, {.mlp = MlpKind::none}, {}};
  const std::int64_t mixer = 3 * k_inner * k_hidden, attention = 4 * k_hidden * k_hidden, mlp = 2 * 96 * k_hidden;
  CHECK(layer_weights(config) == std::vector<std::int64_t>{mixer, mlp, mlp, attention, attention + mlp});
}

TEST_CASE("a hybrid model as a user writes it", "[models]") {
  const std::string shape =
      "layers: 4\nhidden: 256\nheads: 8\nkv_heads: 2\nffn: 1024\ngated_mlp: false\nvocab: 1000\ntied_embeddings: "
      "false\n"
      "norm: rmsnorm\nposition: none\nbias: false\nactivation: squared_relu\n";
  const std::string blocks =
      "blocks: [{attention: mamba2, mlp: none}, {attention: none}, {mlp: none}, {attention: none}]\n";
  const Outcome written = read_text(shape + "mamba2: {state: 16, groups: 2, chunk: 32}\n" + blocks);
  CHECK(written.problems == "");
  CHECK(written.config.state_heads() == 8);  // 2 x 256 / 64
  // Written out and read back, it is the same model.
  core::Diagnostics diagnostics;
  TransformerConfig again;
  config::read(config::parse_text(config::to_json(written.config), config::Syntax::json, "again", diagnostics), again,
               diagnostics);
  CHECK_FALSE(diagnostics.has_errors());
  CHECK(config::to_json(again) == config::to_json(written.config));

  const auto problems = [&](const std::string& mixer, const std::string& pattern) {
    return read_text(shape + mixer + pattern).problems;
  };
  CHECK(mentions(problems("", blocks), "no mamba2 block"));
  CHECK(mentions(problems("mamba2: {groups: 3}\n", blocks), "does not divide the mixer's heads"));
  CHECK(mentions(problems("mamba2: {head_dim: 48}\n", blocks), "head_dim does not divide 2 x hidden"));
  CHECK(mentions(problems("mamba2: {state: 0}\n", blocks), "model.mamba2.state"));
  CHECK(mentions(problems("", "blocks: [{attention: none, mlp: none}]\n"), "holds nothing"));
  CHECK(mentions(problems("mamba2: {groups: 2}\ncausal: false\n", blocks), "sees no later tokens"));
  CHECK(mentions(read_text("{file: gpt3-175b, heads: 0}").problems, "0 where no block has attention"));
  CHECK(mentions(read_text("{file: gpt3-175b, ffn: 0}").problems, "0 where no block has a dense one"));
}

}  // namespace cairn::models
