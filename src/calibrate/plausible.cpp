#include "plausible.h"

#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/core/format_units.h"

namespace cairn::calibrate {
namespace {

// A rate that cannot be, and the most that can; empty when the row is possible.
struct Excess {
  std::string rate;
  std::string most;
};

constexpr double k_above_peak = 1.05;  // clocks above the data sheet's boost
constexpr double k_above_link = 2.0;

std::optional<Excess> excess_of(const measure::Measurement& row,
                                const std::function<double(std::string_view type)>& peak_flops, double link_bandwidth) {
  if (row.time.median_s <= 0.0) return std::nullopt;
  if (row.kind == "gemm") {
    const double flops = 2.0 * static_cast<double>(row.extent("m")) * static_cast<double>(row.extent("n")) * static_cast<double>(row.extent("k"));
    const double rate = flops / row.time.median_s, peak = peak_flops(cost::gemm_set_type(row.type));
    if (peak <= 0.0 || rate <= k_above_peak * peak) return std::nullopt;
    return Excess{core::format(core::FlopsPerSecond::from_base(rate)),
                  fmt::format("the peak for {} is {}", row.type, core::format(core::FlopsPerSecond::from_base(peak)))};
  }
  if (!is_collective(row.kind) || row.nodes != 1 || row.ranks < 2 || link_bandwidth <= 0.0) return std::nullopt;
  // A rank keeps its own share; what an all-gather or a reduce-scatter moves is all but that, an all-reduce at least.
  const auto ranks = static_cast<double>(row.ranks);
  const double rate = row.bytes * (ranks - 1.0) / ranks / row.time.median_s;
  if (rate <= k_above_link * link_bandwidth) return std::nullopt;
  return Excess{core::format(core::BytesPerSecond::from_base(rate)),
                fmt::format("a link carries {}", core::format(core::BytesPerSecond::from_base(link_bandwidth)))};
}

}  // namespace

void require_possible(std::span<const measure::MeasurementFile> files, const Rows& rows,
                      const std::function<double(std::string_view type)>& peak_flops, double link_bandwidth) {
  std::vector<core::Diagnostic> errors;
  const std::set<const measure::Measurement*> wanted(rows.begin(), rows.end());
  for (const measure::MeasurementFile& file : files) {
    struct Found {
      const measure::Measurement* first = nullptr;
      Excess excess;
      std::int64_t rows = 0;
    };
    std::map<std::string, Found> by_kind;
    for (const measure::Measurement& row : file.rows) {
      if (!wanted.contains(&row)) continue;
      const std::optional<Excess> excess = excess_of(row, peak_flops, link_bandwidth);
      if (!excess) continue;
      Found& found = by_kind[row.kind];
      if (found.rows++ == 0) found = {.first = &row, .excess = *excess, .rows = 1};
    }
    for (const auto& [kind, found] : by_kind)
      errors.push_back(core::Diagnostic::at_line(
          file.file, found.first->line,
          fmt::format("{} at {}, but {}; so in {} row{}", kind, found.excess.rate, found.excess.most, found.rows,
                      found.rows == 1 ? "" : "s"),
          "the rows are in other units or of another device: mend them, or name the device with --gpu"));
  }
  if (!errors.empty()) throw core::ConfigurationError(std::move(errors));
}

void require_agreement(const Result& result, std::span<const measure::MeasurementFile> files) {
  std::vector<core::Diagnostic> errors;
  for (const FamilyResult& family : result.families) {
    if (family.skipped || family.record.in_sample.median <= k_most_error) continue;
    const std::string bounds =
        family.at_bound.empty() ? std::string() : fmt::format(", with {} at a bound", fmt::join(family.at_bound, ", "));
    core::Diagnostic error;
    error.file = files.size() == 1 ? files.front().file : std::string();
    error.message = fmt::format("{} {}: no parameters describe these rows: the predictions are off by {:.0f} % in the median{}",
                                family.kind, family.type, 100.0 * family.record.in_sample.median, bounds);
    error.hint = fmt::format("up to {:.0f} % is a fit: look at the units of the rows, or name their device with --gpu",
                             100.0 * k_most_error);
    errors.push_back(std::move(error));
  }
  if (!errors.empty()) throw core::ConfigurationError(std::move(errors));
}

}  // namespace cairn::calibrate
