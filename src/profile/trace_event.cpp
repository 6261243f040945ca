#include "trace_event.h"

#include <cmath>
#include <cstdlib>
#include <istream>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cairn::profile {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t k_nano_per_micro = 1000;
constexpr std::string_view k_events_key = "traceEvents";

std::optional<Nanoseconds> nanoseconds_of(std::int64_t microseconds) {
  if (std::abs(microseconds) > std::numeric_limits<std::int64_t>::max() / k_nano_per_micro) return std::nullopt;
  return microseconds * k_nano_per_micro;
}

std::optional<std::int64_t> rounded(double value) {
  constexpr double k_most = 9.2e18;  // below 2^63
  return std::abs(value) < k_most ? std::optional(static_cast<std::int64_t>(std::llround(value))) : std::nullopt;
}

// Of the decimal digits: a double has too few for nanoseconds since 1970.
std::optional<Nanoseconds> nanoseconds_of(std::string_view digits, double value) {
  if (digits.find_first_of("eE") != std::string_view::npos) return rounded(value * k_nano_per_micro);
  const bool negative = digits.starts_with('-');
  const std::size_t point = digits.find('.');
  const std::optional<std::int64_t> whole = rounded(std::trunc(value));
  if (!whole || point == std::string_view::npos) return rounded(value * k_nano_per_micro);
  const std::optional<Nanoseconds> most = nanoseconds_of(*whole);
  if (!most || std::abs(*whole) >= std::int64_t{1} << 53) return rounded(value * k_nano_per_micro);
  std::int64_t fraction = 0, weight = k_nano_per_micro / 10;
  for (std::size_t i = point + 1; i < digits.size() && weight > 0; ++i, weight /= 10)
    fraction += (digits[i] - '0') * weight;
  return negative ? *most - fraction : *most + fraction;
}

// Where the reader stands: what the objects and lists around it are.
enum class Level : std::uint8_t { root, events, event, arguments, job, passed_over };

class Handler : public nlohmann::json_sax<Json> {
 public:
  Handler(TraceBytes& bytes, const std::function<void(const TraceEvent&)>& take) : bytes_(bytes), take_(take) {}

  const TraceHeader& header() const { return header_; }

