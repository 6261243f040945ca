// Sub-layers side by side: the one sum of a block runs beside its attention.
#include <string>
#include <vector>

#include "cairn/experiment/job.h"
#include "cairn/models/transformer.h"
#include "cairn/plan/lowering.h"
#include "cairn/predict/evaluate/analytic.h"
#include "cairn/predict/evaluate/event.h"
#include "catch.h"
#include "experiment/first_error.h"
#include "support/prices.h"
#include "support/shipped.h"

using namespace cairn;
using Catch::Matchers::Contains;

namespace {

// Four ways, 16 wide each, two heads of 8 in each of them.
models::TransformerConfig four_ways() {
  models::TransformerConfig config;
  config.layers = 3;
  config.hidden = 16;
  config.heads = 8;
  config.ffn = 32;
  config.vocab = 64;
  config.norm = models::Norm::rmsnorm;
  config.position = models::PositionEncoding::rope;
  config.bias = false;
  config.residual = models::Residual::kraken;
  config.ways = 4;
  return config;
}

plan::Strategy over(std::int64_t ranks) {
  plan::Strategy s;
  s.tensor = ranks;
  s.stage_layers = {3};
  s.asynchronous_tensor = true;
  return s;
}

std::vector<program::Transfer> transfers(const program::Block& block) {
  std::vector<program::Transfer> result;
  for (const program::Work& work : block.works)
    if (const auto* transfer = std::get_if<program::Transfer>(&work)) result.push_back(*transfer);
  return result;
}

std::string problem(const models::TransformerConfig& config) {
  try {
    models::validate(config);
  } catch (const core::ConfigurationError& error) {
    return error.what();
  }
  return "accepted";
}

const std::string k_small_kraken = R"(
model: {kind: transformer, layers: 8, hidden: 1024, heads: 32, ffn: 4096, gated_mlp: false, vocab: 51200,
        tied_embeddings: false, position: rope, residual: kraken, ways: 8}
cluster: dgx-a100
training: {seq_len: 2048, global_batch: 8, framework: ideal}
strategy: {tp: 8}
)";

experiment::LoadedExperiment loaded(const std::vector<std::string>& overrides) {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(k_small_kraken, config::Syntax::yaml, "kraken.yaml", diagnostics);
  diagnostics.raise_if_errors();
  return experiment::read(node, overrides);
}

using cairn::testing::first_error;
using cairn::testing::shipped;

}  // namespace

