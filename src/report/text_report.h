// What text reports share: lines without trailing blanks, and colour.
#pragma once

#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "paint.h"

namespace cairn::report {

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
