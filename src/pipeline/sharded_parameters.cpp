#include "sharded_parameters.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace cairn::pipeline {
namespace {

constexpr std::int32_t k_none = -1;

struct Pass {
  std::int32_t chunk = 0;
  bool forward = true;
  std::int32_t first = 0;  // positions in the schedule's operations
  std::int32_t last = 0;   // of its forwards or of the gradients that are sent on
  std::int32_t done = 0;   // of its weight gradients too
};

std::vector<Pass> passes_of(const Schedule& schedule, std::int32_t device) {
  std::vector<Pass> passes;
  std::vector<std::int32_t> pass_of(static_cast<std::size_t>(schedule.chunks) * schedule.micro_batches, k_none);
  for (std::int32_t i = schedule.row_begin[device]; i < schedule.row_begin[device + 1]; ++i) {
    const Operation& operation = schedule.operations[i];
    std::int32_t& of_gradient = pass_of[operation.chunk * schedule.micro_batches + operation.micro_batch];
    if (operation.phase == Phase::weight_gradient) {
      passes[of_gradient].done = i;
      continue;
    }
    const bool forward = operation.phase == Phase::forward;
    if (passes.empty() || passes.back().chunk != operation.chunk || passes.back().forward != forward)
      passes.push_back({.chunk = operation.chunk, .forward = forward, .first = i});
    passes.back().last = passes.back().done = i;
    if (!forward) of_gradient = static_cast<std::int32_t>(passes.size()) - 1;
  }
  return passes;
}

struct Exchange {
  std::int32_t behind = k_none;  // operation that it awaits
  std::int32_t chunk = 0;
  std::int32_t serves = k_none;  // operation that awaits it
};

std::vector<Exchange> exchanges_of(const std::vector<Pass>& passes) {
  std::vector<Exchange> exchanges;
  for (std::size_t k = 0; k < passes.size(); ++k) {
    exchanges.push_back(
        {.behind = k < 2 ? k_none : passes[k - 2].last, .chunk = passes[k].chunk, .serves = passes[k].first});
    if (!passes[k].forward) exchanges.push_back({.behind = passes[k].done, .chunk = passes[k].chunk});
  }
  std::stable_sort(exchanges.begin(), exchanges.end(),
                   [](const Exchange& a, const Exchange& b) { return a.behind < b.behind; });
  return exchanges;
}

}  // namespace

Schedule with_exchanges(Schedule schedule) {
  for (std::int32_t device = 0; device < schedule.stages; ++device) {
    std::int32_t number = 0;
    for (const Exchange& exchange : exchanges_of(passes_of(schedule, device))) {
      const auto at = static_cast<std::int32_t>(schedule.operations.size());
      schedule.operations.push_back(
          {.phase = Phase::communication, .chunk = chunk_number(exchange.chunk), .micro_batch = number++});
      if (exchange.behind != k_none) schedule.waits.push_back({.operation = at, .on = exchange.behind});
      if (exchange.serves != k_none) schedule.waits.push_back({.operation = exchange.serves, .on = at});
    }
    schedule.side_rows.push_back(device);
    schedule.row_begin.push_back(static_cast<std::int32_t>(schedule.operations.size()));
  }
  std::sort(schedule.waits.begin(), schedule.waits.end());
  return schedule;
}

}  // namespace cairn::pipeline
