#include "cairn/config/units.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"

namespace cairn::config {

namespace {

struct Prefix {
  std::string_view text;
  int exponent;   // power of ten
  double factor;  // exact power of two, or 1
};

constexpr double k_ki = 1024.0;
constexpr Prefix k_none[] = {{"", 0, 1}};
constexpr Prefix k_small[] = {{"", 0, 1},        {"m", -3, 1}, {"u", -6, 1}, {"\u00b5", -6, 1},
                              {"\u03bc", -6, 1}, {"n", -9, 1}, {"p", -12, 1}};
constexpr Prefix k_large[] = {{"E", 18, 1}, {"P", 15, 1}, {"T", 12, 1}, {"G", 9, 1},
                              {"M", 6, 1},  {"k", 3, 1},  {"", 0, 1}};
constexpr Prefix k_both[] = {{"G", 9, 1}, {"M", 6, 1}, {"k", 3, 1}, {"", 0, 1}, {"m", -3, 1}};
constexpr Prefix k_data[] = {{"E", 18, 1},
                             {"P", 15, 1},
                             {"T", 12, 1},
                             {"G", 9, 1},
                             {"M", 6, 1},
                             {"k", 3, 1},
                             {"", 0, 1},
                             {"Pi", 0, k_ki* k_ki* k_ki* k_ki* k_ki},
                             {"Ti", 0, k_ki* k_ki* k_ki* k_ki},
                             {"Gi", 0, k_ki* k_ki* k_ki},
                             {"Mi", 0, k_ki* k_ki},
                             {"Ki", 0, k_ki}};

template <std::size_t n>
constexpr std::pair<const Prefix*, const Prefix*> all_of(const Prefix (&prefixes)[n]) {
  return {prefixes, prefixes + n};
}

// One spelling of a unit: the prefixes it takes and its size in base units. `canonical` spellings are used for writing.
struct Unit {
  Dimension dimension;
  std::string_view symbol;
  std::pair<const Prefix*, const Prefix*> prefixes;
  double factor;
  bool canonical;
};

constexpr double k_bit = 1.0 / 8.0;
constexpr Unit k_units[] = {
    {Dimension::bytes, "B", all_of(k_data), 1, true},
    {Dimension::bytes, "b", all_of(k_data), k_bit, false},
    {Dimension::flops, "FLOP", all_of(k_large), 1, true},
    {Dimension::flops, "FLOPs", all_of(k_large), 1, false},
    {Dimension::flops, "OP", all_of(k_large), 1, false},
    {Dimension::seconds, "s", all_of(k_small), 1, true},
    {Dimension::seconds, "min", all_of(k_none), 60, false},
    {Dimension::seconds, "h", all_of(k_none), 3600, false},
    {Dimension::seconds, "d", all_of(k_none), 86400, false},
    {Dimension::bytes_per_second, "B/s", all_of(k_data), 1, true},
    {Dimension::bytes_per_second, "b/s", all_of(k_data), k_bit, false},
    {Dimension::bytes_per_second, "Bps", all_of(k_data), 1, false},
    {Dimension::bytes_per_second, "bps", all_of(k_data), k_bit, false},
    {Dimension::flops_per_second, "FLOP/s", all_of(k_large), 1, true},
    {Dimension::flops_per_second, "FLOPs/s", all_of(k_large), 1, false},
    {Dimension::flops_per_second, "FLOPS", all_of(k_large), 1, false},
    {Dimension::flops_per_second, "OP/s", all_of(k_large), 1, false},
    {Dimension::flops_per_second, "OPS", all_of(k_large), 1, false},
    {Dimension::hertz, "Hz", all_of(k_large), 1, true},
    {Dimension::watts, "W", all_of(k_both), 1, true},
    {Dimension::dollars, "USD", all_of(k_both), 1, true},
    {Dimension::tokens, "tokens", all_of(k_data), 1, true},
    {Dimension::tokens, "token", all_of(k_data), 1, false},
};

struct Scale {
  Dimension dimension;
  int exponent;
  double factor;
};

std::optional<Scale> find_unit(std::string_view text, std::optional<Dimension> dimension) {
  for (const Unit& unit : k_units) {
    if (dimension && unit.dimension != *dimension) continue;
    if (!text.ends_with(unit.symbol)) continue;
    const std::string_view prefix = text.substr(0, text.size() - unit.symbol.size());
    for (const Prefix* p = unit.prefixes.first; p != unit.prefixes.second; ++p) {
      if (p->text == prefix) return Scale{unit.dimension, p->exponent, p->factor * unit.factor};
    }
  }
  return std::nullopt;
}

// How else people write the units of k_units, whatever the case of the letters.
constexpr std::pair<std::string_view, std::string_view> k_also[] = {
    {"B", "byte"},           {"B", "bytes"},     {"b", "bit"},         {"b", "bits"},
    {"B/s", "byte/s"},       {"B/s", "bytes/s"}, {"B/s", "bytes/sec"}, {"B/s", "B/sec"},
    {"B/s", "Bs"},           {"b/s", "bit/s"},   {"b/s", "bits/s"},    {"b/s", "bits/sec"},
    {"b/s", "b/sec"},        {"b/s", "bitps"},   {"b/s", "bs"},        {"s", "sec"},
    {"s", "secs"},           {"s", "second"},    {"s", "seconds"},     {"min", "mins"},
    {"min", "minute"},       {"min", "minutes"}, {"h", "hr"},          {"h", "hour"},
    {"h", "hours"},          {"d", "day"},       {"d", "days"},        {"FLOP/s", "flop/sec"},
    {"FLOP/s", "flops/sec"}, {"Hz", "hertz"},    {"W", "watt"},        {"W", "watts"},
    {"USD", "dollar"},       {"USD", "dollars"}, {"USD", "$"},         {"tokens", "tok"}};

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

// Whether `text` may be this prefix: in any case; K is one of 1000 to some, of 1024 to others.
bool may_be_prefix(std::string_view text, const Prefix& prefix) {
  return lower(text) == lower(prefix.text) || (text == "K" && prefix.text == "Ki");
}

// Whether `text` may be this unit. A small b is a bit; where all is small it may be a byte that was typed so, except in
// bps, which is bits a second to everybody.
bool may_be_unit(std::string_view text, std::string_view spelling, bool all_small) {
  if (lower(text) != lower(spelling)) return false;
  const bool single = (spelling.front() == 'b' || spelling.front() == 'B') && !lower(spelling).starts_with("bit") &&
                      !lower(spelling).starts_with("byte");
  return !single || text.front() == spelling.front() || (all_small && !text.ends_with("ps"));
}

// The units that `text` may stand for otherwise written, one for each size: never one that is another quantity.
std::vector<std::string> meant(std::string_view text, Dimension dimension) {
  std::vector<std::pair<Scale, std::string>> found;
  const bool all_small = lower(text) == text;
  for (const Unit& unit : k_units) {
    if (unit.dimension != dimension) continue;
    std::vector<std::string_view> spellings{unit.symbol};
    for (const auto& [symbol, also] : k_also)
      if (symbol == unit.symbol) spellings.push_back(also);
    for (const std::string_view spelling : spellings) {
      if (spelling.size() > text.size()) continue;
      const std::size_t cut = text.size() - spelling.size();
      if (!may_be_unit(text.substr(cut), spelling, all_small && cut > 0)) continue;
      for (const Prefix* p = unit.prefixes.first; p != unit.prefixes.second; ++p) {
        const Scale scale{unit.dimension, p->exponent, p->factor * unit.factor};
        const bool known = std::any_of(found.begin(), found.end(), [&](const auto& each) {
          return each.first.exponent == scale.exponent && each.first.factor == scale.factor;
        });
        if (!known && may_be_prefix(text.substr(0, cut), *p))
          found.emplace_back(scale, fmt::format("'{}{}'", p->text, unit.symbol));
      }
    }
  }
  std::vector<std::string> names;
  for (const auto& [scale, name] : found) names.push_back(name);
  return names;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A decimal number at the start of a text: its extent, and its mantissa and exponent apart, so that a decimal prefix
// becomes part of the literal and the value is rounded once.
struct Decimal {
  std::string_view mantissa;  // sign, digits, point
  int exponent = 0;
  std::size_t length = 0;  // of the whole literal; 0 when there is none
};

Decimal scan_decimal(std::string_view text) {
  constexpr int k_largest_exponent = 9999;
  std::size_t at = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const std::size_t digits = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  const std::size_t whole = at - digits;
  if (whole > 1 && text[digits] == '0') return {};  // 010: octal to some, ten to others
  std::size_t fraction = 0;
  if (at < text.size() && text[at] == '.') {
    std::size_t end = at + 1;
    while (end < text.size() && is_digit(text[end])) ++end;
    fraction = end - at - 1;
    if (whole + fraction == 0) return {};
    at = end;
  }
  if (whole + fraction == 0) return {};
  Decimal decimal{.mantissa = text.substr(0, at), .exponent = 0, .length = at};
  // An exponent only when digits follow: in "1E" or "2 e" the letter belongs to the unit.
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t end = at + 1;
    const bool negative = end < text.size() && text[end] == '-';
    if (end < text.size() && (text[end] == '-' || text[end] == '+')) ++end;
    const std::size_t first = end;
    int exponent = 0;
    while (end < text.size() && is_digit(text[end])) {
      exponent = std::min(exponent * 10 + (text[end] - '0'), k_largest_exponent);
      ++end;
    }
    if (end > first) {
      decimal.exponent = negative ? -exponent : exponent;
      decimal.length = end;
    }
  }
  return decimal;
}

std::optional<double> to_double(const Decimal& decimal, int exponent) {
  std::string_view mantissa = decimal.mantissa;
  if (mantissa.starts_with('+')) mantissa.remove_prefix(1);
  const std::string literal = fmt::format("{}e{}", mantissa, decimal.exponent + exponent);
  double value = 0.0;
  const auto [end, error] = std::from_chars(literal.data(), literal.data() + literal.size(), value);
  if (error != std::errc() || end != literal.data() + literal.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string without_spaces(std::string_view text) {
  std::string kept;
  for (const char c : text) {
    if (c != ' ' && c != '\t') kept += c;
  }
  return kept;
}

std::string for_example(Dimension dimension) { return fmt::format("for example {}", examples_of(dimension)); }

}  // namespace

std::string_view describe_dimension(Dimension dimension) {
  switch (dimension) {
    case Dimension::bytes:
      return "an amount of data";
    case Dimension::flops:
      return "a number of floating-point operations";
    case Dimension::seconds:
      return "a time";
    case Dimension::bytes_per_second:
      return "a bandwidth";
    case Dimension::flops_per_second:
      return "a compute rate";
    case Dimension::hertz:
      return "a frequency";
    case Dimension::watts:
      return "a power";
    case Dimension::dollars:
      return "a price";
    case Dimension::tokens:
      return "a number of tokens";
  }
  CAIRN_ASSERT(false);
  return {};
}

std::string_view examples_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::bytes:
      return "'80 GiB' or '40 MB'";
    case Dimension::flops:
      return "'2 TFLOP'";
    case Dimension::seconds:
      return "'3.5 us' or '30 min'";
    case Dimension::bytes_per_second:
      return "'450 GB/s' or '400 Gb/s'";
    case Dimension::flops_per_second:
      return "'989 TFLOP/s'";
    case Dimension::hertz:
      return "'1.41 GHz'";
    case Dimension::watts:
      return "'700 W' or '2.4 kW'";
    case Dimension::dollars:
      return "'2.5 USD'";
    case Dimension::tokens:
      return "'4 Mi tokens'";
  }
  CAIRN_ASSERT(false);
  return {};
}

std::optional<std::int64_t> parse_whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  const Decimal decimal = scan_decimal(text);
  if (decimal.length == 0 || decimal.length != text.size()) return std::nullopt;
  return to_double(decimal, 0);
}

