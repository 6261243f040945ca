#include "cairn/division/plain_plan.h"

namespace cairn::division {

experiment::Settings with_plain_plan(const experiment::Settings& settings, std::int64_t accelerators) {
  experiment::Settings plain = settings;
  experiment::StrategyChoice& strategy = plain.strategy;
  strategy.tp = strategy.pp = 1;
  strategy.dp = accelerators;
  strategy.micro_batches.reset();
  plain.training.global_batch = {.sequences = accelerators * strategy.micro_batch};
  strategy.sequence_parallel = false;
  strategy.vocab_parallel.reset();
  strategy.stages.emplace();
  strategy.zero = {};
  strategy.recompute = {};
  return plain;
}

}  // namespace cairn::division
