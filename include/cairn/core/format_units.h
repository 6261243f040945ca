// Quantities for people: 1.234 s, 26.5 ms, 79.6 GiB, 450 GB/s, 312 TFLOP/s, 70.6 B parameters.
// Rounded to `digits` significant digits, trailing zeros dropped, the prefix chosen so that the shown number
// lies in [1, 1000) (binary prefixes: [1, 1024)) where there is one. Never parsed back; for exact text see
// config::exact_text.
#pragma once

#include <string>

#include "cairn/core/quantity.h"

namespace cairn::core {

inline constexpr int k_shown_digits = 3;
inline constexpr int k_shown_time_digits = 4;

std::string format(Seconds time, int digits = k_shown_time_digits);  // ps ns us ms s; from 2 min on: min, h, d
std::string format(Bytes amount, int digits = k_shown_digits);       // B KiB MiB GiB TiB PiB
std::string format(BytesPerSecond rate, int digits = k_shown_digits);
std::string format(Flops work, int digits = k_shown_digits);
std::string format(FlopsPerSecond rate, int digits = k_shown_digits);
std::string format(Hertz frequency, int digits = k_shown_digits);
std::string format(Watts power, int digits = k_shown_digits);
std::string format(Dollars price, int digits = k_shown_digits);  // USD, no prefix, two decimals from 1 USD on

// A plain count with the words of the field: 70.4 K, 125 M, 70.6 B, 1.01 T. Below 10,000 it is written out.
std::string format_count(double count, int digits = k_shown_digits);

}  // namespace cairn::core
