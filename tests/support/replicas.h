// The stages that hold the same parameters as a stage, as the program tells: itself and those whose messages it awaits
// before its update.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cairn/program/program.h"

namespace cairn::testing {

inline std::vector<std::int32_t> replica_group(const program::Program& program, std::int32_t stage) {
  std::vector<std::int32_t> result{stage};
  const program::PassOrder& order = *program.pass_order;
  for (const program::PassOrder::Step& step : order.sweep) {
    const bool updates = step.slot == order.layout.slot({.kind = program::PassKind::update}) ||
                         (order.layout.awaits() && step.slot == order.layout.slot({.kind = program::PassKind::await}));
    if (step.device == stage && updates && step.producer >= 0)
      result.push_back(order.sweep[static_cast<std::size_t>(step.producer)].device);
  }
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace cairn::testing
