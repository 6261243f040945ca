// What of a plan its settings leave open, decided by prices and by memory: layers of balanced stages, how many
// subgroups of parameters the device updates, how many units' offloaded parameters stay on it, an order of passes that
// depends on times.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "cairn/predict/prediction.h"
#include "case.h"
#include "plan_parts.h"

namespace cairn::experiment {

// Of the machine and the framework.
predict::MemoryLimits memory_limits(const Case& asked);

// Layers of balanced stages by what they depend on: times of layers and ends, and the number of stages.
struct SplitKey {
  std::vector<core::Picoseconds> body = {};
  core::Picoseconds first = 0;
  core::Picoseconds last = 0;
  std::int32_t parts = 1;
  friend auto operator<=>(const SplitKey&, const SplitKey&) = default;
};
using Splits = std::map<SplitKey, std::vector<std::int64_t>>;

class OpenChoices {
 public:
  // All of them outlive this. Decisions are written to `asked.resolved.strategy`. `splits`: those found before; may be
  // null.
  OpenChoices(Case& asked, plan::Lowering& lowering, Pricing& pricing, Splits* splits = nullptr)
      : r_(asked), lowering_(lowering), pricing_(pricing), splits_(splits) {}

  // Whether prices decide anything before the plan is lowered: plans are tried then, at its prices.
  bool by_price() const { return r_.resolved.strategy.stage_layers.empty() || r_.resolved.choose_interval; }
  void decide_by_price();
  // The plan, when prices have decided. The Program is the lowering's own, until it lowers another.
  const program::Program& lower();
  // plan::Lowering::memory_floor() of that plan, after which no Program is valid; 0 where the order of its passes
  // depends on times.
  double memory_floor();

 private:
  bool orders_by_times() const;
  core::Picoseconds layer_time(std::size_t layer_class);
  void balance();
  std::int64_t best_interval();
  std::int64_t most_resident();
  bool fits(const plan::Strategy& strategy);

  Case& r_;
  plan::Lowering& lowering_;
  Pricing& pricing_;
  Splits* splits_;
};

}  // namespace cairn::experiment
