#include "reading.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "cairn/config/units.h"

namespace cairn::measure {
namespace {

constexpr double k_shortest_s = 10e-9;  // below any launch
constexpr double k_longest_s = 3600.0;
constexpr std::int64_t k_most_ranks = std::int64_t{1} << 31;  // of a collective
constexpr double k_largest_ratio = 3.0;  // units differ by 1000; rounding and counting conventions by less than this

core::Diagnostic diagnostic_at(const std::string& file, int line, std::string message, std::string hint) {
  core::Diagnostic diagnostic;
  diagnostic.file = file;
  diagnostic.line = line;
  diagnostic.column = line > 0 ? 1 : 0;
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  return diagnostic;
}

}  // namespace

std::int64_t Measurement::extent(std::string_view wanted) const {
  const auto found = std::find_if(shape.begin(), shape.end(), [&](const auto& each) { return each.first == wanted; });
  return found == shape.end() ? 0 : found->second;
}

std::string_view name(Format format) {
  constexpr std::array<std::string_view, 5> k_names{"probe document", "nccl-tests output", "nccl-tests JSON",
                                                    "table of kernels", "table of collectives"};
  return k_names[static_cast<std::size_t>(format)];
}

void Reading::error(int line, std::string message, std::string hint) {
  if (diagnostics_.error_count() >= core::k_shown_errors) return;  // a file of the wrong unit is wrong in every line
  diagnostics_.add(diagnostic_at(result_.file, line, std::move(message), std::move(hint)));
}

void Reading::warn(int line, std::string message, std::string hint) {
  core::Diagnostic diagnostic = diagnostic_at(result_.file, line, std::move(message), std::move(hint));
  diagnostic.severity = core::Severity::warning;
  result_.warnings.push_back(std::move(diagnostic));
}

void Reading::add(Measurement row) {
  const TimeSample& time = row.time;
  if (!(time.median_s >= k_shortest_s && time.median_s <= k_longest_s)) {
    error(row.line, fmt::format("a time of {} s", time.median_s), "times lie between 10 ns and 1 h: check the unit");
    return;
  }
  if (!(time.p10_s <= time.median_s && time.median_s <= time.p90_s && time.n >= 1)) {
    error(row.line, "the percentiles of the time are out of order", "p10 <= median <= p90, over at least one sample");
    return;
  }
  if (row.ranks > k_most_ranks) {
    error(row.line, fmt::format("{} ranks", row.ranks), fmt::format("at most {} can take part", k_most_ranks));
    return;
  }
  result_.rows.push_back(std::move(row));
}

MeasurementFile Reading::finish() {
  if (!diagnostics_.has_errors() && result_.rows.empty()) {
    const std::string why = result_.skipped.empty()
                                ? std::string("the file holds none")
                                : fmt::format("{} rows say nothing usable, the first: {}", result_.skipped.size(),
                                              result_.skipped.front().reason);
    error(result_.skipped.empty() ? 1 : result_.skipped.front().line, fmt::format("no measurement: {}", why),
          "name a file with at least one measured row");
  }
  diagnostics_.raise_if_errors();
  return std::move(result_);
}

bool contradicts(double stated, double computed, double least) {
  if (stated < least || computed <= 0.0) return false;
  const double ratio = stated / computed;
  return ratio > k_largest_ratio || ratio < 1.0 / k_largest_ratio;
}

std::string type_name(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 10> k_types{{{"bfloat16", "bf16"},
                                                                                   {"half", "fp16"},
                                                                                   {"float16", "fp16"},
                                                                                   {"float", "fp32"},
                                                                                   {"float32", "fp32"},
                                                                                   {"fp8_block", "fp8-block"},
                                                                                   {"fp8_e4m3", "fp8"},
                                                                                   {"f8e4m3", "fp8"},
                                                                                   {"fp8->bf16", "fp8"},
                                                                                   {"fp16/bf16", "bf16"}}};
  for (const auto& [written, type] : k_types) {
    if (name == written) return std::string(type);
  }
  return std::string(name);
}

TimeSample single_time(double seconds) { return {.median_s = seconds, .p10_s = seconds, .p90_s = seconds, .n = 1}; }

std::optional<double> amount(std::string_view text) {
  const std::optional<double> value = config::parse_number(text);
  return value && *value >= 0.0 && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<std::int64_t> count(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || problem != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::vector<std::string_view> words_of(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = text.find_first_not_of(separators, at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    at = end;
  }
  return words;
}

}  // namespace cairn::measure
