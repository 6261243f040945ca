#include "cairn/validation/residuals.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/core/assert.h"

namespace cairn::validation {
namespace {

using experiment::IntervalTable;
using experiment::k_interval_levels;
using experiment::ResidualFamily;
using experiment::Spread;
using Traits = std::vector<std::string>;
using Rows = std::vector<const Residual*>;

constexpr double k_growth_share = 0.8;  // of families whose error grows less

Traits first_traits(const Residual& row, std::size_t count) {
  return {row.traits.words.begin(), row.traits.words.begin() + static_cast<std::ptrdiff_t>(count)};
}

// The rows that count, each run once.
Rows counted(std::span<const Residual> all) {
  std::map<std::tuple<Traits, std::int64_t, std::string>, const Residual*> first;
  Rows rows;
  for (const Residual& row : all) {
    if (row.set_aside) continue;
    const auto [met, fresh] = first.try_emplace(
        {first_traits(row, experiment::k_traits.size()), row.traits.gpus, fmt::format("{:.4g}", row.measured)}, &row);
    if (fresh || met->second->table == row.table) rows.push_back(&row);
  }
  return rows;
}

std::vector<double> ratios_of(const Rows& rows) {
  std::vector<double> result;
  for (const Residual* row : rows) result.push_back(row->ratio());
  return result;
}

std::map<Traits, Rows> by_traits(const Rows& rows, std::size_t count) {
  std::map<Traits, Rows> result;
  for (const Residual* row : rows) result[first_traits(*row, count)].push_back(row);
  return result;
}

// Sums of weights reach a level that they are equal to but for their rounding.
constexpr double k_level_rounding = 1e-9;

// Each group weighs the same.
std::vector<double> pooled_quantiles(const std::map<Traits, Rows>& groups) {
  std::vector<std::pair<double, double>> weighed;
  for (const auto& [traits, rows] : groups)
    for (const Residual* row : rows)
      weighed.emplace_back(row->ratio(), 1.0 / static_cast<double>(rows.size() * groups.size()));
  std::sort(weighed.begin(), weighed.end());
  const auto at = [&](double level) {
    double passed = 0.0;
    for (const auto& [ratio, weight] : weighed)
      if ((passed += weight) >= level - k_level_rounding) return ratio;
    return weighed.back().first;
  };
  // From above for the upper levels, so that both tails are cut alike.
  const auto from_above = [&](double level) {
    double passed = 0.0;
    for (auto each = weighed.rbegin(); each != weighed.rend(); ++each)
      if ((passed += each->second) >= 1.0 - level - k_level_rounding) return each->first;
    return weighed.front().first;
  };
  std::vector<double> result{weighed.front().first};
  for (const double level : k_interval_levels) result.push_back(level > 0.5 ? from_above(level) : at(level));
  result.push_back(weighed.back().first);
  return result;
}

Spread spread_of(const Rows& rows) {
  Spread spread;
  std::set<std::string> models;
  for (const Residual* row : rows) {
    models.insert(row->model);
    const std::int64_t gpus = row->traits.gpus;
    spread.least_gpus = spread.rows == 0 ? gpus : std::min(spread.least_gpus, gpus);
    spread.most_gpus = std::max(spread.most_gpus, gpus);
    ++spread.rows;
  }
  spread.models = static_cast<std::int64_t>(models.size());
  spread.ratios = conformal_quantiles(ratios_of(rows));
  return spread;
}

void add_spreads(const Rows& rows, std::optional<Spread> ResidualFamily::*which,
                 std::map<Traits, ResidualFamily>& families) {
  if (rows.empty()) return;
  for (std::size_t count = 1; count <= experiment::k_traits.size(); ++count)
    for (const auto& [traits, members] : by_traits(rows, count)) families[traits].*which = spread_of(members);
  const std::map<Traits, Rows> groups = by_traits(rows, experiment::k_traits_of_machine);
  Spread all = spread_of(rows);
  all.models = static_cast<std::int64_t>(groups.size());
  if (!all.ratios.empty()) all.ratios = pooled_quantiles(groups);
  families[{}].*which = std::move(all);
}

double growth(const Rows& rows) {
  std::vector<double> slopes;
  for (const auto& [traits, members] : by_traits(rows, experiment::k_traits_of_machine)) {
    if (static_cast<std::int64_t>(members.size()) < experiment::k_least_rows) continue;
    std::vector<double> logarithms;
    std::vector<std::int64_t> gpus;
    for (const Residual* row : members) {
      logarithms.push_back(std::log(row->ratio()));
      gpus.push_back(row->traits.gpus);
    }
    if (const auto slope = slope_per_doubling(logarithms, gpus)) slopes.push_back(std::abs(*slope));
  }
  if (slopes.empty()) return 0.0;
  std::sort(slopes.begin(), slopes.end());
  const auto place = static_cast<std::size_t>(std::ceil(k_growth_share * static_cast<double>(slopes.size())));
  return slopes[place - 1];
}

IntervalTable table_of(const Rows& times, const Rows& memories) {
  std::map<Traits, ResidualFamily> families;
  add_spreads(times, &ResidualFamily::time, families);
  add_spreads(memories, &ResidualFamily::memory, families);
  IntervalTable table{.time_growth = growth(times), .memory_growth = growth(memories), .families = {}};
  for (auto& [traits, family] : families) {
    family.traits = traits;
    table.families.push_back(std::move(family));
  }
  return table;
}

std::string word(const std::string& text) {
  const bool plain =
      !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
  return plain ? text : fmt::format("'{}'", text);
}

std::string line_of(const Spread& spread) {
  std::string text = fmt::format("{{rows: {}, models: {}, least_gpus: {}, most_gpus: {}", spread.rows, spread.models,
                                 spread.least_gpus, spread.most_gpus);
  if (!spread.ratios.empty()) {
    std::vector<std::string> ratios;
    for (const double ratio : spread.ratios) ratios.push_back(fmt::format("{:.4g}", ratio));
    text += fmt::format(", ratios: [{}]", fmt::join(ratios, ", "));
  }
  return text + "}";
}

}  // namespace

std::vector<double> conformal_quantiles(std::vector<double> ratios) {
  const auto n = static_cast<std::int64_t>(ratios.size());
  if (n < experiment::k_least_rows) return {};
  std::sort(ratios.begin(), ratios.end());
  std::vector<double> result{ratios.front()};
  for (const double level : k_interval_levels) {
    const double place = static_cast<double>(n + 1) * level;
    const double whole = level > 0.5 ? std::ceil(place - k_level_rounding) : std::floor(place + k_level_rounding);
    const auto index = static_cast<std::int64_t>(whole);
    result.push_back(ratios[static_cast<std::size_t>(std::clamp<std::int64_t>(index, 1, n) - 1)]);
  }
  result.push_back(ratios.back());
  return result;
}

IntervalTable interval_table(std::span<const Residual> times, std::span<const Residual> memories) {
  IntervalTable table = table_of(counted(times), counted(memories));
  for (ResidualFamily& family : table.families)
    family.set_aside = std::count_if(times.begin(), times.end(), [&](const Residual& row) {
      return row.set_aside && first_traits(row, family.traits.size()) == family.traits;
    });
  return table;
}

std::vector<std::optional<LeftOut>> left_out_times(std::span<const Residual> times) {
  const Rows rows = counted(times);
  // What leaves together.
  std::map<Traits, std::set<std::string>> models;
  for (const Residual* row : rows) models[first_traits(*row, experiment::k_traits_of_machine)].insert(row->model);
  using Group = std::tuple<Traits, std::string, std::int64_t>;
  const auto group_of = [&](const Residual& row) {
    const Traits machine = first_traits(row, experiment::k_traits_of_machine);
    const bool one_model = models[machine].size() == 1;
    return Group{one_model ? machine : first_traits(row, 1), row.model, one_model ? row.traits.gpus : 0};
  };
  std::map<Group, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < times.size(); ++i)
    if (!times[i].set_aside) groups[group_of(times[i])].push_back(i);
  std::vector<std::optional<LeftOut>> result(times.size());
  for (const auto& [group, members] : groups) {
    Rows others;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(others),
                 [&, &leaves = group](const Residual* row) { return group_of(*row) != leaves; });
    const IntervalTable table = table_of(others, {});
    for (const std::size_t i : members)
      if (const auto interval = experiment::time_interval(table, times[i].traits))
        result[i] = {.covered = interval->low() <= times[i].ratio() && times[i].ratio() <= interval->high(),
                     .width = interval->high() - interval->low()};
  }
  return result;
}

