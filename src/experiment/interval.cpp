#include "cairn/experiment/interval.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/config/read.h"
#include "cairn/core/assert.h"

namespace cairn::experiment {
namespace {

constexpr const char* k_intervals_file = "intervals.yaml";
constexpr const char* k_intervals_kind = "intervals";
constexpr std::size_t k_ratios = k_interval_levels.size() + 2;
// From precision on, traits of work; before scale, which the number of GPUs says more exactly.
constexpr std::size_t k_traits_of_work = 4;

using Which = std::optional<Spread> ResidualFamily::*;

bool shares(const ResidualFamily& family, const RunTraits& run) {
  return std::equal(family.traits.begin(), family.traits.end(), run.words.begin());
}

// The family of the run's first `traits`; null pointer where it has no run of this kind.
const ResidualFamily* find(const IntervalTable& table, const RunTraits& run, std::size_t traits, Which which) {
  for (const ResidualFamily& family : table.families)
    if (family.traits.size() == traits && shares(family, run) && family.*which) return &family;
  return nullptr;
}

bool has_ratios(const ResidualFamily* family, Which which) {
  return family != nullptr && !(family->*which)->ratios.empty();
}

std::string named(const ResidualFamily& family) {
  return family.traits.empty() ? "all runs" : fmt::format("{}", fmt::join(family.traits, ", "));
}

// What of the run was never measured, `seen` traits being as in some run.
std::string unmeasured(const RunTraits& run, std::size_t seen) {
  const auto& [framework, accelerator, precision, layers, scale] = run.words;
  switch (seen) {
    case 0:
      return fmt::format("no measured run of {}", framework);
    case 1:
      return fmt::format("no measured run of {} on {}", framework,
                         accelerator.empty() ? "such an accelerator" : accelerator);
    case 2:
      return fmt::format("no measured run of {} on {} in {}", framework, accelerator, precision);
    default:
      return fmt::format("no measured run of {} on {} with {} layers", framework, accelerator, layers);
  }
}

double doublings_beyond(std::int64_t gpus, const Spread& spread) {
  const auto n = static_cast<double>(gpus);
  if (gpus > spread.most_gpus) return std::log2(n / static_cast<double>(spread.most_gpus));
  if (gpus < spread.least_gpus) return std::log2(static_cast<double>(spread.least_gpus) / n);
  return 0.0;
}

// At each level the ratio that is farther out.
void widen(std::vector<double>& ratios, const std::vector<double>& other) {
  const std::size_t middle = k_ratios / 2;
  for (std::size_t i = 0; i < middle; ++i) ratios[i] = std::min(ratios[i], other[i]);
  for (std::size_t i = middle + 1; i < k_ratios; ++i) ratios[i] = std::max(ratios[i], other[i]);
}

void widen(std::vector<double>& ratios, double factor) {
  const std::size_t middle = k_ratios / 2;
  for (std::size_t i = 0; i < middle; ++i) ratios[i] /= factor;
  for (std::size_t i = middle + 1; i < k_ratios; ++i) ratios[i] *= factor;
}

std::optional<Interval> nearest(const IntervalTable& table, const RunTraits& run, Which which, double growth) {
  std::size_t seen = 0, taken = 0;
  for (std::size_t traits = 1; traits <= k_traits.size(); ++traits) {
    const ResidualFamily* family = find(table, run, traits, which);
    if (family != nullptr) seen = traits;
    if (has_ratios(family, which)) taken = traits;
  }
  const ResidualFamily* all = find(table, run, 0, which);
  const ResidualFamily* family = find(table, run, taken, which);
  if (!has_ratios(family, which)) return std::nullopt;
  const Spread& spread = *(family->*which);
  Interval result{.ratios = spread.ratios,
                  .family = named(*family),
                  .rows = spread.rows,
                  .models = spread.models,
                  .units = taken == 0 ? spread.models : spread.rows,
                  .set_aside = family->set_aside,
                  .extrapolated = {}};
  if (seen < k_traits_of_work) {
    result.extrapolated.push_back(unmeasured(run, seen));
  } else if (taken < k_traits_of_machine) {
    const ResidualFamily* near = find(table, run, k_traits_of_machine, which);
    result.extrapolated.push_back(
        fmt::format("only {} measured runs of {} on {}", (near->*which)->rows, run.words[0], run.words[1]));
  }
  if (!result.extrapolated.empty() && taken > 0 && has_ratios(all, which)) {
    widen(result.ratios, (all->*which)->ratios);
    result.units = std::min(result.units, (all->*which)->models);
  }
  if (const double doublings = doublings_beyond(run.gpus, spread); doublings > 0.0) {
    widen(result.ratios, std::exp(growth * doublings));
    const bool more = run.gpus > spread.most_gpus;
    result.extrapolated.push_back(fmt::format("{} GPUs, {} the {} of those runs", run.gpus,
                                              more ? "beyond" : "fewer than",
                                              more ? spread.most_gpus : spread.least_gpus));
  }
  return result;
}

}  // namespace

void describe(config::Fields& fields, Spread& spread) {
  fields.count("rows", spread.rows, {.doc = "measured runs", .required = true, .minimum = 1});
  fields.count("models", spread.models,
               {.doc = "models among them; of all runs: frameworks on architectures", .required = true, .minimum = 1});
  fields.count("least_gpus", spread.least_gpus, {.doc = "of a run", .required = true, .minimum = 1});
  fields.count("most_gpus", spread.most_gpus, {.doc = "of a run", .required = true, .minimum = 1});
  fields.numbers("ratios", spread.ratios,
                 {.doc = "measured / predicted: the smallest, at 10, 25, 50, 75, 90 %, the "
                         "largest; absent: too few rows",
                  .positive = true});
  fields.check(
      "ratios", [&] { return spread.ratios.empty() || spread.ratios.size() == k_ratios; }, "not seven ratios",
      "write the file with cairn validate --write-intervals");
  fields.check(
      "ratios", [&] { return std::is_sorted(spread.ratios.begin(), spread.ratios.end()); }, "the ratios do not ascend",
      "write the file with cairn validate --write-intervals");
  fields.check(
      "most_gpus", [&] { return spread.least_gpus <= spread.most_gpus; }, "fewer than least_gpus", "swap the two");
}

void describe(config::Fields& fields, ResidualFamily& family) {
  fields.texts("traits", family.traits,
               {.doc = "framework, accelerator, precision, layers, scale: the first ones; none: all runs",
                .required = true,
                .maximum_size = k_traits.size()});
  fields.object("time", family.time, {.doc = "of step times"});
  fields.object("memory", family.memory, {.doc = "of the memory that tensors take"});
  fields.count("set_aside", family.set_aside, {.doc = "rows believed mis-stated, which are not counted"});
}

void describe(config::Fields& fields, IntervalTable& table) {
  std::int64_t version = 1;
  fields.count("version", version, {.doc = "of the file format", .minimum = 1, .maximum = 1});
  fields.number("time_growth", table.time_growth,
                {.doc = "of the logarithm of measured / predicted with each doubling of GPUs", .maximum = 1.0});
  fields.number("memory_growth", table.memory_growth, {.doc = "the same of memory", .maximum = 1.0});
  fields.objects("families", table.families, {.doc = "of measured runs", .required = true});
}

std::optional<IntervalTable> load_intervals(const config::Loader& loader) {
  const std::filesystem::path file = loader.find_shipped(k_intervals_file, {});
  if (file.empty()) return std::nullopt;
  return *loader.once<IntervalTable>(file, [&file](const config::Loader& reader) {
    core::Diagnostics diagnostics;
    const config::Node node = reader.load(file, diagnostics, k_intervals_kind);
    IntervalTable table;
    config::read(node, table, diagnostics);
    diagnostics.raise_if_errors();
    return table;
  });
}

double Interval::share_below(double ratio) const {
  CAIRN_ASSERT(ratios.size() == k_ratios);
  const double ends = 1.0 / static_cast<double>(units + 1);
  const auto level = [&](std::size_t i) {
    if (i == 0) return std::min(ends, k_interval_levels.front());
    return i + 1 == k_ratios ? std::max(1.0 - ends, k_interval_levels.back()) : k_interval_levels[i - 1];
  };
  if (ratio < ratios.front()) return level(0);
  const auto above = static_cast<std::size_t>(std::upper_bound(ratios.begin(), ratios.end(), ratio) - ratios.begin());
  if (above == k_ratios) return level(k_ratios - 1);
  const double from = ratios[above - 1];
  return level(above - 1) + (level(above) - level(above - 1)) * (ratio - from) / (ratios[above] - from);
}

std::optional<Interval> time_interval(const IntervalTable& table, const RunTraits& run) {
  return nearest(table, run, &ResidualFamily::time, table.time_growth);
}

std::optional<Interval> memory_interval(const IntervalTable& table, const RunTraits& run) {
  return nearest(table, run, &ResidualFamily::memory, table.memory_growth);
}

}  // namespace cairn::experiment
