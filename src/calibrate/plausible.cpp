#include "plausible.h"

#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/core/format_units.h"

namespace cairn::calibrate {
namespace {

constexpr double k_above_peak = 1.05;  // clocks above the data sheet's boost
// A switch that adds up lets each rank send its buffer once and receive the sum once, where wire_bytes counts
// 2(n-1)/n of it each way: of busbw it carries 2(n-1)/(n+1) of the link, below two. Nothing else passes the link.
constexpr double k_summing_switch = 2.0;

// Why a row cannot be used; the remedy.
struct Refusal {
  std::string message = {};
  std::string hint = {};
};

constexpr std::string_view k_other_units =
    "the rows are in other units or of another device: mend them, or name the device with --gpu";

std::optional<Refusal> too_fast_product(const measure::Measurement& row, double peak) {
  const double flops = 2.0 * static_cast<double>(row.extent("m")) * static_cast<double>(row.extent("n")) *
                       static_cast<double>(row.extent("k"));
  const double rate = flops / row.time.median_s;
  if (peak <= 0.0 || rate <= k_above_peak * peak) return std::nullopt;
  return Refusal{.message = fmt::format("gemm at {}, but the peak for {} is {}",
                                        core::format(core::FlopsPerSecond::from_base(rate)), row.type,
                                        core::format(core::FlopsPerSecond::from_base(peak))),
                 .hint = std::string(k_other_units)};
}

std::optional<Refusal> too_fast_message(const measure::Measurement& row, cost::Collective collective, double link) {
  const double rate = cost::wire_bytes(collective, row.bytes, row.ranks) / row.time.median_s;
  const bool sums = collective == cost::Collective::all_reduce;
  if (link <= 0.0 || rate <= (sums ? k_summing_switch : 1.0) * link) return std::nullopt;
  return Refusal{.message = fmt::format("{} of {} ranks at a busbw of {}, but a link carries {}{}", row.kind, row.ranks,
                                        core::format(core::BytesPerSecond::from_base(rate)),
                                        core::format(core::BytesPerSecond::from_base(link)),
                                        sums ? ", at most twice that where a switch adds up" : ""),
                 .hint = std::string(k_other_units)};
}

Refusal between_nodes(const measure::Measurement& row, const std::string& name, const cost::Fabric& fabric) {
  return {
      .message = fmt::format(
          "{} of {} ranks in {} nodes: what is measured here is the network between nodes, and its prices cannot be "
          "fitted yet. Assumed in place of it: the latency that the cluster's file states (inter.latency), {} more for "
          "each step, and {:.4g} of the bandwidth that it states (inter.bandwidth). These two are of '{}' in "
          "configs/calibration/fabrics.yaml ({} there); a cluster may name another `fabric`",
          row.kind, row.ranks, row.nodes, core::format(core::Seconds::from_base(fabric.laws.step_s)),
          fabric.laws.efficiency, name, fabric.provenance.evidence == cost::Evidence::fitted ? "fitted" : "assumed"),
      .hint = "leave these rows out: collectives inside one node are fitted"};
}

// "line 14", "lines 14 to 20, 31 and 12 more"
std::string lines_text(const std::set<int>& lines) {
  constexpr std::size_t k_shown_ranges = 4;
  std::vector<std::string> ranges;
  std::size_t more = 0;
  for (auto first = lines.begin(); first != lines.end();) {
    auto last = first;
    while (std::next(last) != lines.end() && *std::next(last) == *last + 1) ++last;
    if (ranges.size() == k_shown_ranges)
      more += static_cast<std::size_t>(*last - *first + 1);
    else
      ranges.push_back(first == last ? fmt::format("{}", *first) : fmt::format("{} to {}", *first, *last));
    first = std::next(last);
  }
  return fmt::format("{} {}{}", lines.size() == 1 ? "line" : "lines", fmt::join(ranges, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace

void require_usable(std::span<const measure::MeasurementFile> files, const Rows& rows, const Limits& limits) {
  std::vector<core::Diagnostic> errors;
  const std::set<const measure::Measurement*> wanted(rows.begin(), rows.end());
  const auto refusal_of = [&](const measure::Measurement& row) -> std::optional<Refusal> {
    if (row.time.median_s <= 0.0) return std::nullopt;
    if (row.kind == "gemm") return too_fast_product(row, limits.peak_flops(cost::gemm_set_type(row.type)));
    const std::optional<cost::Collective> collective = collective_of(row.kind);
    if (!collective) return std::nullopt;
    if (row.nodes != 1) return between_nodes(row, limits.fabric_name, limits.fabric);
    if (row.ranks < 2) return std::nullopt;  // there is no link; fit_collectives drops it
    return too_fast_message(row, *collective, limits.link_bandwidth);
  };
  for (const measure::MeasurementFile& file : files) {
    struct Found {
      Refusal of_first = {};
      std::set<int> lines = {};
    };
    std::map<std::tuple<std::string, std::int64_t, std::int64_t>, Found> alike;
    for (const measure::Measurement& row : file.rows) {
      if (!wanted.contains(&row)) continue;
      std::optional<Refusal> refusal = refusal_of(row);
      if (!refusal) continue;
      Found& found = alike[{row.kind, row.ranks, row.nodes}];
      if (found.lines.empty()) found.of_first = std::move(*refusal);
      found.lines.insert(row.line);
    }
    for (const auto& [key, found] : alike)
      errors.push_back(core::Diagnostic::at_line(file.file, *found.lines.begin(),
                                                 fmt::format("{}; {}", found.of_first.message, lines_text(found.lines)),
                                                 found.of_first.hint));
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
    error.message =
        fmt::format("{} {}: no parameters describe these rows: the predictions are off by {:.0f} % in the median{}",
                    family.kind, family.type, 100.0 * family.record.in_sample.median, bounds);
    error.hint = fmt::format("up to {:.0f} % is a fit: look at the units of the rows, or name their device with --gpu",
                             100.0 * k_most_error);
    errors.push_back(std::move(error));
  }
  if (!errors.empty()) throw core::ConfigurationError(std::move(errors));
}

}  // namespace cairn::calibrate
