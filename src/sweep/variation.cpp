#include "cairn/sweep/variation.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "cairn/config/units.h"
#include "cairn/core/diagnostics.h"
#include "cairn/core/printable.h"

namespace cairn::sweep {
namespace {

constexpr const char* k_option = "--vary";
constexpr const char* k_how = "write --vary cluster.nodes=8..4096*2, or --vary training.precision=bf16,fp8-delayed";
constexpr std::string_view k_dots = "..";
constexpr double k_slack = 1e-9;  // of the last value of a range, which products miss by their rounding

[[noreturn]] void refuse(std::string_view text, std::string_view what, std::string hint = k_how) {
  throw core::ConfigurationError(k_option, fmt::format("{}: {}", core::quoted(text), what), std::move(hint));
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

// Commas inside brackets, braces and quotes separate nothing.
std::vector<std::string_view> items_of(std::string_view list) {
  std::vector<std::string_view> items;
  int depth = 0;
  char quote = 0;
  std::size_t start = 0;
  for (std::size_t at = 0; at < list.size(); ++at) {
    const char c = list[at];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth <= 0) {
      items.push_back(trimmed(list.substr(start, at - start)));
      start = at + 1;
    }
  }
  items.push_back(trimmed(list.substr(start)));
  return items;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A number with what follows it: "100Gb/s" is 100 and "Gb/s".
struct Amount {
  double number = 0.0;
  std::string_view unit = {};
};
std::optional<Amount> amount(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && (is_digit(text[end]) || (text[end] == '.' && !text.substr(end).starts_with(k_dots))))
    ++end;
  const auto number = config::parse_number(text.substr(0, end));
  if (!number) return std::nullopt;
  return Amount{.number = *number, .unit = trimmed(text.substr(end))};
}

class Range {
 public:
  explicit Range(std::string_view text) : text_(text) {
    const std::size_t dots = text.find(k_dots);
    const std::string_view rest = text.substr(dots + k_dots.size());
    const std::size_t star = rest.rfind('*');
    first_ = trimmed(text.substr(0, dots));
    last_ = trimmed(rest.substr(0, star));
    if (star == std::string_view::npos) return;
    const auto factor = config::parse_number(trimmed(rest.substr(star + 1)));
    if (!factor) refuse(text_, "what follows '*' is no number");
    if (*factor <= 1.0) refuse(text_, fmt::format("times {:g} a value does not grow", *factor), "double it: 8..4096*2");
    factor_ = *factor;
  }

  std::vector<std::string> values() const {
    const auto first = config::parse_whole(first_);
    const auto last = config::parse_whole(last_);
    if (first && last && (!factor_ || whole_factor())) return counts(*first, *last);
    const auto low = amount(first_);
    const auto high = amount(last_);
    if (!low || !high) refuse(text_, "no range: two numbers, each with its unit, stand beside the dots");
    if (low->unit != high->unit)
      refuse(text_, fmt::format("its ends have the units {} and {}", core::quoted(low->unit), core::quoted(high->unit)),
             "write both in one unit, as in 100Gb/s..800Gb/s*2");
    if (!factor_)
      refuse(text_, "between quantities there are no whole numbers to go through",
             fmt::format("give a factor, as in {}*2, or list the values", text_));
    return quantities(*low, *high);
  }

 private:
  std::int64_t whole_factor() const {
    const double factor = factor_.value_or(1.0);
    const bool is_whole = factor < 1e9 && factor == static_cast<double>(static_cast<std::int64_t>(factor));
    return is_whole ? static_cast<std::int64_t>(factor) : 0;
  }
  void require_order(bool ordered) const {
    if (!ordered) refuse(text_, "runs downwards, and so has no value", "write the smaller end first");
  }
  void require_room(std::size_t values) const {
    if (values >= k_most_rows) refuse(text_, fmt::format("more than {} values", k_most_rows), "take larger steps");
  }

  std::vector<std::string> counts(std::int64_t first, std::int64_t last) const {
    require_order(first <= last);
    const std::int64_t factor = factor_ ? whole_factor() : 1;
    if (factor > 1 && first == 0) refuse(text_, "a multiple of 0 is 0", "begin with 1");
    std::vector<std::string> all;
    for (std::int64_t x = first; x <= last;) {
      require_room(all.size());
      all.push_back(std::to_string(x));
      if (factor > 1 ? x > std::numeric_limits<std::int64_t>::max() / factor
                     : x == std::numeric_limits<std::int64_t>::max())
        break;
      x = factor > 1 ? x * factor : x + 1;
    }
    return all;
  }

  std::vector<std::string> quantities(const Amount& low, const Amount& high) const {
    require_order(low.number <= high.number);
    if (low.number == 0.0) refuse(text_, "a multiple of 0 is 0", "begin above it");
    std::vector<std::string> all;
    for (double x = low.number; x <= high.number * (1.0 + k_slack); x *= *factor_) {
      require_room(all.size());
      all.push_back(low.unit.empty() ? fmt::format("{}", x) : fmt::format("{} {}", x, low.unit));
    }
    return all;
  }

  std::string_view text_;
  std::string_view first_, last_;
  std::optional<double> factor_ = {};
};

// A path such as ../models/own.yaml has dots as well: a range begins with a digit.
bool is_range(std::string_view item) {
  return !item.empty() && is_digit(item.front()) && item.find(k_dots) != std::string_view::npos;
}

}  // namespace

Variation read_variation(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) refuse(text, "no '=' between a key and its values");
  Variation variation{.key = std::string(trimmed(text.substr(0, equals)))};
  if (variation.key.empty()) refuse(text, "the key is missing");
  if (trimmed(text.substr(equals + 1)).empty()) refuse(text, "the values are missing");
  for (const std::string_view item : items_of(text.substr(equals + 1))) {
    if (item.empty()) refuse(text, "a value between commas is missing");
    if (is_range(item)) {
      for (std::string& value : Range(item).values()) variation.values.push_back(std::move(value));
    } else {
      variation.values.emplace_back(item);
    }
    if (variation.values.size() > k_most_rows) refuse(text, fmt::format("more than {} values", k_most_rows));
  }
  std::vector<std::string> sorted = variation.values;
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    refuse(text, fmt::format("{} stands there twice", core::quoted(*twice)), "list each value once");
  return variation;
}

std::size_t count_rows(std::span<const Variation> variations) {
  std::size_t rows = 1;
  for (auto each = variations.begin(); each != variations.end(); ++each) {
    const bool again = std::any_of(variations.begin(), each, [&](const Variation& v) { return v.key == each->key; });
    if (again) refuse(each->key, "varies twice", "list all its values in one --vary");
    rows *= each->values.size();
    if (rows > k_most_rows)
      throw core::ConfigurationError(k_option, fmt::format("more than {} rows", k_most_rows),
                                     "vary fewer keys, or fewer values of each");
  }
  return rows;
}

std::vector<std::string> values_of(std::span<const Variation> variations, std::size_t row) {
  std::vector<std::string> values(variations.size());
  for (std::size_t i = variations.size(); i-- > 0;) {
    const std::vector<std::string>& all = variations[i].values;
    values[i] = all[row % all.size()];
    row /= all.size();
  }
  return values;
}

}  // namespace cairn::sweep
