#include "cairn/core/out_of_range.h"

#include <fmt/format.h>

#include "cairn/core/format_units.h"
#include "cairn/core/time.h"

namespace cairn::core {

OutOfRange::OutOfRange(std::string message, std::string hint)
    : ConfigurationError(std::string(), std::move(message), std::move(hint)) {}

OutOfRange OutOfRange::of(const std::string& what) const {
  const Diagnostic& found = diagnostics().front();
  return OutOfRange(fmt::format("{}: {}", what, found.message), found.hint);
}

ConfigurationError OutOfRange::at(std::string key_path, std::string hint) const {
  return ConfigurationError(std::move(key_path), diagnostics().front().message, std::move(hint));
}

void raise_uncountable() {
  throw OutOfRange(fmt::format("more than {} things to count", std::numeric_limits<std::int64_t>::max()),
                   "counts are exact up to there: make the sizes smaller");
}

void raise_beyond_reach(double seconds) {
  throw OutOfRange(
      fmt::format("{} is longer than simulated time reaches, {}", format(Seconds::from_base(seconds)), reach_text()),
      "raise bandwidths, lower latencies, or give less work");
}

void raise_too_many(std::int64_t count, std::int64_t most, const Counted& counted) {
  throw ConfigurationError(counted.key_path,
                           fmt::format("{} {} are more than the {} that can be listed", count, counted.what, most),
                           counted.hint);
}

}  // namespace cairn::core
