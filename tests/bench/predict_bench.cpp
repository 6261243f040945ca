// How fast one plan is evaluated, from nothing and with a warm memo. Times are per plan; no claim is made against a
// clock here: the baseline in the same run is a full symbolic-free replay of the same plan, step by step.
#include <benchmark/benchmark.h>

#include <numeric>

#include "cairn/core/random.h"
#include "cairn/experiment/job.h"
#include "cairn/predict/price/machine_demands.h"
#include "support/source_dir.h"

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
  config::Loader loader{{cairn::testing::source_dir() + "/configs"}};
  hardware::Machine machine = hardware::load_machine(loader, "dgx-h100");
  cost::Calibration calibration = cost::load_calibration(loader, "h100-sxm5-80gb");
  hardware::HostTimes host;
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
    const program::Program& program = lowering.lower(s);
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

// A search over 405B on 16,384 devices, 2,048 sequences per step, in the order of its loops: outer settings change
// slowly.
std::vector<plan::Strategy> search_space() {
  std::vector<plan::Strategy> plans;
  for (const std::int64_t tensor : {4, 8})
    for (const std::int64_t pipeline : {2, 4, 8, 16})
      for (const std::int64_t micro_batch : {1, 2, 4})
        for (const std::int64_t chunks : {1, 2, 3}) {
          const std::int64_t data = 16384 / (tensor * pipeline);
          if (2048 % (data * micro_batch) != 0) continue;
          plan::Strategy s = strategy(tensor, pipeline, data, 2048 / (data * micro_batch));
          s.micro_batch = micro_batch;
          if (chunks > 1 && s.micro_batches % pipeline != 0) continue;
          s.chunks = chunks;
          s.schedule = chunks > 1 ? "interleaved-1f1b" : "1f1b";
          const std::int64_t virtual_stages = pipeline * chunks;
          s.stage_layers.assign(static_cast<std::size_t>(virtual_stages), 126 / virtual_stages);
          for (std::int64_t i = 0; i < 126 % virtual_stages; ++i) ++s.stage_layers[static_cast<std::size_t>(i)];
          for (const plan::Recompute recompute :
               {plan::Recompute::none, plan::Recompute::attention, plan::Recompute::full})
            for (const plan::Sharded sharded : {plan::Sharded::nothing, plan::Sharded::optimizer})
              for (const bool sequence : {false, true})
                for (int flags = 0; flags < 32; ++flags) {
                  s.recompute = recompute;
                  s.sharded = sharded;
                  s.sequence_parallel = sequence;
                  s.overlap_gradient_reduce = (flags & 1) != 0;
                  s.overlap_parameter_gather = (flags & 2) != 0;
                  s.overlap_tensor = (flags & 4) != 0;
                  s.overlap_sends = (flags & 8) != 0;
                  s.vocab_parallel = (flags & 16) != 0;
                  plans.push_back(s);
                }
        }
  return plans;
}

enum class Order { search, random };

void evaluate_each(Evaluator& evaluate, const std::vector<plan::Strategy>& plans) {
  for (const plan::Strategy& strategy : plans) benchmark::DoNotOptimize(evaluate(strategy));
}
// Apart, for profilers.
[[gnu::noinline]] void evaluate_unseen(Evaluator& evaluate, const std::vector<plan::Strategy>& plans) {
  evaluate_each(evaluate, plans);
}

// Nine tenths of the plans make the memo warm, as in a search well under way; every tenth, plans never seen, is timed:
// in the order in which a search meets them, or all shuffled, so that no plan resembles the one before it.
void unseen_plans(benchmark::State& state, Order order) {
  const Setup setup;
  const ir::Model model = models::build_transformer(model_126(), {});
  std::vector<plan::Strategy> plans = search_space();
  core::Random random(1);
  if (order == Order::random)
    for (std::size_t i = plans.size(); i > 1; --i) std::swap(plans[i - 1], plans[random.below(i)]);
  std::vector<plan::Strategy> seen;
  std::vector<plan::Strategy> unseen;
  for (std::size_t i = 0; i < plans.size(); ++i) (i % 10 == 3 ? unseen : seen).push_back(plans[i]);
  std::int64_t evaluated = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto evaluate = std::make_unique<Evaluator>(setup, model);
    evaluate_each(*evaluate, seen);
    state.ResumeTiming();
    evaluate_unseen(*evaluate, unseen);
    state.PauseTiming();
    evaluated += static_cast<std::int64_t>(unseen.size());
    evaluate.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(evaluated);
}
BENCHMARK_CAPTURE(unseen_plans, search_order, Order::search)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(unseen_plans, random_order, Order::random)->Unit(benchmark::kMillisecond);

// Baseline: one rank of the same plan replayed step by step, no algebra.
void replay_baseline(benchmark::State& state) {
  const Setup setup;
  const ir::Model model = models::build_transformer(model_126(), {});
  Evaluator evaluate(setup, model);
  const plan::Strategy s = strategy(8, 16, 128, 16);
  evaluate(s);
  const program::Program& program = evaluate.lowering.lower(s);
  for (auto _ : state)
    for (std::int32_t stage = 0; stage < 16; ++stage)
      benchmark::DoNotOptimize(evaluate.analytic.timeline(program, stage).end);
}
BENCHMARK(replay_baseline)->Unit(benchmark::kMicrosecond);

// The same plan in simulated time, all stages at once; items are events.
void event_engine(benchmark::State& state) {
  const Setup setup;
  const ir::Model model = models::build_transformer(model_126(), {});
  Evaluator evaluate(setup, model);
  const program::Program& program = evaluate.lowering.lower(strategy(8, 16, 128, 16));
  std::int64_t events = 0;
  for (auto _ : state) events += predict::simulate(program, evaluate.prices).events;
  state.SetItemsProcessed(events);
}
BENCHMARK(event_engine)->Unit(benchmark::kMicrosecond);

// The same where transfers and kernels share what they use: one clock for all stages.
void shared_event_engine(benchmark::State& state) {
  const Setup setup;
  const ir::Model model = models::build_transformer(model_126(), {});
  Evaluator evaluate(setup, model);
  const program::Program& program = evaluate.lowering.lower(strategy(8, 16, 128, 16));
  predict::MachineDemands demands(evaluate.pricer, setup.calibration.communication, setup.machine.accelerator.value,
                                  setup.machine.network, setup.machine.cluster.value.host,
                                  {.contention = true, .interference = true});
  predict::EventOptions options;
  options.demands = &demands;
  std::int64_t events = 0;
  for (auto _ : state) events += predict::simulate(program, evaluate.prices, options).events;
  state.SetItemsProcessed(events);
}
BENCHMARK(shared_event_engine)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
