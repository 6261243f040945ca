// What the forms of a sweep's answer share.
#pragma once

#include <optional>
#include <string>

#include <fmt/format.h>

#include "cairn/report/sweep.h"

namespace cairn::report {

inline RunFigures sweep_figures(const sweep::Point& point) {
  return figures(point.prediction, {.gpus = static_cast<double>(point.gpus),
                                    .tokens = point.tokens,
                                    .peak_flops = point.peak_flops,
                                    .costs = point.costs});
}

// How far the step is from the lower bound of its plan; empty: nothing is proved.
inline std::optional<double> sweep_gap(const sweep::Point& point) {
  const std::optional<double> bound = point.prediction.plan_bounds.best_s();
  if (!bound || *bound <= 0.0) return std::nullopt;
  return core::to_seconds(point.prediction.time) / *bound - 1.0;
}

// How far the best layout may be from the best of its space; empty: nothing was searched, found or proved.
inline std::optional<double> sweep_search_gap(const sweep::Row& row) {
  if (!row.searched || !row.point || row.searched->lower_bound.value_or(0) <= 0) return std::nullopt;
  return static_cast<double>(row.point->prediction.time) / static_cast<double>(*row.searched->lower_bound) - 1.0;
}

// "cluster.nodes 8, strategy.tp 4"
inline std::string sweep_values(const sweep::Answer& answer, const sweep::Row& row) {
  std::string words;
  for (std::size_t i = 0; i < row.values.size(); ++i)
    words += fmt::format("{}{} {}", i == 0 ? "" : ", ", answer.variations[i].key, row.values[i]);
  return words;
}

}  // namespace cairn::report
