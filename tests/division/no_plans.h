// What an experiment's strategy may say where a search chooses the plan.
#pragma once

#include <string>
#include <vector>

namespace cairn::division {

// Each of degrees, micro-batches, stages or recomputed layers that are no plan of 4 accelerators, 8 sequences and 2 or
// 4 layers.
inline std::vector<std::string> settings_of_no_plan() {
  return {"strategy.tp=3",
          "strategy.dp=7",
          "strategy.pp=3",
          "strategy.pp=8",
          "strategy.stages=[1]",
          "strategy.micro_batches=5",
          "strategy.recompute={kind: full, layers: [7..9]}"};
}

}  // namespace cairn::division
