// What text reports share: lines without trailing blanks, and colour.
#pragma once

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "paint.h"

namespace cairn::report {

// "1 stage", "4 stages".
inline std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// 1234567 as 1,234,567, whatever the locale.
inline std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value < 0 ? -value : value);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return value < 0 ? "-" + digits : digits;
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

  Paint paint_;
  std::string out_;
};

}  // namespace cairn::report
