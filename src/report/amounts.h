// Amounts in the form that all reports show them in.
#pragma once

#include <cmath>
#include <string>

#include <fmt/format.h>

#include "cairn/core/format_units.h"
#include "cairn/core/quantity.h"

namespace cairn::report {

inline constexpr double k_gibibyte = core::k_gibibyte.base();

inline std::string percent(double share, int decimals = 1) { return fmt::format("{:.{}f} %", 100.0 * share, decimals); }
inline std::string seconds(double value) { return core::format(core::Seconds::from_base(value)); }
// Below 10,000 core::format_count writes a count out; a rate is no count.
inline std::string rate(double value) { return value < 1e4 ? fmt::format("{:.0f}", value) : core::format_count(value); }
inline std::string bytes(double value) { return core::format(core::Bytes::from_base(value)); }

inline std::string days(double time_s) {
  constexpr double k_seconds_per_day = 86400.0, k_whole_from = 100.0;
  const double days = time_s / k_seconds_per_day;
  return days < k_whole_from ? fmt::format("{:.3g} days", days) : core::format_count(std::round(days)) + " days";
}
inline std::string energy(double joule) {
  if (joule < 1e3) return fmt::format("{:.3g} J", joule);
  if (joule < 1e6) return fmt::format("{:.3g} kJ", joule / 1e3);
  return joule < 1e9 ? fmt::format("{:.3g} MJ", joule / 1e6) : fmt::format("{:.4g} GJ", joule / 1e9);
}

}  // namespace cairn::report
