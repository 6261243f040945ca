#include "other_values.h"

#include <algorithm>

namespace cairn::laws {
namespace {

constexpr double k_factors[] = {2.0, 0.5, 1e3, 1e-3};

// "450 GB/s" and "0 B"
Json scaled(const std::string& quantity, double factor) {
  const std::size_t unit = quantity.find_first_not_of("+-.0123456789e");
  const double figure = std::stod(quantity);
  return fmt::format("{:.9g}{}", figure == 0.0 ? factor : factor * figure, quantity.substr(unit));
}

std::vector<Json> other_texts(const std::string& text) {
  const std::size_t digit = text.find_first_of("0123456789");
  if (digit == 0 && text.find(' ') != std::string::npos) {
    std::vector<Json> quantities;
    for (const double factor : k_factors) quantities.push_back(scaled(text, factor));
    return quantities;
  }
  if (digit == std::string::npos) return {text + "-changed"};
  std::string next = text;
  next[digit] = text[digit] == '9' ? '0' : static_cast<char>(text[digit] + 1);
  return {next};
}

std::vector<Json> other_lists(const Json& list) {
  Json reversed = list, shorter = list, longer = list;
  std::reverse(reversed.begin(), reversed.end());
  if (!list.empty()) {
    shorter.erase(shorter.size() - 1);
    longer.push_back(list.back());
  }
  std::vector<Json> all{reversed, shorter, longer};
  for (std::size_t i = 1; i < list.size(); ++i) {
    all.push_back(list);
    std::swap(all.back()[i - 1], all.back()[i]);
  }
  return all;
}

}  // namespace

std::vector<Json> other_values(const Json& value) {
  switch (value.type()) {
    case Json::value_t::boolean:
      return {!value.get<bool>()};
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned: {
      const auto n = value.get<std::int64_t>();
      return {n + 1, n - 1, 2 * n, n / 2, 8 * n, n / 8};
    }
    case Json::value_t::number_float: {
      const double x = value;
      std::vector<Json> all{0.9 * x, x + 0.1};
      for (const double factor : k_factors) all.push_back(factor * x);
      return all;
    }
    case Json::value_t::string:
      return other_texts(value);
    case Json::value_t::array:
      return other_lists(value);
    case Json::value_t::object: {
      std::vector<Json> all;
      for (const auto& [key, inner] : value.items())
        for (const Json& other : other_values(inner)) {
          all.push_back(value);
          all.back()[key] = other;
        }
      return all;
    }
    default:
      return {};
  }
}

}  // namespace cairn::laws
