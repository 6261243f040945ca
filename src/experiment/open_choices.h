// What of a plan its settings leave open, decided by prices and by memory: layers of balanced stages, how many
// subgroups of parameters the device updates, how many units' offloaded parameters stay on it, an order of passes that
// depends on times.
#pragma once

#include "cairn/predict/prediction.h"
#include "case.h"
#include "plan_parts.h"

namespace cairn::experiment {

// Of the machine and the framework.
predict::MemoryLimits memory_limits(const Case& asked);

class OpenChoices {
 public:
  // All three outlive this. Decisions are written to `asked.resolved.strategy`.
  OpenChoices(Case& asked, plan::Lowering& lowering, Pricing& pricing)
      : r_(asked), lowering_(lowering), pricing_(pricing) {}

  // Whether prices decide anything before the plan is lowered: plans are tried then, at its prices.
  bool by_price() const { return r_.resolved.strategy.stage_layers.empty() || r_.resolved.choose_interval; }
  void decide_by_price();
  // The plan, when prices have decided. The Program is the lowering's own, until it lowers another.
  const program::Program& lower();

 private:
  core::Picoseconds layer_time(std::size_t layer_class);
  void balance();
  std::int64_t best_interval();
  std::int64_t most_resident();
  bool fits(const plan::Strategy& strategy);

  Case& r_;
  plan::Lowering& lowering_;
  Pricing& pricing_;
};

}  // namespace cairn::experiment
