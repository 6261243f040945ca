// What the two forms of a search's answer share.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cairn/hardware/running_costs.h"
#include "cairn/report/search.h"

namespace cairn::report {

using SearchSettings = std::vector<std::pair<std::string, std::string>>;

// Settings as a strategy that an experiment takes: {tp: 4, overlap: {pp: true, dp: false}}
inline std::string strategy_text(const SearchSettings& settings) {
  constexpr std::string_view k_nested = "overlap.";
  std::string text;
  std::string nested;
  for (const auto& [key, value] : settings) {
    const bool within = key.starts_with(k_nested);
    std::string& part = within ? nested : text;
    part += fmt::format("{}{}: {}", part.empty() ? "" : ", ", within ? key.substr(k_nested.size()) : key, value);
  }
  if (!nested.empty()) text += fmt::format("{}overlap: {{{}}}", text.empty() ? "" : ", ", nested);
  return fmt::format("{{{}}}", text);
}

// What a step of so many seconds yields on the machine of the experiment.
struct SearchFigures {
  double tokens_per_s_per_gpu = 0.0;
  std::optional<double> usd_per_step;
  double joule_per_step = 0.0;
};
inline SearchFigures search_figures(const Search& of, double time_s) {
  constexpr double k_seconds_an_hour = 3600.0;
  const auto gpus = static_cast<double>(of.machine.network.gpus());
  const hardware::RunningCosts costs = hardware::running_costs(of.machine);
  SearchFigures figures{.tokens_per_s_per_gpu = of.tokens / (time_s * gpus),
                        .usd_per_step = std::nullopt,
                        .joule_per_step = costs.power.base() * time_s};
  if (costs.accelerator_hour) figures.usd_per_step = time_s * gpus / k_seconds_an_hour * costs.accelerator_hour->base();
  return figures;
}

// How far the best may be from the best of all plans; empty: nothing was found, or nothing proven.
inline std::optional<double> search_gap(const search::Answer& answer) {
  if (answer.top.empty() || !answer.verdict.lower_bound || *answer.verdict.lower_bound <= 0) return std::nullopt;
  return static_cast<double>(answer.top.front().time) / static_cast<double>(*answer.verdict.lower_bound) - 1.0;
}

}  // namespace cairn::report
