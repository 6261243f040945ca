// State-space models in a step: the shipped ones, every layout, and what one rank keeps, moves and makes again.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "cairn/cost/operator_floor.h"
#include "cairn/experiment/job.h"
#include "catch.h"
#include "first_error.h"
#include "support/transfers.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

experiment::LoadedExperiment loaded(const std::string& text, const std::vector<std::string>& overrides) {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(text, config::Syntax::yaml, "test.yaml", diagnostics);
  diagnostics.raise_if_errors();
  return experiment::read(node, overrides);
}

predict::Prediction both_engines(const std::string& text, const std::vector<std::string>& overrides) {
  experiment::Job job(loaded(text, overrides), shipped());
  predict::Prediction result = job.run(predict::Engine::both).prediction;
  CHECK(result.event->makespan.time == result.analytic.time);
  CHECK(result.breakdown.total() == result.time);
  CHECK(*result.plan_bounds.best_s() <= core::to_seconds(result.time));
  return result;
}

const std::string k_hybrid = R"(
model: {layers: 8, hidden: 512, heads: 8, ffn: 2048, gated_mlp: false, vocab: 4096, tied_embeddings: false, norm: rmsnorm,
        position: none, bias: false, activation: squared_relu, mamba2: {heads: 16, groups: 4, state: 64, chunk: 128},
        blocks: [{attention: mamba2, mlp: none}, {attention: none}, {mlp: none}, {attention: mamba2}]}
cluster: dgx-h100
training: {seq_len: 1024, global_batch: 32, framework: megatron}
strategy: {micro_batch: 2}
)";

// One mixer layer alone, b = 2, s = 64: width 64, 8 heads of 16 x 8 in 2 groups, chunks of 16.
constexpr double k_tokens = 128, k_hidden = 64, k_inner = 128, k_projected = 2 * 128 + 2 * 16 + 8;

ir::Model mixer() {
  models::TransformerConfig c;
  c.layers = 1;
  c.hidden = 64;
  c.vocab = 1000;
  c.norm = models::Norm::rmsnorm;
  c.position = models::PositionEncoding::none;
  c.bias = false;
  c.mamba2 = models::Mamba2Config{.heads = 8, .head_dim = 16, .state = 8, .groups = 2, .conv = 4, .chunk = 16};
  c.blocks = {
      {.mlp = models::MlpKind::none, .attention = models::AttentionPattern{.kind = models::AttentionKind::mamba2}}};
  return models::build_transformer(c, {});
}

plan::LayerOptions options(std::int64_t t, bool sequence_parallel = false) {
  plan::Strategy s;
  s.tensor = t;
  s.sequence_parallel = sequence_parallel;
  plan::LayerOptions o;
  o.sizes = {.batch = 2, .sequence = 64};
  o.rules = plan::split_rules(s);
  o.groups = {{.axis = program::Axis::tensor, .size = t, .stride = 1}};
  return o;
}

}  // namespace

TEST_CASE("A larger state takes longer and holds more") {
  const predict::Prediction small = both_engines(k_hybrid, {}),
                            large = both_engines(k_hybrid, {"model.mamba2.state=128"});
  CHECK(large.time > small.time);
  CHECK(large.memory.allocated_peak > small.memory.allocated_peak);
  CHECK(large.model_flops > small.model_flops);
}

TEST_CASE("A hybrid model on every layout: both engines agree") {
  for (const char* layout :
       {"strategy.tp=4", "strategy={tp: 4, sequence_parallel: true}", "strategy.pp=4",
        "strategy={pp: 2, stages: by-weight}", "strategy={pp: 2, schedule: zb-h1}", "strategy.zero=1",
        "strategy.zero=2", "strategy.zero=3", "strategy.recompute=full", "strategy.recompute=attention",
        "strategy.recompute=per-op", "strategy.recompute={operators: [ssd, conv]}",
        "strategy={tp: 2, overlap: {tp: {kind: chunked, chunks: 2}}}", "strategy={tp: 2, overlap: {tp: {kind: iso}}}",
        "training.precision=fp8-current", "training.seq_len=1000", "training.seq_len=50"}) {
    INFO(layout);
    both_engines(k_hybrid, {layout});
  }
}

