// Fitted parameters in plain words, with their units.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cairn::report {

enum class ParameterUnit : std::uint8_t { exponent, times, share, seconds, bytes_per_second, seconds_per_root_byte };

struct ParameterWords {
  std::string_view key;  // in the JSON document
  std::string_view name;
  ParameterUnit unit;
  std::string_view meaning;
};

// Null for a parameter that no family has.
const ParameterWords* words_for(std::string_view key);

// In base units: 16.71 us, 76.3 %, 1.397 ns/sqrt(B).
std::string parameter_text(double value, ParameterUnit unit);

// "low_bandwidth / simple_bandwidth" with the names in place of the keys.
std::string in_words(std::string_view keys);

}  // namespace cairn::report
