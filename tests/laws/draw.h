// Random choices of settings: what generators of experiments draw with.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cairn/core/random.h"

namespace cairn::laws {

// Settings as they are written in a file.
using Json = nlohmann::ordered_json;

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  bool chance(double probability) { return random_.uniform() < probability; }
  bool coin() { return chance(0.5); }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(high - low + 1)));
  }
  std::int64_t power_of_two(std::int64_t low, std::int64_t high) { return std::int64_t{1} << between(low, high); }
  template <class T>
  T of(const std::vector<T>& all) {
    return all[random_.below(all.size())];
  }
  template <class T>
  T one(std::initializer_list<T> all) {
    return all.begin()[random_.below(all.size())];
  }
  std::string word(std::initializer_list<const char*> all) { return one(all); }
  std::int64_t divisor_of(std::int64_t n) {
    std::vector<std::int64_t> divisors;
    for (std::int64_t i = 1; i <= n; ++i)
      if (n % i == 0) divisors.push_back(i);
    return of(divisors);
  }
  template <class T>
  std::vector<T> shuffled(std::vector<T> all) {
    for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random_.below(i)]);
    return all;
  }
  // Even on a logarithmic scale.
  double log_between(double low, double high) { return low * std::pow(high / low, random_.uniform()); }
  double share(double low, double high) {
    return std::round(1000.0 * (low + (high - low) * random_.uniform())) / 1000.0;
  }
  std::string quantity(double low, double high, const char* unit) {
    return fmt::format("{:.3g} {}", log_between(low, high), unit);
  }

  // `n` cut into `parts`; now and then, and where `n` is too small, any may be empty, else those at the ends alone.
  std::vector<std::int64_t> cut(std::int64_t n, std::int64_t parts) {
    const bool any = parts - 2 > n || chance(0.2);
    std::vector<std::int64_t> result(static_cast<std::size_t>(parts), any ? 0 : 1);
    result.front() = result.back() = 0;
    for (std::int64_t left = n - (any ? 0 : std::max<std::int64_t>(0, parts - 2)); left > 0; --left)
      ++result[static_cast<std::size_t>(between(0, parts - 1))];
    return result;
  }

 private:
  core::Random random_;
};

}  // namespace cairn::laws