ParsedQuantity parse_quantity(std::string_view text, Dimension dimension) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  const Decimal decimal = scan_decimal(text);
  if (decimal.length == 0) {
    return {.message = fmt::format("expected {}, a number with a unit", describe_dimension(dimension)),
            .hint = for_example(dimension)};
  }
  const std::string unit = without_spaces(text.substr(decimal.length));
  if (unit.empty()) {
    return {.message = fmt::format("the unit is missing: {} is due", describe_dimension(dimension)),
            .hint = for_example(dimension)};
  }
  const std::optional<Scale> scale = find_unit(unit, dimension);
  if (!scale) {
    if (const std::optional<Scale> other = find_unit(unit, std::nullopt)) {
      return {.message = fmt::format("'{}' is the unit of {}, but {} is due", unit,
                                     describe_dimension(other->dimension), describe_dimension(dimension)),
              .hint = for_example(dimension)};
    }
    const std::vector<std::string> near = meant(unit, dimension);
    std::string hint = for_example(dimension);
    if (near.size() == 1) hint = fmt::format("did you mean {}?", near.front());
    if (near.size() > 1) hint = fmt::format("did you mean {}? They differ", fmt::join(near, " or "));
    return {.message = fmt::format("unknown unit '{}': {} is due", unit.substr(0, 20), describe_dimension(dimension)),
            .hint = std::move(hint)};
  }
  const std::optional<double> value = to_double(decimal, scale->exponent);
  if (!value || !std::isfinite(*value * scale->factor))
    return {.message = "the number is too large or too small", .hint = for_example(dimension)};
  return {.base = *value * scale->factor};
}

