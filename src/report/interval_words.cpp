#include "interval_words.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "text_report.h"

namespace cairn::report {
namespace {

const predict::MemoryReport& memory_of(const Run& run) { return run.result.prediction.memory; }
double of_process(const predict::MemoryReport& memory) { return memory.device_peak - memory.reserved_peak; }

// Three digits, never an exponent.
std::string short_number(double value) {
  return value < 999.5 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
}

}  // namespace

std::optional<Range> time_range(const Run& run) {
  const auto& interval = run.result.intervals.time;
  if (!interval) return std::nullopt;
  const double time_s = core::to_seconds(run.result.prediction.time);
  return Range{.low = time_s * interval->low(), .high = time_s * interval->high()};
}

std::optional<Range> memory_range(const Run& run) {
  const auto& interval = run.result.intervals.memory;
  if (!interval) return std::nullopt;
  const predict::MemoryReport& memory = memory_of(run);
  return Range{.low = of_process(memory) + memory.reserved_peak * interval->low(),
               .high = of_process(memory) + memory.reserved_peak * interval->high()};
}

std::optional<double> share_that_fits(const Run& run) {
  const auto& interval = run.result.intervals.memory;
  const predict::MemoryReport& memory = memory_of(run);
  if (!interval || memory.reserved_peak <= 0.0) return std::nullopt;
  return interval->share_below((memory.capacity - of_process(memory)) / memory.reserved_peak);
}

std::string basis_words(const experiment::Interval& interval) {
  const bool all = interval.family == "all runs";
  std::string text =
      fmt::format("{} of {} ({})", counted(interval.rows, "measured run", "measured runs"),
                  all ? counted(interval.models, "framework on an architecture", "frameworks on architectures")
                      : counted(interval.models, "model", "models"),
                  interval.family);
  if (interval.set_aside > 0)
    text += fmt::format(", without {}", counted(interval.set_aside, "that is doubted", "that are doubted"));
  if (!interval.extrapolated.empty()) text += fmt::format("; widened: {}", fmt::join(interval.extrapolated, ", "));
  return text;
}

std::string range_words(const std::string& shown, double predicted, const std::optional<Range>& range) {
  const double number_shown = std::strtod(shown.c_str(), nullptr);
  if (!range || number_shown <= 0.0) return {};
  const double unit = predicted / number_shown;
  return fmt::format(" ({} .. {}, 8 in 10)", short_number(range->low / unit), short_number(range->high / unit));
}

std::string share_words(double share) {
  constexpr double k_nearly_all = 0.945;
  if (share < k_nearly_all) return fmt::format("{:.0f} in 10", std::max(1.0, std::round(10.0 * share)));
  return fmt::format("{:.0f} in 100", std::min(99.0, std::floor(100.0 * share)));
}

}  // namespace cairn::report
