// What text reports share: lines without trailing blanks, and colour.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cairn/core/format_units.h"
#include "cairn/core/time.h"
#include "paint.h"

namespace cairn::report {

// "1 stage", "4 stages".
inline std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

inline std::string shown_time(core::Picoseconds time, int digits = core::k_shown_time_digits) {
  return core::format(core::Seconds::from_base(core::to_seconds(time)), digits);
}

// 1234567 as 1,234,567, whatever the locale.
inline std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value < 0 ? -value : value);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return value < 0 ? "-" + digits : digits;
}

// 1.01 G: of words and operations SI prefixes, beside binary ones of bytes.
inline std::string si_count(double count, int digits = 4) {
  constexpr double k_written_out = 1e4;
  constexpr std::array<std::pair<double, const char*>, 5> k_prefixes{
      {{1e15, " P"}, {1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}}};
  const double rounded = count * (1.0 + 0.5 * std::pow(10.0, -digits));  // 999.96 k at four digits is 1 M
  if (count >= k_written_out)
    for (const auto& [size, prefix] : k_prefixes)
      if (rounded >= size) return fmt::format("{:.{}g}{}", count / size, digits, prefix);
  return fmt::format("{:.{}g}", count, std::max(digits, 4));
}

class TextReport {
 protected:
  explicit TextReport(bool color) : paint_(color) {}

  template <class... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
    while (out_.ends_with(' ')) out_.pop_back();
    out_ += '\n';
  }

  // The first warning, and how many it leaves out; where `full`, all of them, and what the answer assumes.
  void rests_on(const std::vector<std::string>& warnings, const std::vector<std::string>& assumptions, bool full) {
    for (std::size_t i = 0; i < warnings.size() && (full || i < k_warnings); ++i)
      out_ += wrapped("warning: " + warnings[i], "", "  ");
    if (!full) return more_warnings(warnings);
    for (const std::string& each : assumptions) out_ += wrapped("assumed: " + each, "", "  ");
  }

  Paint paint_;
  std::string out_;

 private:
  static constexpr std::size_t k_warnings = 1;  // on one screen with the rest

  void more_warnings(const std::vector<std::string>& warnings) {
    if (warnings.size() <= k_warnings) return;
    line("{}: --full",
         counted(static_cast<std::int64_t>(warnings.size() - k_warnings), "more warning", "more warnings"));
  }
};

}  // namespace cairn::report
