// Numbers as other tools write them.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cairn::launch {

inline std::optional<double> decimal(std::string_view text) {
  double value = 0.0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

inline constexpr std::int64_t k_most_exact = std::int64_t{1} << 53;  // up to it, doubles say whole numbers exactly

// The value as the number of something, where it is a whole one from 1 to `most`.
inline std::optional<std::int64_t> whole_number(double value, std::int64_t most) {
  if (!(value >= 1.0 && value <= static_cast<double>(most)) || value != std::floor(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace cairn::launch
