#include "cairn/core/format_units.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>
#include <string_view>

#include <fmt/format.h>

namespace cairn::core {

namespace {

// A unit and its size in base units; tables run from small to large.
struct Scale {
  double size;
  std::string_view unit;
};

double rounded(double value, int digits) {
  return std::strtod(fmt::format("{:.{}e}", value, digits - 1).c_str(), nullptr);
}

// `value` at `digits` significant digits: never with an exponent, trailing zeros dropped.
std::string shown(double value, int digits) {
  const double kept = rounded(value, digits);
  const int exponent = kept == 0.0 ? 0 : static_cast<int>(std::floor(std::log10(std::abs(kept))));
  std::string text = fmt::format("{:.{}f}", kept, std::max(0, digits - 1 - exponent));
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
  }
  return text;
}

std::string scaled(double base, std::span<const Scale> scales, int digits) {
  if (!std::isfinite(base)) return fmt::format("{} {}", base, scales.front().unit);
  const Scale* chosen = &scales.front();
  if (base == 0.0) {
    for (const Scale& scale : scales) {
      if (scale.size == 1.0) return fmt::format("0 {}", scale.unit);
    }
  }
  for (const Scale& scale : scales) {
    if (rounded(std::abs(base) / scale.size, digits) >= 1.0) chosen = &scale;
  }
  return fmt::format("{} {}", shown(base / chosen->size, digits), chosen->unit);
}

constexpr double k_ki = 1024.0;
constexpr Scale k_byte_scales[] = {{1, "B"},
                                   {k_ki, "KiB"},
                                   {k_ki * k_ki, "MiB"},
                                   {k_ki * k_ki * k_ki, "GiB"},
                                   {k_ki * k_ki * k_ki * k_ki, "TiB"},
                                   {k_ki * k_ki * k_ki * k_ki * k_ki, "PiB"}};
constexpr Scale k_bandwidth_scales[] = {{1, "B/s"},    {1e3, "kB/s"},  {1e6, "MB/s"},
                                        {1e9, "GB/s"}, {1e12, "TB/s"}, {1e15, "PB/s"}};
constexpr Scale k_flop_scales[] = {{1, "FLOP"},     {1e3, "kFLOP"},  {1e6, "MFLOP"},  {1e9, "GFLOP"},
                                   {1e12, "TFLOP"}, {1e15, "PFLOP"}, {1e18, "EFLOP"}, {1e21, "ZFLOP"}};
constexpr Scale k_flop_rate_scales[] = {{1, "FLOP/s"},     {1e3, "kFLOP/s"},  {1e6, "MFLOP/s"}, {1e9, "GFLOP/s"},
                                        {1e12, "TFLOP/s"}, {1e15, "PFLOP/s"}, {1e18, "EFLOP/s"}};
constexpr Scale k_hertz_scales[] = {{1, "Hz"}, {1e3, "kHz"}, {1e6, "MHz"}, {1e9, "GHz"}};
constexpr Scale k_watt_scales[] = {{1e-3, "mW"}, {1, "W"}, {1e3, "kW"}, {1e6, "MW"}, {1e9, "GW"}};
constexpr Scale k_short_scales[] = {{1e-12, "ps"}, {1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}};
// Two of a unit before it is used: 90 s and 90 min read better than 1.5 min and 1.5 h.
constexpr Scale k_long_scales[] = {{60, "min"}, {3600, "h"}, {86400, "d"}};

}  // namespace

std::string format(Seconds time, int digits) {
  const Scale* chosen = nullptr;
  for (const Scale& scale : k_long_scales) {
    if (std::isfinite(time.base()) && std::abs(time.base()) >= 2.0 * scale.size) chosen = &scale;
  }
  if (chosen == nullptr) return scaled(time.base(), k_short_scales, digits);
  return fmt::format("{} {}", shown(time.base() / chosen->size, digits), chosen->unit);
}

std::string format(Bytes amount, int digits) { return scaled(amount.base(), k_byte_scales, digits); }
std::string format(BytesPerSecond rate, int digits) { return scaled(rate.base(), k_bandwidth_scales, digits); }
std::string format(Flops work, int digits) { return scaled(work.base(), k_flop_scales, digits); }
std::string format(FlopsPerSecond rate, int digits) { return scaled(rate.base(), k_flop_rate_scales, digits); }
std::string format(Hertz frequency, int digits) { return scaled(frequency.base(), k_hertz_scales, digits); }
std::string format(Watts power, int digits) { return scaled(power.base(), k_watt_scales, digits); }

std::string format(Dollars price, int digits) {
  if (std::isfinite(price.base()) && std::abs(price.base()) >= 1.0) {
    constexpr std::size_t k_cents = 3, k_group = 3;  // ".25", and "234" of 1,234
    std::string text = fmt::format("{:.2f}", std::abs(price.base()));
    for (std::size_t at = text.size() - k_cents; at > k_group; at -= k_group) text.insert(at - k_group, ",");
    return fmt::format("{}{} USD", price.base() < 0.0 ? "-" : "", text);
  }
  constexpr Scale k_dollar_scales[] = {{1, "USD"}};
  return scaled(price.base(), k_dollar_scales, digits);
}

std::string format_count(double count, int digits) {
  constexpr double k_written_out = 1e4;
  constexpr Scale k_count_scales[] = {{1e3, "K"}, {1e6, "M"}, {1e9, "B"}, {1e12, "T"}};
  if (std::abs(count) < k_written_out) return fmt::format("{}", count);
  return scaled(count, k_count_scales, digits);
}

}  // namespace cairn::core
