#include "cairn/pipeline/written_times.h"

#include <array>
#include <utility>

#include "cairn/core/diagnostics.h"

namespace cairn::pipeline {
namespace {

constexpr core::Seconds k_counted = core::Seconds::from_base(1e-9);

Fraction in_nanoseconds(const Fraction& number, const std::string& unit, const std::string& key) {
  constexpr std::array<std::pair<const char*, std::int64_t>, 4> k_units{
      {{"s", 1'000'000'000}, {"ms", 1'000'000}, {"us", 1'000}, {"ns", 1}}};
  for (const auto& [name, nanoseconds] : k_units) {
    if (unit != name) continue;
    std::int64_t scaled = 0;
    if (__builtin_mul_overflow(number.numerator, nanoseconds, &scaled))
      throw core::ConfigurationError(key, "the time is too long to be counted", "give fewer digits or a smaller unit");
    return fraction(scaled, number.denominator);
  }
  throw core::ConfigurationError(key, "'" + unit + "' is no unit of time", "use s, ms, us or ns");
}

}  // namespace

Fraction WrittenTimes::read(const std::string& text, const std::string& key) {
  const std::size_t end = text.find_first_not_of("0123456789./");
  std::size_t begin = end;
  while (begin != std::string::npos && begin < text.size() && text[begin] == ' ') ++begin;
  const std::string unit = begin == std::string::npos ? std::string() : text.substr(begin);
  const Fraction number = parse_fraction(end == 0 ? text : text.substr(0, end), key);
  if (number.numerator == 0) return number;
  if (!bare_) bare_ = unit.empty();
  if (*bare_ != unit.empty())
    throw core::ConfigurationError(key, "some times have a unit and some have none", "give all of them one, or none");
  return unit.empty() ? number : in_nanoseconds(number, unit, key);
}

std::optional<core::Seconds> WrittenTimes::unit() const {
  if (!bare_ || *bare_) return {};
  return k_counted;
}

}  // namespace cairn::pipeline
