#include "cairn/experiment/stage_costs.h"

#include <algorithm>

#include "cairn/core/diagnostics.h"
#include "cairn/predict/evaluate/analytic.h"
#include "cairn/predict/evaluate/reach.h"

namespace cairn::experiment {
namespace {

using program::PassKind;

struct PassCost {
  core::Picoseconds work = 0;
  core::Picoseconds send = 0;
};

PassCost cost_of(const program::Pass& pass, predict::Analytic& analytic, predict::PriceTable& prices) {
  PassCost cost;
  for (const program::BlockRun& run : pass.runs) cost.work += run.count * analytic.alone(*run.block);
  if (pass.send == program::Send::none || pass.runs.empty()) return cost;
  const program::Block& last = *pass.runs.back().block;
  const program::Stream stream = pass.send == program::Send::next ? program::Stream::next : program::Stream::previous;
  const predict::BlockPrices& table = prices.of(last);
  for (const program::Step& step : last.steps)
    if (step.stream == stream && step.work >= 0)
      cost.send = std::max(cost.send, table[static_cast<std::size_t>(step.work)].duration);
  cost.work -= cost.send;
  return cost;
}

}  // namespace

pipeline::Durations durations(const program::Program& program, predict::Analytic& analytic,
                              predict::PriceTable& prices) {
  predict::require_reachable(program, prices);
  const bool split = program.layout().splits();
  pipeline::Durations sum{.forward = 0, .input_gradient = 0, .weight_gradient = 0, .delay = 0};
  const auto work = [&](const program::Pass& pass) {
    const PassCost cost = cost_of(pass, analytic, prices);
    sum.delay = std::max(sum.delay, cost.send);
    return cost.work;
  };
  for (std::size_t stage = 0; stage < program.stages(); ++stage) {
    for (std::int32_t chunk = 0; chunk < program.layout().chunks(); ++chunk) {
      const auto add = [&](core::Picoseconds& time, PassKind kind) {
        time += work(program.pass(static_cast<std::int32_t>(stage), {.kind = kind, .chunk = chunk}));
      };
      add(sum.forward, PassKind::forward);
      add(sum.input_gradient, split ? PassKind::input_gradient : PassKind::backward);
      if (split) add(sum.weight_gradient, PassKind::weight_gradient);
    }
  }
  const auto shares = static_cast<core::Picoseconds>(program.stages()) * program.schedule->weight_copies();
  return {.forward = sum.forward / shares,
          .input_gradient = sum.input_gradient / shares,
          .weight_gradient = sum.weight_gradient / shares,
          .delay = sum.delay};
}

pipeline::StageCosts stage_costs(const program::Program& program, predict::Analytic& analytic,
                                 predict::PriceTable& prices) {
  if (program.stages() < 2 || program.schedule->chunks != 1)
    throw core::ConfigurationError("strategy.schedule", "stage costs need a pipeline of one chunk per device",
                                   "set strategy.pp to 2 or more and strategy.schedule to 1f1b");
  predict::require_reachable(program, prices);
  pipeline::StageCosts costs;
  for (std::size_t stage = 0; stage < program.stages(); ++stage) {
    const auto cost = [&](PassKind kind) {
      return cost_of(program.pass(static_cast<std::int32_t>(stage), {.kind = kind}), analytic, prices);
    };
    const PassCost forward = cost(PassKind::forward);
    const PassCost backward = cost(PassKind::backward);
    costs.forward.push_back(forward.work);
    costs.backward.push_back(backward.work);
    costs.delay = std::max({costs.delay, forward.send, backward.send});
  }
  return costs;
}

}  // namespace cairn::experiment
