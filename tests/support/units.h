// Plans whose units move parameters, gradients or activations: what they hold and move, and how long they take.
#pragma once

#include <numeric>

#include "cairn/collective/folds.h"
#include "cairn/plan/lowering.h"
#include "cairn/predict/account/memory.h"
#include "cairn/predict/evaluate/analytic.h"
#include "cairn/predict/evaluate/event.h"
#include "cairn/predict/evaluate/timeline.h"
#include "support/prices.h"
#include "support/transfers.h"
#include "support/two_products.h"

namespace cairn::testing {

// Everything in two bytes but master copy and two moments: 2 + 2 + 12 bytes per parameter.
inline plan::ParameterTreatment mixed_precision() {
  plan::ParameterTreatment treatment;
  treatment.gradients = numerics::Format::bf16;
  treatment.reduce = numerics::Format::bf16;
  return treatment;
}

// Out of line: inlined, its list of axes makes g++ 12 warn of uninitialised memory that is not.
[[gnu::noinline]] inline plan::Strategy on_ranks(std::int64_t data, std::int64_t layers) {
  plan::Strategy strategy;
  strategy.data = data;
  strategy.stage_layers = {layers};
  strategy.overlap_gradient_reduce = true;
  return strategy;
}

inline double held_bytes(const program::Stage& stage) {
  return std::accumulate(stage.resident.begin(), stage.resident.end(), 0.0);
}

// Payload that one rank sends over `axis` in the step.
inline double sent_bytes(const program::Program& program, program::Axis axis, std::int32_t stage = 0) {
  double total = 0.0;
  for (const program::Pass* pass : predict::passes_of(program, stage))
    for (const program::BlockRun& run : pass->runs)
      for (const program::Step& step : run.block->steps)
        if (const program::Transfer* transfer = transfer_of(*run.block, step);
            transfer != nullptr && transfer->group.axis == axis)
          total += static_cast<double>(run.count) *
                   collective::bytes_sent(transfer->collective, transfer->group.size, transfer->bytes);
  return total;
}

inline double copied_bytes(const program::Program& program, program::Lane lane) {
  double total = 0.0;
  for (const program::Pass* pass : predict::passes_of(program, 0))
    for (const program::BlockRun& run : pass->runs)
      for (const program::Step& step : run.block->steps) {
        if (step.work < 0) continue;
        const auto* copy = std::get_if<program::Copy>(&run.block->works[static_cast<std::size_t>(step.work)]);
        if (copy != nullptr && copy->lane == lane) total += static_cast<double>(run.count) * copy->bytes;
      }
  return total;
}

// The step time, the same from both evaluators.
inline core::Picoseconds step_time(const program::Program& program, predict::Pricer& pricer) {
  predict::PriceTable prices(pricer);
  const core::Picoseconds time = predict::Analytic(prices).makespan(program).time;
  return predict::simulate(program, prices).makespan.time == time ? time : -1;
}

}  // namespace cairn::testing
