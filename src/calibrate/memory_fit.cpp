// Kernels ruled by memory, and the gap between launches.
#include <algorithm>
#include <array>
#include <map>

#include "cairn/cost/memory_bound.h"
#include "families.h"

namespace cairn::calibrate {
namespace {

using cost::MemoryBoundParameters;

constexpr std::size_t k_least_launches = 3;

}  // namespace

bool is_memory_bound(std::string_view kind) {
  constexpr std::array<std::string_view, 16> k_kinds{"copy",
                                                     "read",
                                                     "write",
                                                     "layernorm",
                                                     "rmsnorm",
                                                     "layernorm_backward",
                                                     "rmsnorm_backward",
                                                     "softmax",
                                                     "add",
                                                     "softmax_backward",
                                                     "gelu",
                                                     "swiglu",
                                                     "gelu_backward",
                                                     "swiglu_backward",
                                                     "cast",
                                                     "adam"};
  return std::find(k_kinds.begin(), k_kinds.end(), kind) != k_kinds.end();
}

void fit_memory_bound(const Rows& rows, Result& result) {
  Rows cold;
  std::map<std::string, int> kinds;
  FamilyProblem problem{.groupings = {{}, {}}, .grouped_by = "kinds, decades of bytes"};
  cost::FitRecord ranges;
  for (const measure::Measurement* row : rows) {
    if (row->bytes <= 0.0 || row->cache == measure::CacheState::warm) {
      result.drop(row->bytes <= 0.0 ? "memory-bound kernels of unstated traffic"
                                    : "memory-bound kernels with operands in the cache",
                  1);
      continue;
    }
    cold.push_back(row);
    problem.measured_s.push_back(row->time.median_s);
    problem.groupings[0].push_back(kinds.emplace(row->kind, static_cast<int>(kinds.size())).first->second);
    problem.groupings[1].push_back(decade(std::max(1.0, row->bytes)));
    widen(ranges.ranges, "bytes", row->bytes);
  }
  if (cold.size() < k_least_rows) {
    result.families.push_back(too_few("memory-bound", "any", cold.size(), k_least_rows));
    return;
  }
  const auto free = free_numbers(cost::k_memory_bound_numbers, {FreeWhen::always});
  const MemoryBoundParameters held = result.calibration.memory_bound;
  problem.parameters = parameters_of(free);
  problem.price = [&](std::span<const double> values, std::span<const std::size_t> which, std::span<double> seconds) {
    const MemoryBoundParameters parameters = with_values(held, free, values);
    for (std::size_t i = 0; i < which.size(); ++i)
      seconds[i] = cost::memory_bound_time(cold[which[i]]->bytes, 0.0, parameters, result.calibration.machine).total_s;
  };
  FamilyFit fit = fit_family(problem);
  fit.record.ranges = std::move(ranges.ranges);
  result.calibration.memory_bound = with_values(held, free, fit.values);
  result.calibration.memory_bound_fit = fit.record;
  result.families.push_back(result_of("memory-bound", "any", problem.parameters, std::move(fit)));
}

// T = start + kernels x (an empty kernel's price): `start` is what the first launch waits for and is not kept.
void fit_launch(const Rows& rows, Result& result) {
  Rows chains;
  FamilyProblem problem{
      .parameters = {{"start", 2 * k_us, 0.01 * k_us, 1000 * k_us, 2.0}, {"gap", 2 * k_us, 0.1 * k_us, 40 * k_us, 2.0}},
      .groupings = {{}},
      .grouped_by = "decades of kernels"};
  cost::FitRecord ranges;
  for (const measure::Measurement* row : rows) {
    const auto kernels = static_cast<double>(row->extent("kernels"));
    if (kernels < 1.0) continue;
    chains.push_back(row);
    problem.measured_s.push_back(row->time.median_s);
    problem.groupings[0].push_back(decade(kernels));
    widen(ranges.ranges, "kernels", kernels);
  }
  if (chains.size() < k_least_launches || ranges.ranges.front().second.least == ranges.ranges.front().second.largest) {
    result.families.push_back(too_few("launch", "none", chains.size(), k_least_launches));
    *result.families.back().skipped += ", of different lengths";
    return;
  }
  problem.price = [&](std::span<const double> values, std::span<const std::size_t> which, std::span<double> seconds) {
    MemoryBoundParameters empty = result.calibration.memory_bound;
    empty.gap_s = values[1];
    const double kernel_s = cost::memory_bound_time(0.0, 0.0, empty, result.calibration.machine).total_s;
    for (std::size_t i = 0; i < which.size(); ++i)
      seconds[i] = values[0] + static_cast<double>(chains[which[i]]->extent("kernels")) * kernel_s;
  };
  FamilyFit fit = fit_family(problem);
  fit.record.ranges = std::move(ranges.ranges);
  result.calibration.gap_s = fit.values[1];
  result.families.push_back(result_of("launch", "none", problem.parameters, std::move(fit)));
}

}  // namespace cairn::calibrate