TEST_CASE("A model without attention heads asks nothing of attention's kernels") {
  const std::string mixers = R"(
model: {layers: 4, hidden: 512, heads: 0, ffn: 0, gated_mlp: false, vocab: 4096, tied_embeddings: true, norm: rmsnorm,
        position: none, bias: false, mamba2: {groups: 2}, blocks: [{attention: mamba2, mlp: none}]}
cluster: dgx-h100
training: {seq_len: 1024, global_batch: 32, framework: megatron, kernels: {attention: fused-softmax}}
)";
  both_engines(mixers, {"strategy.tp=2"});
  experiment::Job job(loaded(mixers, {"strategy.tp=2"}), shipped());
  for (const std::string& warning : job.warnings()) CHECK(warning.find("softmax") == std::string::npos);
}

TEST_CASE("More tensor-parallel ranks than groups are refused") {
  const core::Diagnostic error = first_error(loaded(k_hybrid, {"strategy.tp=8"}));
  CHECK(error.key_path == "strategy.tp");
  CHECK(error.message.find("4 groups of the state-space mixer") != std::string::npos);
}

TEST_CASE("A mixer keeps its input, the input projection's result and y, and makes the rest again") {
  const ir::Model model = mixer();
  const plan::LayerLowering layer(model.classes[1], options(1));
  // bf16: the stream, its norm's result; the projection; y. The norm's scale is one fp32 number per token.
  CHECK(layer.state().saved_bytes == k_tokens * (2 * (2 * k_hidden + k_projected + k_inner) + 4));
  std::set<std::string> again;
  const program::Block backward = layer.backward();
  for (const program::Step& step : backward.steps)
    if (step.term == program::Term::recompute && step.kind == program::StepKind::compute)
      again.insert(std::get<ir::Shard>(backward.works[static_cast<std::size_t>(step.work)]).op->name);
  CHECK(again == std::set<std::string>{"conv", "ssd.step", "ssd.scores", "ssd.update", "ssd.scan", "gated_norm"});
  // Recomputed as a whole, the layer keeps its input alone.
  plan::LayerOptions all = options(1);
  all.recompute_all = true;
  CHECK(plan::LayerLowering(model.classes[1], all).state().saved_bytes == k_tokens * 2 * k_hidden);
}

TEST_CASE("Tensor-parallel ranks hold whole groups of a mixer and meet after its output projection") {
  const ir::Model model = mixer();
  const plan::LayerLowering whole(model.classes[1], options(1)), half(model.classes[1], options(2));
  // All but the layer's norm is split: W_in, convolution and bias, A, D, dt's bias, the gated norm's gain, W_out.
  const double split = k_projected * k_hidden + 5 * 160 + 3 * 8 + k_inner + k_inner * k_hidden;
  CHECK(whole.state().parameter_elements() == split + k_hidden);
  CHECK(half.state().parameter_elements() == split / 2 + k_hidden);
  CHECK(whole.state().saved_bytes - half.state().saved_bytes == k_tokens * (k_projected + k_inner));
  const double stream = 2 * k_tokens * k_hidden;
  using program::Collective;
  CHECK(transfers(half.forward()) == Sent{{Collective::all_reduce, stream}});
  CHECK(transfers(half.backward()) == Sent{{Collective::all_reduce, stream}});
  const plan::LayerLowering tokens(model.classes[1], options(2, true));
  CHECK(transfers(tokens.forward()) == Sent{{Collective::all_gather, stream}, {Collective::reduce_scatter, stream}});
}

TEST_CASE("Every product of a mixer has a bound on what it moves, walked in chunks or not") {
  const ir::Model model = mixer();
  const ir::Graph& graph = model.classes[1].graph;
  const auto nothing_free = [](ir::TensorId) { return false; };
  constexpr double k_chip = 512;
  int products = 0;
  for (const ir::Operator& op : graph.operators()) {
    if (op.kind != ir::Kind::contraction) continue;
    INFO(op.name);
    const ir::Shard shard{.op = &op, .graph = &graph, .box = op.domain.box({.batch = 2, .sequence = 64})};
    CHECK(cost::pebble_bytes(shard, k_chip, nothing_free, cost::Effort::full).has_value());
    ++products;
  }
  CHECK(products == 3 * 6);  // two projections, the duality's four, and two gradients of each
}
