// Documents against their schemas, and the width of texts.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "cairn/report/run.h"
#include "catch.h"
#include "support/conforms.h"

namespace cairn::report_tests {

inline const report::Tool k_tool{.version = "1", .build = "test"};

using test::conforms;

// Columns of a line of UTF-8 in which every character is one column wide.
inline std::size_t columns(const std::string& line) {
  std::size_t count = 0;
  for (const char c : line) count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  return count;
}

}  // namespace cairn::report_tests
