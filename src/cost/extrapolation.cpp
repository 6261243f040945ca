#include "cairn/cost/extrapolation.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "cairn/core/format_units.h"
#include "domain_transfer.h"

namespace cairn::cost {
namespace {

constexpr std::string_view k_bytes = "bytes";
constexpr std::string_view k_ranks = "ranks";

const MeasuredRange* find(const FitRecord& record, std::string_view dimension) {
  const auto found = std::find_if(record.ranges.begin(), record.ranges.end(),
                                  [&](const auto& each) { return each.first == dimension; });
  return found == record.ranges.end() ? nullptr : &found->second;
}

}  // namespace

double factor_outside(double x, const MeasuredRange& range) {
  if (x > range.largest && range.largest > 0.0) return x / range.largest;
  if (x < range.least && x > 0.0) return range.least / x;
  return 1.0;
}

void Extrapolation::see(const std::string& family, std::string_view dimension, double x, const MeasuredRange& range) {
  const double factor = factor_outside(x, range);
  if (factor <= 1.0 || (dimension == k_bytes && x < range.least)) return;
  Worst& worst = families_[family];
  if (factor > worst.factor) worst = {.dimension = std::string(dimension), .x = x, .range = range, .factor = factor};
}

void Extrapolation::see(const std::string& family, const GemmShape& shape, const FitRecord& record) {
  const MeasuredRange *m = find(record, "m"), *n = find(record, "n"), *k = find(record, "k");
  if (m == nullptr || n == nullptr || k == nullptr) return;
  const auto rows = static_cast<double>(shape.m), columns = static_cast<double>(shape.n);
  const auto worst = [&](double a, double b) { return std::max(factor_outside(a, *m), factor_outside(b, *n)); };
  const bool swapped = worst(columns, rows) < worst(rows, columns);
  see(family, "m", swapped ? columns : rows, *m);
  see(family, "n", swapped ? rows : columns, *n);
  see(family, "k", static_cast<double>(shape.k), *k);
}

void Extrapolation::see(const std::string& family, double bytes, const FitRecord& record) {
  if (const MeasuredRange* range = find(record, k_bytes)) see(family, k_bytes, bytes, *range);
}

void Extrapolation::see(Collective collective, double bytes, const GroupBinding& group, const DomainLaws& laws) {
  const std::int64_t inside = std::min(group.size, group.ranks_per_domain);
  if (inside <= 1) return;
  std::optional<MeasuredRange> ranks, sizes;
  const auto widen = [](std::optional<MeasuredRange>& range, const MeasuredRange& by) {
    range = range ? MeasuredRange{std::min(range->least, by.least), std::max(range->largest, by.largest)} : by;
  };
  for (const DomainFit& fit : laws.fits) {
    if (fit.collective != fitted_as(collective) || !fit.fit) continue;
    const auto count = static_cast<double>(fit.ranks);
    widen(ranks, {count, count});
    if (const MeasuredRange* measured = find(*fit.fit, k_bytes)) widen(sizes, *measured);
  }
  const std::string family = fmt::format("{} inside a domain", measured_name(collective));
  if (ranks && collective != Collective::send) see(family, k_ranks, static_cast<double>(inside), *ranks);
  const GroupBinding within{.size = group.size, .ranks_per_domain = inside, .across = group.across};
  if (sizes) see(family, k_bytes, bytes_inside(collective, bytes, within), *sizes);
}

std::vector<std::string> Extrapolation::sentences() const {
  std::vector<std::string> result;
  for (const auto& [family, worst] : families_) {
    const auto size = [&worst = worst](double x) {
      return worst.dimension == k_bytes ? core::format(core::Bytes::from_base(x)) : fmt::format("{:.0f}", x);
    };
    const std::string what = worst.dimension == k_bytes   ? "of " + size(worst.x)
                             : worst.dimension == k_ranks ? fmt::format("over {} ranks", size(worst.x))
                                                          : fmt::format("with {} = {}", worst.dimension, size(worst.x));
    result.push_back(
        fmt::format("{} {}: measured from {} to {} only; {:.3g} times beyond, the fitted law is taken to go on", family,
                    what, size(worst.range.least), size(worst.range.largest), worst.factor));
  }
  return result;
}

}  // namespace cairn::cost
