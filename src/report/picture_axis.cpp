#include "picture_axis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "cairn/config/units.h"

namespace cairn::report {
namespace {

constexpr double k_axis_margin = 1.15;      // of a logarithmic axis beyond the outermost points
constexpr double k_axis_room = 0.04;        // of a linear one, on both sides
constexpr double k_axis_doubling = 1.5;     // a key whose values grow by this factor each stands on a logarithmic axis
constexpr double k_axis_grown = 3.0;        // rates that differ less stand on a linear axis
constexpr double k_axis_air = 1.05;         // above them, then
constexpr double k_axis_few_decades = 3.0;  // below it every tick is told
constexpr std::string_view k_axis_digits = "0123456789.";

}  // namespace

double tick_step(double end, double parts) {
  const double rough = end / parts, power = std::pow(10.0, std::floor(std::log10(rough)));
  return power * (rough <= power ? 1.0 : rough <= 2.0 * power ? 2.0 : rough <= 5.0 * power ? 5.0 : 10.0);
}

AxisSpan AxisSpan::around(double least, double greatest, bool logarithmic) {
  if (logarithmic) return {.from = least / k_axis_margin, .to = greatest * k_axis_margin, .logarithmic = true};
  const double room = least == greatest ? 1.0 : k_axis_room * (greatest - least);
  return {.from = least - room, .to = greatest + room};
}

AxisSpan AxisSpan::of_rates(double least, double greatest, bool logarithmic) {
  if (logarithmic && least > 0.0 && greatest >= k_axis_grown * least) return around(least, greatest, true);
  return {.from = 0.0, .to = greatest > 0.0 ? k_axis_air * greatest : 1.0};
}

double AxisSpan::share(double value) const {
  return logarithmic ? std::log(value / from) / std::log(to / from) : (value - from) / (to - from);
}

std::vector<AxisTick> axis_ticks(const AxisSpan& span, double parts) {
  std::vector<AxisTick> ticks;
  if (!span.logarithmic) {
    const double step = tick_step(span.to - span.from, parts), first = std::ceil(span.from / step);
    for (double i = 0.0; i <= 2.0 * parts && (first + i) * step <= span.to; ++i)
      ticks.push_back({.value = (first + i) * step});
    return ticks;
  }
  const double decades = std::log10(span.to / span.from);
  const double first = std::pow(10.0, std::floor(std::log10(span.from)));
  for (double power = first; power <= span.to; power *= 10.0)
    for (const double step : {1.0, 2.0, 5.0})
      if (const double value = step * power; value >= span.from && value <= span.to)
        ticks.push_back({.value = value, .labelled = step == 1.0 || decades < k_axis_few_decades});
  return ticks;
}

TimeUnit time_unit(double seconds) {
  constexpr std::array<TimeUnit, 3> k_short{{{1.0, "s"}, {1e-3, "ms"}, {1e-6, "us"}}};
  constexpr std::array<TimeUnit, 3> k_long{{{86400.0, "d"}, {3600.0, "h"}, {60.0, "min"}}};
  // core::format, too, uses a long unit from two of it on.
  for (const TimeUnit& unit : k_long)
    if (seconds >= 2.0 * unit.seconds) return unit;
  for (const TimeUnit& unit : k_short)
    if (seconds >= unit.seconds) return unit;
  return k_short.back();
}

KeyAxis::KeyAxis(std::span<const std::string> values) {
  bool numbers = true;
  for (const std::string& value : values) {
    const std::size_t end = std::min(value.find_first_not_of(k_axis_digits), value.size());
    const auto number = config::parse_number(std::string_view(value).substr(0, end));
    const std::size_t word = std::min(value.find_first_not_of(' ', end), value.size());
    const std::string its_unit = value.substr(word);
    if (places.empty()) unit = its_unit;
    numbers = numbers && number && its_unit == unit;
    places.push_back(number.value_or(0.0));
  }
  numbers = numbers && std::is_sorted(places.begin(), places.end());
  if (!numbers) {
    unit.clear();
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<double>(i);
  }
  logarithmic = numbers && places.size() > 1 && places.front() > 0.0;
  for (std::size_t i = 1; i < places.size(); ++i)
    logarithmic = logarithmic && places[i] >= k_axis_doubling * places[i - 1];
}

std::string KeyAxis::label(const std::string& value) const {
  return unit.empty() ? value : value.substr(0, value.find_first_not_of(k_axis_digits));
}

}  // namespace cairn::report