double require_quantity(std::string_view text, Dimension dimension, std::string_view what) {
  const ParsedQuantity parsed = parse_quantity(text, dimension);
  if (!parsed.base) throw core::ConfigurationError(std::string(what), parsed.message, parsed.hint);
  return *parsed.base;
}

std::string exact_text(double base, Dimension dimension) {
  CAIRN_ASSERT(std::isfinite(base));
  constexpr std::size_t k_awkward = 3;  // digits that a number outside [1, 1000) must save to be preferred
  std::string best;
  std::pair<std::size_t, std::size_t> best_cost;
  for (const Unit& unit : k_units) {
    if (unit.dimension != dimension || !unit.canonical) continue;
    for (const Prefix* p = unit.prefixes.first; p != unit.prefixes.second; ++p) {
      const double scaled =
          p->exponent >= 0 ? base / p->factor / std::pow(10.0, p->exponent) : base * std::pow(10.0, -p->exponent);
      const std::string number = fmt::format("{}", scaled);
      const bool apart = dimension == Dimension::tokens && !p->text.empty();  // a word: 4 Mi tokens
      const std::string text = fmt::format("{} {}{}{}", number, p->text, apart ? " " : "", unit.symbol);
      if (parse_quantity(text, dimension).base != base) continue;
      const bool awkward = std::abs(scaled) < 1.0 || std::abs(scaled) >= 1000.0;
      const auto digits = static_cast<std::size_t>(std::count_if(number.begin(), number.end(), is_digit));
      const std::pair<std::size_t, std::size_t> cost{digits + (awkward ? k_awkward : 0), text.size()};
      if (best.empty() || cost < best_cost) {
        best = text;
        best_cost = cost;
      }
    }
  }
  // The unprefixed unit always reads back: fmt writes the shortest exact decimal.
  CAIRN_ASSERT(!best.empty());
  return best;
}

}  // namespace cairn::config