  bool null() override { return other(); }
  bool boolean(bool) override { return other(); }
  bool number_integer(number_integer_t value) override {
    return number({.nanoseconds = nanoseconds_of(value), .whole = value});
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max()))
      return number({.nanoseconds = std::nullopt, .whole = std::nullopt});
    return number_integer(static_cast<number_integer_t>(value));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    EventNumber made{.nanoseconds = nanoseconds_of(text, value), .whole = std::nullopt};
    if (std::trunc(value) == value) made.whole = rounded(value);
    return number(made);
  }
  bool string(string_t& value) override {
    bytes_.understood();
    if (level_ == Level::event) {
      if (key_ == "ph")
        event_.phase = std::move(value);
      else if (key_ == "cat")
        event_.category = std::move(value);
      else if (key_ == "name")
        event_.name = std::move(value);
      else
        no_number();
    } else if (level_ == Level::arguments && key_ == "Collective name") {
      event_.collective = std::move(value);
    }
    return true;
  }
  bool binary(binary_t&) override { return other(); }

  bool start_object(std::size_t) override {
    bytes_.understood();
    if (level_ == Level::passed_over) return deeper();
    if (!began_) {
      began_ = true;
      level_ = Level::root;
    } else if (level_ == Level::root && key_ == "distributedInfo") {
      level_ = Level::job;
    } else if (level_ == Level::events) {
      level_ = Level::event;
      event_ = {};
      event_.place = bytes_.place();
    } else if (level_ == Level::event && key_ == "args") {
      level_ = Level::arguments;
    } else {
      return pass_over();
    }
    return true;
  }
  bool key(string_t& value) override {
    bytes_.understood();
    key_ = std::move(value);
    if (level_ == Level::root && key_ == k_events_key) header_.names_events = true;
    return true;
  }
  bool end_object() override {
    bytes_.understood();
    switch (level_) {
      case Level::passed_over:
        return shallower();
      case Level::event:
        take_(event_);
        level_ = Level::events;
        break;
      case Level::arguments:
        level_ = Level::event;
        break;
      case Level::root:
      case Level::events:
      case Level::job:
        level_ = Level::root;
        break;
    }
    return true;
  }

  bool start_array(std::size_t) override {
    bytes_.understood();
    if (level_ == Level::passed_over) return deeper();
    if (!began_ || (level_ == Level::root && key_ == k_events_key)) {
      began_ = true;
      level_ = Level::events;
      header_.has_events = true;
      return true;
    }
    return pass_over();
  }
  bool end_array() override {
    bytes_.understood();
    if (level_ == Level::passed_over) return shallower();
    level_ = Level::root;
    return true;
  }

  bool parse_error(std::size_t, const std::string& token, const nlohmann::detail::exception& error) override {
    const TraceBytes::Place at = bytes_.place();
    const std::string_view what = error.what();
    if (what.find("unexpected end of input") != std::string_view::npos || token.find("<EOF>") != std::string::npos ||
        what.find("missing closing quote") != std::string_view::npos)
      refuse_at(bytes_.name(), at.line, at.column, "the trace is cut off here",
                "let the profiler write it to the end, or copy it again");
    refuse_at(bytes_.name(), at.line, at.column, "no JSON from here on",
              "NaN and infinity are none; name a trace that torch.profiler wrote");
  }

 private:
  // Of a key that takes a number: something else stands there.
  void no_number() {
    if (key_ == "ts") event_.start = EventNumber{.nanoseconds = {}, .whole = {}, .is_number = false};
    if (key_ == "dur") event_.duration = EventNumber{.nanoseconds = {}, .whole = {}, .is_number = false};
  }
  bool other() {
    bytes_.understood();
    if (level_ == Level::event) no_number();
    began_ = true;
    return true;
  }
  bool number(const EventNumber& value) {
    bytes_.understood();
    began_ = true;
    switch (level_) {
      case Level::event:
        if (key_ == "ts")
          event_.start = value;
        else if (key_ == "dur")
          event_.duration = value;
        else if (key_ == "pid")
          event_.process = value.whole;
        else if (key_ == "tid")
          event_.thread = value.whole;
        break;
      case Level::arguments:
        if (key_ == "device")
          event_.device = value.whole;
        else if (key_ == "stream")
          event_.stream = value.whole;
        else if (key_ == "correlation")
          event_.correlation = value.whole;
        break;
      case Level::job:
        if (key_ == "rank")
          header_.rank = value.whole;
        else if (key_ == "world_size")
          header_.ranks = value.whole;
        break;
      case Level::root:
      case Level::events:
      case Level::passed_over:
        break;
    }
    return true;
  }
  bool pass_over() {
    if (level_ == Level::event) no_number();
    back_to_ = level_;
    level_ = Level::passed_over;
    depth_ = 1;
    return true;
  }
  bool deeper() {
    ++depth_;
    return true;
  }
  bool shallower() {
    if (--depth_ == 0) level_ = back_to_;
    return true;
  }

  TraceBytes& bytes_;
  const std::function<void(const TraceEvent&)>& take_;
  TraceHeader header_;
  TraceEvent event_;
  std::string key_;
  Level level_ = Level::root;
  Level back_to_ = Level::root;
  std::size_t depth_ = 0;  // of what is passed over
  bool began_ = false;
};

}  // namespace

TraceHeader for_each_event(TraceBytes& bytes, const std::function<void(const TraceEvent&)>& take) {
  Handler handler(bytes, take);
  std::istream stream(&bytes);
  Json::sax_parse(stream, &handler);
  return handler.header();
}

}  // namespace cairn::profile
