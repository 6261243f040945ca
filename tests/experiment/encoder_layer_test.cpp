// The encoder layer of BERT large against "Data Movement Is All You Need" (Ivanov et al., MLSys 2021): 8 sequences of
// 512 tokens, width 1,024, 16 heads, 4,096 inner.
#include "cairn/config/read.h"
#include "cairn/cost/layer_floor.h"
#include "cairn/models/huggingface.h"
#include "cairn/models/transformer.h"
#include "catch.h"
#include "support/source_dir.h"

using namespace cairn;

namespace {

constexpr loopnest::Sizes k_sizes{.batch = 8, .sequence = 512};
constexpr double k_v100_chip = 37.5e6;  // registers, shared memory and cache of a V100 [B]

ir::Model encoder(models::AttentionKernel attention) {
  const config::Loader loader({cairn::testing::source_dir() + "/configs"});
  core::Diagnostics diagnostics;
  models::TransformerConfig config = models::read_model(config::make_scalar("bert-large", {}), loader, diagnostics);
  diagnostics.raise_if_errors();
  models::BuildOptions options;
  options.kernels.attention = attention;
  options.activation = options.parameter = numerics::Format::fp16;
  return models::build_transformer(models::for_sequence(std::move(config), k_sizes.sequence), options);
}

const ir::Graph& block(const ir::Model& model) {
  for (const ir::LayerClass& each : model.classes)
    if (each.name == "block") return each.graph;
  FAIL("no block");
  return model.classes.front().graph;
}

double flops_of(const cost::LayerFloor& floor, cost::OperatorClass kind) {
  return floor.flops[static_cast<std::size_t>(kind)];
}

}  // namespace

TEST_CASE("encoder layer: products") {
  const ir::Model model = encoder(models::AttentionKernel::unfused);
  const cost::LayerFloor forward = cost::layer_floor(block(model), k_sizes, k_v100_chip, false);
  CHECK(flops_of(forward, cost::OperatorClass::contraction) == Approx(111.67e9).epsilon(1e-4));
  const cost::LayerFloor both = cost::layer_floor(block(model), k_sizes, k_v100_chip, true);
  CHECK(flops_of(both, cost::OperatorClass::contraction) == Approx(335.007e9).epsilon(1e-5));
}

TEST_CASE("encoder layer: shares of arithmetic by class, as published") {
  // Published, forward and backward: contractions 99.80 %, normalizations 0.17 %, elementwise 0.03 %. The authors'
  // counter (github.com/spcl/substation, substation/arith_counter.py) takes one for every arithmetic operator,
  // exponential and square root and none for a comparison, minimum or maximum; the text does not say which expressions
  // it was run on. With these, all three come out to the last digit:
  //   scaled softmax, with its dropout, is one normalization: 6 operations per score (scale, subtract, exponential,
  //   sum, divide, drop), 5 backward; layer normalization: 7 per element, 9 backward and 4 for its parameters; sums of
  //   bias gradients are reductions, 1 per element; biases, dropouts and residual additions 1 per element, both ways
  //   where they have a derivative; comparisons (maxima, a rectifier) none, no mask.
  // Cairn counts maxima, masks, a dropout's rescaling and the polynomial of GELU, which this encoder has in place of a
  // rectifier: its own shares are below.
  const double scores = 8.0 * 16 * 512 * 512, stream = 8.0 * 512 * 1024, inner = 4 * stream, projected = 3 * stream;
  const double contraction = 335.007e9;
  const double softmax = (6 + 5) * scores;
  const double norms = 2 * (7 + 9 + 4) * stream;
  const double bias_gradients = projected + stream + inner + stream;
  // Biases of the projections and of both products of the perceptron, three dropouts, two additions; backward the
  // dropouts and the two sums of gradients that meet.
  const double forward = (projected + stream + inner + stream) + (stream + inner + stream) + 2 * stream;
  const double backward = (stream + inner + stream) + 2 * stream;
  const double normalization = softmax + norms + bias_gradients, elementwise = forward + backward;
  const double all = contraction + normalization + elementwise;
  CHECK(100 * contraction / all == Approx(99.80).margin(0.005));
  CHECK(100 * normalization / all == Approx(0.17).margin(0.005));
  CHECK(100 * elementwise / all == Approx(0.03).margin(0.005));
}

TEST_CASE("encoder layer: shares of arithmetic by class, counted by Cairn") {
  // Per score: scale 1, mask 1, softmax 5, dropout 2; backward softmax 4, scale 1, dropout 2. The split softmax of
  // unfused kernels leaves scale, mask and dropout elementwise; the fused one takes scales and mask with it.
  const double scores = 8.0 * 16 * 512 * 512, norms = 2 * (7 + 10 + 2) * 8.0 * 512 * 1024;
  const ir::Model apart = encoder(models::AttentionKernel::unfused);
  const cost::LayerFloor unfused = cost::layer_floor(block(apart), k_sizes, k_v100_chip, true);
  CHECK(flops_of(unfused, cost::OperatorClass::normalization) == 9 * scores + norms);
  const ir::Model together = encoder(models::AttentionKernel::fused_softmax);
  const cost::LayerFloor fused = cost::layer_floor(block(together), k_sizes, k_v100_chip, true);
  CHECK(flops_of(fused, cost::OperatorClass::normalization) == 12 * scores + norms);
  // What the one class gains the other loses.
  CHECK(flops_of(unfused, cost::OperatorClass::elementwise) - flops_of(fused, cost::OperatorClass::elementwise) ==
        3 * scores);
}

TEST_CASE("encoder layer: movement saved by fusing") {
  // Published: 22.91 % less than PyTorch, fusing chains that hold no contraction. The fused kernels and their tensors
  // are public (config_selection/ops.py of the same repository), PyTorch's side is not: with every step of softmax
  // apart there is more to save, with softmax already fused less.
  const auto saved = [](const cost::LayerFloor& floor) { return 1.0 - floor.fused_rows / floor.unfused; };
  const ir::Model apart = encoder(models::AttentionKernel::unfused);
  const ir::Model together = encoder(models::AttentionKernel::fused_softmax);
  const cost::LayerFloor most = cost::layer_floor(block(apart), k_sizes, k_v100_chip, true);
  const cost::LayerFloor least = cost::layer_floor(block(together), k_sizes, k_v100_chip, true);
  CHECK(saved(least) < 0.2291);
  CHECK(saved(most) > 0.2291);
  // Contractions too: an attention whose scores never leave the chip.
  CHECK(most.fused < 0.7 * most.fused_rows);
  CHECK(most.fused >= most.lower_bytes);
}

TEST_CASE("encoder layer: orders of dimensions without copies") {
  // As written tokens lie between sequences and heads of the projected queries, keys and values (24 MiB, which three
  // products read), and the context of all heads (8 MiB) is copied to where tokens come first: 2 x (3 x 24 + 8) MiB.
  const ir::Model model = encoder(models::AttentionKernel::unfused);
  const cost::LayerFloor floor = cost::layer_floor(block(model), k_sizes, k_v100_chip, false);
  CHECK(floor.written_copies == 2 * (3 * 24 + 8) * 1048576.0);
  CHECK(floor.chosen_copies == 0.0);
  CHECK_FALSE(floor.reordered.empty());
}
