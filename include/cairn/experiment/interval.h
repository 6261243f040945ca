// How far a prediction may be off, by runs that were measured.
//
//   ratio     measured / predicted of a measured run, of its step time or of the memory its tensors take
//   family    the runs that share the first n traits, n = 5 .. 0, of
//               framework > accelerator (its architecture) > precision > layers (dense or moe) > scale (node or nodes)
//   interval  predicted x [ratio at 10 %, ratio at 90 %] of the nearest family: eight runs in ten lie between
//
// The nearest family shares the most traits and has k_least_rows rows or more: of fewer no interval of eight in ten
// exists whatever the distribution, since the ninth part of ten lies beyond the largest (split conformal prediction:
// Vovk, Gammerman, Shafer, Algorithmic Learning in a Random World, 2005; Lei et al., JASA 2018). All runs together are
// the family of no traits, in which each framework on each architecture weighs the same: what predictions of a pair that
// nobody measured are off by.
//
// Where a run is unlike what was measured the interval is wider, and says why:
//   an unmeasured framework, accelerator, precision or kind of layers, and a family that leaves framework or
//   accelerator open: at each level the farther of the family's ratio and that of all runs
//   more or fewer GPUs than the family's by d doublings: low / exp(s d), high x exp(s d), with s the growth of the
//   error with each doubling inside the families (`growth`, in logarithms)
//
// The project ships the quantiles (configs/intervals.yaml), not the runs: `cairn validate --write-intervals` makes them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/config/fields.h"
#include "cairn/config/loader.h"

namespace cairn::experiment {

inline constexpr std::array<std::string_view, 5> k_traits{"framework", "accelerator", "precision", "layers", "scale"};
inline constexpr std::size_t k_traits_of_machine = 2;  // framework and accelerator
inline constexpr std::array<double, 5> k_interval_levels{0.1, 0.25, 0.5, 0.75, 0.9};
inline constexpr double k_interval_coverage = 0.8;
inline constexpr std::int64_t k_least_rows = 9;

// What a run is known by: "megatron", "hopper", "16-bit", "dense", "nodes".
struct RunTraits {
  std::array<std::string, k_traits.size()> words = {};
  std::int64_t gpus = 1;
};

// Ratios of some runs.
struct Spread {
  std::int64_t rows = 0;
  std::int64_t models = 0;  // of all runs together: frameworks on architectures
  std::int64_t least_gpus = 0;
  std::int64_t most_gpus = 0;
  // The smallest, those at k_interval_levels, the largest; empty: fewer than k_least_rows rows.
  std::vector<double> ratios = {};
};

struct ResidualFamily {
  std::vector<std::string> traits = {};  // the first ones
  std::optional<Spread> time = {};
  std::optional<Spread> memory = {};
  std::int64_t set_aside = 0;  // rows believed mis-stated, counted nowhere else
};

struct IntervalTable {
  double time_growth = 0.0;  // of the logarithm of the ratio with each doubling of GPUs
  double memory_growth = 0.0;
  std::vector<ResidualFamily> families = {};
};

void describe(config::Fields& fields, Spread& spread);
void describe(config::Fields& fields, ResidualFamily& family);
void describe(config::Fields& fields, IntervalTable& table);

// configs/intervals.yaml of the loader's folders; empty where they have none.
std::optional<IntervalTable> load_intervals(const config::Loader& loader);

struct Interval {
  std::vector<double> ratios;  // as in Spread, widened
  std::string family;          // "megatron, hopper, 16-bit"; "all runs"
  std::int64_t rows = 0;       // that it rests on
  std::int64_t models = 0;
  std::int64_t units = 0;  // rows; of all runs together: frameworks on architectures
  std::int64_t set_aside = 0;
  std::vector<std::string> extrapolated;  // why it was widened

  double low() const { return ratios[1]; }
  double high() const { return ratios[k_interval_levels.size()]; }
  // Share of runs whose ratio stays at or below `ratio`: linear between the levels, and up to 1 / (units + 1) and
  // units / (units + 1) beyond those at 10 and 90 % where that is farther out.
  double share_below(double ratio) const;
};

// Of the step time, or of the memory that tensors take. Empty where no family of it has enough rows.
std::optional<Interval> time_interval(const IntervalTable& table, const RunTraits& run);
std::optional<Interval> memory_interval(const IntervalTable& table, const RunTraits& run);

// Both of one run.
struct RunIntervals {
  std::optional<Interval> time;
  std::optional<Interval> memory;
  std::string none;  // why there is neither
};

}  // namespace cairn::experiment