TEST_CASE("Kraken: parameters of the models published with the paper") {
  // github.com/rohan-bp/kraken, training/configs: GPT-2's vocabulary padded to 50,304, 1,024 positions, MLP twice as
  // wide, no biases: P = layers n (8 h^2 + 2 h) + n h^2 + (50,304 + 1,024) h + h.
  const auto parameters = [](std::int64_t layers, std::int64_t heads, std::int64_t ways, std::int64_t hidden) {
    models::TransformerConfig config;
    config.layers = layers;
    config.hidden = hidden;
    config.heads = heads;
    config.ffn = 2 * hidden;
    config.vocab = 50304;
    config.max_positions = 1024;
    config.tied_embeddings = true;
    config.norm = models::Norm::rmsnorm;  // a gain and no shift, as their layernorm without bias
    config.bias = false;
    config.residual = models::Residual::kraken;
    config.ways = ways;
    return models::build_transformer(config, {}).parameters();
  };
  CHECK(parameters(12, 12, 2, 678) == 24 * 3'678'828 + 919'368 + 34'800'384 + 678);    // 124,012,302: "125M"
  CHECK(parameters(12, 12, 4, 504) == 48 * 2'033'136 + 1'016'064 + 25'869'312 + 504);  // 124,476,408
  CHECK(parameters(12, 12, 6, 418) == 72 * 1'398'628 + 1'048'344 + 21'455'104 + 418);  // 123,205,082
  CHECK(parameters(24, 16, 4, 960) == 96 * 7'374'720 + 3'686'400 + 49'274'880 + 960);  // 760,935,360: "760M"
}

TEST_CASE("Kraken: a sum over the ways is hidden behind attention, up to the larger of the two") {
  const ir::Model model = models::build_transformer(four_ways(), {});
  REQUIRE(model.classes.size() == 4);  // embedding, first block, block, head
  plan::Lowering lowering(model, 8, {});
  // Attention computes 100 in one operator, the MLP 70; each all-reduce takes m.
  const auto times = [&](core::Picoseconds m, bool asynchronous) {
    plan::Strategy s = over(4);
    s.asynchronous_tensor = s.overlap_tensor = asynchronous;
    testing::StatedPricer pricer;
    pricer.of_shard = [](const ir::Shard& shard) {
      const std::string& name = shard.op->name;
      if (name == "attention" || name == "attention.backward") return 100;
      return name == "fc1" || name == "fc1.weight_gradient" ? 70 : 0;
    };
    pricer.of_transfer = [m](const program::Transfer&) { return m; };
    predict::PriceTable prices(pricer);
    predict::Analytic analytic(prices);
    return std::pair(analytic.alone(lowering.forward_block(s, 2)), analytic.alone(lowering.backward_block(s, 2)));
  };
  using Pair = std::pair<core::Picoseconds, core::Picoseconds>;
  CHECK(times(60, true) == Pair{100 + 70, 70 + 100});             // max(100, 60)
  CHECK(times(100, true) == Pair{100 + 70, 70 + 100});            // the limit itself
  CHECK(times(150, true) == Pair{150 + 70, 70 + 150});            // max(100, 150)
  CHECK(times(60, false) == Pair{60 + 100 + 70, 70 + 60 + 100});  // awaited at once, nothing is hidden
}

TEST_CASE("Kraken: one sum of b s h elements per block and pass; ways travel between stages on their own") {
  const ir::Model model = models::build_transformer(four_ways(), {});
  plan::Lowering lowering(model, 8, {});
  const double sum = 1 * 8 * 16 * 2.0;  // batch, sequence, hidden, bf16
  for (const std::int64_t ranks : {2, 4}) {
    const plan::Strategy s = over(ranks);
    for (const bool backward : {false, true}) {
      const auto of = [&](std::size_t layer) {
        return transfers(backward ? lowering.backward_block(s, layer) : lowering.forward_block(s, layer));
      };
      // In the first block, whose ways all read the embedding, its gradient alone is summed.
      CHECK(of(1).size() == (backward ? 1 : 0));
      REQUIRE(of(2).size() == 1);
      CHECK(of(2).front().collective == program::Collective::all_reduce);
      CHECK(of(2).front().group.size == ranks);
      CHECK(of(2).front().bytes == sum);
      for (const program::Transfer& first : of(1)) CHECK(first.bytes == sum);
    }
    // Attention 4 h^2, MLP 2 h f, two norms of h, on each of the ranks for its own ways.
    const double way = 4 * 16 * 16 + 2 * 16 * 32 + 2 * 16;
    CHECK(lowering.layer_state(s, 2).parameter_elements() == way * 4 / static_cast<double>(ranks));
  }
}

TEST_CASE("Kraken: both engines agree, and faster sums stop paying where attention covers them") {
  for (const char* layout : {"strategy.tp=8", "strategy.tp=4", "strategy.tp=2", "strategy.tp=1"})
    for (const char* more :
         {"strategy.sequence_parallel=false", "strategy.sequence_parallel=true", "strategy.recompute=full",
          "training.framework=megatron", "strategy.pp=1", "model.dropout=0.1", "strategy.overlap.tp={kind: iso}"}) {
      experiment::Job job(experiment::LoadedExperiment(loaded({layout, more})), shipped());
      const auto prediction = job.run(predict::Engine::both).prediction;
      INFO(layout << " " << more);
      CHECK(prediction.event->makespan.time == prediction.analytic.time);
      CHECK(prediction.breakdown.total() == prediction.time);
      CHECK(*prediction.plan_bounds.best_s() <= core::to_seconds(prediction.time));
    }
  experiment::Job staged(loaded({"strategy.tp=4", "strategy.pp=2"}), shipped());
  const auto prediction = staged.run(predict::Engine::both).prediction;
  CHECK(prediction.event->makespan.time == prediction.analytic.time);
}

TEST_CASE("Kraken: contradictions name the key and a remedy") {
  CHECK_THAT(first_error(loaded({"strategy.tp=8", "model.ways=4"})).message,
             Contains("tp 8 does not divide the model's 4 ways"));
  CHECK_THAT(first_error(loaded({"model.ways=3"})).message, Contains("does not divide heads"));
  models::TransformerConfig config = four_ways();
  config.ways = 1;
  CHECK_THAT(problem(config), Contains("model.ways") && Contains("above 1"));
  config = four_ways();
  config.residual = models::Residual::standard;
  CHECK_THAT(problem(config), Contains("residual: kraken only"));
  config = four_ways();
  config.hidden = 15;  // two heads per way
  CHECK_THAT(problem(config), Contains("model.head_dim") && Contains("heads / ways"));
  config = four_ways();
  config.blocks = {{.repeat = 3}};
  CHECK_THAT(problem(config), Contains("side by side"));
  CHECK(problem(four_ways()) == "accepted");
}