std::optional<double> slope_per_doubling(std::span<const double> values, std::span<const std::int64_t> gpus) {
  CAIRN_ASSERT(values.size() == gpus.size());
  if (values.empty()) return std::nullopt;
  const auto n = static_cast<double>(values.size());
  double mean_x = 0.0, mean_y = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    mean_x += std::log2(static_cast<double>(gpus[i])) / n;
    mean_y += values[i] / n;
  }
  double xx = 0.0, xy = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = std::log2(static_cast<double>(gpus[i])) - mean_x;
    xx += x * x;
    xy += x * (values[i] - mean_y);
  }
  constexpr double k_one_count = 1e-9;
  if (xx < k_one_count) return std::nullopt;
  return xy / xx;
}

std::string intervals_yaml(const IntervalTable& table) {
  std::string text = fmt::format(
      "# How far predictions of measured runs were off: measured / predicted, its quantiles by family; see\n"
      "# include/cairn/experiment/interval.h. Written by `cairn validate --write-intervals`, never by hand.\n"
      "version: 1\ntime_growth: {:.2g}\nmemory_growth: {:.2g}\nfamilies:\n",
      table.time_growth, table.memory_growth);
  if (table.families.empty()) text.insert(text.size() - 1, " []");
  for (const ResidualFamily& family : table.families) {
    std::vector<std::string> words;
    for (const std::string& each : family.traits) words.push_back(word(each));
    text += fmt::format("  - traits: [{}]\n", fmt::join(words, ", "));
    if (family.time) text += fmt::format("    time: {}\n", line_of(*family.time));
    if (family.memory) text += fmt::format("    memory: {}\n", line_of(*family.memory));
    if (family.set_aside > 0) text += fmt::format("    set_aside: {}\n", family.set_aside);
  }
  return text;
}

}  // namespace cairn::validation
