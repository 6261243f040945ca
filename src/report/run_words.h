// Words that the texts of a run share.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cairn/core/format_units.h"
#include "cairn/report/run.h"

namespace cairn::report {

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

std::string run_name(const Run& run);
// "406 B parameters on 16384 x H100 SXM5 80 GB, 2048 nodes; bf16, megatron"
std::string machine_words(const Run& run);
// "tp 8 with sp, pp 16, dp 128, zero 1; 1f1b; recompute full; 2048 sequences of 8192 tokens, 16 micro-batches of 1 on
// each rank"
std::string plan_words(const Run& run);

// "imbalance", "tp exposed"; and what that is.
std::string name(const predict::CauseTime& cause);
std::string_view meaning(const predict::CauseTime& cause);
// The causes summed over stages, longest first.
std::vector<predict::CauseTime> by_cause(const predict::Causes& causes);

inline constexpr std::string_view k_no_remedy = "no one or two settings are enough: use more or larger accelerators";
// Settings as words of a command line.
std::string joined(const std::vector<std::string>& settings);

// "If simulation.contention=true (transfers share links): 1.21 s (15 %) more"
std::string effect_words(const experiment::Effect& effect, double step_s);

// "Measured 11.2 s: 1.2 s (12 %) more than predicted"
std::string measured_words(const contrast::Explanation& measured);
// "9.924 s if the attention kernel is flash2 (5.5 % below)": of what was measured
std::string fact_words(const contrast::Fact& fact, core::Picoseconds measured);
// Facts with which the prediction is nearer to what was measured.
std::vector<contrast::Fact> helpful(const contrast::Explanation& measured);

// The short answer: at most 24 lines of 80 columns.
std::string screen(const Run& run, const TextStyle& style);

}  // namespace cairn::report
