#include "schedule_times.h"

#include <array>
#include <utility>

#include "cairn/core/diagnostics.h"

namespace cairn::cli {
namespace {

using pipeline::Fraction;

constexpr double k_seconds_per_nanosecond = 1e-9;

Fraction in_nanoseconds(const Fraction& number, const std::string& unit, const char* option) {
  constexpr std::array<std::pair<const char*, std::int64_t>, 4> k_units{
      {{"s", 1'000'000'000}, {"ms", 1'000'000}, {"us", 1'000}, {"ns", 1}}};
  for (const auto& [name, nanoseconds] : k_units) {
    if (unit != name) continue;
    std::int64_t scaled = 0;
    if (__builtin_mul_overflow(number.numerator, nanoseconds, &scaled))
      throw core::ConfigurationError(option, "the time is too long to be counted",
                                     "give fewer digits or a smaller unit");
    return pipeline::fraction(scaled, number.denominator);
  }
  throw core::ConfigurationError(option, "'" + unit + "' is no unit of time", "use s, ms, us or ns");
}

}  // namespace

pipeline::Fraction Times::read(const std::string& text, const char* option) {
  const std::size_t end = text.find_first_not_of("0123456789./");
  std::size_t begin = end;
  while (begin != std::string::npos && begin < text.size() && text[begin] == ' ') ++begin;
  const std::string unit = begin == std::string::npos ? std::string() : text.substr(begin);
  const Fraction number = pipeline::parse_fraction(end == 0 ? text : text.substr(0, end), option);
  if (number.numerator == 0) return number;
  if (!first_) first_ = unit.empty();
  if (*first_ != unit.empty())
    throw core::ConfigurationError(option, "some times have a unit and some have none",
                                   "give all of them one, or none");
  return unit.empty() ? number : in_nanoseconds(number, unit, option);
}

report::ScheduleAnswer timed(const ScheduleArguments& arguments, Times& times) {
  report::ScheduleAnswer answer;
  const auto read = [&](const std::string& text, const char* option, Fraction& target) {
    if (!text.empty()) target = times.read(text, option);
    return !text.empty();
  };
  const bool forward = read(arguments.forward, "--forward", answer.times.forward);
  const bool input = read(arguments.input_gradient, "--input-grad", answer.times.input_gradient);
  const bool weight = read(arguments.weight_gradient, "--weight-grad", answer.times.weight_gradient);
  read(arguments.p2p, "--p2p", answer.times.delay);
  read(arguments.vocabulary_forward, "--vocab-forward", answer.times.vocabulary_forward);
  read(arguments.vocabulary_backward, "--vocab-backward", answer.times.vocabulary_backward);
  read(arguments.optimizer, "--optimizer", answer.times.optimizer);
  read(arguments.communication, "--communication", answer.times.communication);
  read(arguments.copy, "--copy", answer.times.offload);
  if (!arguments.forward_backward.empty())
    answer.times.forward_backward = times.read(arguments.forward_backward, "--forward-backward");
  if (times.have_units()) {
    if (!(forward && input && weight))
      throw core::ConfigurationError("--forward", "times with units need all three of them",
                                     "give --forward, --input-grad and --weight-grad");
    answer.unit = "ns";
    answer.seconds_per_unit = k_seconds_per_nanosecond;
  }
  return answer;
}

}  // namespace cairn::cli
