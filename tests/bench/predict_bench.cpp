// How fast one plan is evaluated, from nothing and with a warm memo. Times are per plan; no claim is made against a clock here:
// the baseline in the same run is a full symbolic-free replay of the same plan, step by step.
#include <benchmark/benchmark.h>

#include <numeric>

#include "cairn/core/random.h"
#include "cairn/experiment/job.h"

namespace {

using namespace cairn;

// Llama 3.1 405B's shape: 126 equal layers.
models::TransformerConfig model_126() {
  models::TransformerConfig config;
  config.name = "126 layers";
  config.layers = 126;
  config.hidden = 16384;
  config.heads = 128;
  config.kv_heads = 8;
  config.ffn = 53248;
  config.gated_mlp = true;
  config.vocab = 128256;
  config.norm = models::Norm::rmsnorm;
  config.position = models::PositionEncoding::rope;
  config.bias = false;
  return config;
}

struct Setup {
  config::Loader loader{{CAIRN_SOURCE_DIR "/configs"}};
  hardware::Machine machine = hardware::load_machine(loader, "dgx-h100");
  cost::Calibration calibration = cost::load_calibration(loader, "h100-sxm5-80gb");
  hardware::FittedNumbers host;
};

plan::Strategy strategy(std::int64_t tensor, std::int64_t pipeline, std::int64_t data, std::int64_t micro_batches) {
  plan::Strategy s;
  s.tensor = tensor;
  s.pipeline = pipeline;
  s.data = data;
  s.micro_batches = micro_batches;
  s.sequence_parallel = true;
  s.vocab_parallel = tensor > 1;
  s.sharded = plan::Sharded::optimizer;
  s.overlap_gradient_reduce = true;
  s.overlap_parameter_gather = true;
  s.bucket_bytes = 160e6;
  s.stage_layers.assign(static_cast<std::size_t>(pipeline), 126 / pipeline);
  for (std::int64_t i = 0; i < 126 % pipeline; ++i) ++s.stage_layers[static_cast<std::size_t>(i)];
  return s;
}

struct Evaluator {
  Evaluator(const Setup& setup, const ir::Model& model)
      : lowering(model, 8192, {}, 8),
        pricer(setup.calibration, setup.machine.accelerator.value, setup.machine.network, setup.host),
        prices(pricer),
        analytic(prices) {}
  core::Picoseconds operator()(const plan::Strategy& s) {
    const plan::Program& program = lowering.lower(s);
    benchmark::DoNotOptimize(predict::peak_memory(program));
    return analytic.makespan(program).time;
  }
  plan::Lowering lowering;
  predict::CostPricer pricer;
  predict::PriceTable prices;
  predict::Analytic analytic;
};

// Model built, lowered, priced and evaluated, with nothing remembered.
void new_model(benchmark::State& state) {
  const Setup setup;
  const models::TransformerConfig config = model_126();
  const plan::Strategy s = strategy(8, 16, 128, 16);
  for (auto _ : state) {
    const ir::Model model = models::build_transformer(config, {});
    Evaluator evaluate(setup, model);
    benchmark::DoNotOptimize(evaluate(s));
  }
}
BENCHMARK(new_model)->Unit(benchmark::kMicrosecond);

// Every plan of a search space, each once: what a plan costs whose parts (layers under tp, micro-batch and recomputation) are known but
// whose combination (stages, data-parallel degree, layer split) has never been seen.
void unseen_plans(benchmark::State& state) {
  const Setup setup;
  const ir::Model model = models::build_transformer(model_126(), {});
  std::vector<plan::Strategy> plans;
  for (const std::int64_t tensor : {4, 8})
    for (std::int64_t pipeline = 2; pipeline <= 18; ++pipeline)
      for (std::int64_t data = 2; data <= 128; data += 3)
        for (const std::int64_t micro_batches : {8, 16}) plans.push_back(strategy(tensor, pipeline, data, micro_batches));
  core::Random random(1);
  for (std::size_t i = plans.size(); i > 1; --i) std::swap(plans[i - 1], plans[random.below(i)]);
  double total = 0.0;
  for (auto _ : state) {
    state.PauseTiming();
    auto evaluate = std::make_unique<Evaluator>(setup, model);
    // A quarter of the space makes the memo warm; the rest is timed, each plan once.
    const std::size_t warm = plans.size() / 4;
    for (std::size_t i = 0; i < warm; ++i) (*evaluate)(plans[i]);
    state.ResumeTiming();
    for (std::size_t i = warm; i < plans.size(); ++i) total += static_cast<double>((*evaluate)(plans[i]));
    state.PauseTiming();
    evaluate.reset();
    state.ResumeTiming();
  }
  benchmark::DoNotOptimize(total);
  state.counters["us_per_plan"] = benchmark::Counter(static_cast<double>(plans.size() - plans.size() / 4) * 1e-6,
                                                     benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(unseen_plans)->Unit(benchmark::kMillisecond);

// Baseline: one rank of the same plan replayed step by step, no algebra.
void replay_baseline(benchmark::State& state) {
  const Setup setup;
  const ir::Model model = models::build_transformer(model_126(), {});
  Evaluator evaluate(setup, model);
  const plan::Strategy s = strategy(8, 16, 128, 16);
  evaluate(s);
  const plan::Program& program = evaluate.lowering.lower(s);
  for (auto _ : state)
    for (std::int32_t stage = 0; stage < 16; ++stage) benchmark::DoNotOptimize(evaluate.analytic.timeline(program, stage).end);
}
BENCHMARK(replay_baseline)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
