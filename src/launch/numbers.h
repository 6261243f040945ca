// Numbers as other tools write them.
#pragma once

#include <charconv>
#include <cmath>
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

}  // namespace cairn::launch
