#include "exponents.h"

#include <algorithm>
#include <optional>
#include <set>

#include <boost/rational.hpp>

namespace cairn::pebble {

namespace {

using Rational = boost::rational<std::int64_t>;

struct Plane {
  std::uint32_t members;  // sum of s_j over these
  int value;              // equals 0 or 1
  friend auto operator<=>(const Plane&, const Plane&) = default;
};

// Gauss-Jordan; empty when the planes do not meet in one point.
std::optional<std::vector<Rational>> intersection(const std::vector<Plane>& planes, std::size_t n) {
  std::vector<std::vector<Rational>> rows(n, std::vector<Rational>(n + 1));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) rows[i][j] = planes[i].members >> j & 1U;
    rows[i][n] = planes[i].value;
  }
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = column;
    while (pivot < n && rows[pivot][column] == Rational(0)) ++pivot;
    if (pivot == n) return std::nullopt;
    std::swap(rows[pivot], rows[column]);
    const Rational scale = rows[column][column];
    for (Rational& entry : rows[column]) entry /= scale;
    for (std::size_t i = 0; i < n; ++i) {
      const Rational factor = rows[i][column];
      if (i == column || factor == Rational(0)) continue;
      for (std::size_t j = 0; j <= n; ++j) rows[i][j] -= factor * rows[column][j];
    }
  }
  std::vector<Rational> point;
  for (const auto& row : rows) point.push_back(row[n]);
  return point;
}

class Corners {
 public:
  Corners(std::size_t accesses, const std::vector<std::uint32_t>& users) : n_(accesses) {
    for (std::size_t j = 0; j < n_; ++j) {
      planes_.push_back({.members = 1U << j, .value = 0});
      planes_.push_back({.members = 1U << j, .value = 1});
    }
    for (std::uint32_t members : users) {
      if (members != 0) planes_.push_back({.members = members, .value = 1});
    }
    std::sort(planes_.begin(), planes_.end());
    planes_.erase(std::unique(planes_.begin(), planes_.end()), planes_.end());
    choose(0);
  }

  std::vector<std::vector<double>> points() const {
    std::vector<std::vector<double>> result;
    for (const auto& point : found_) {
      std::vector<double> s;
      for (const Rational& value : point) s.push_back(boost::rational_cast<double>(value));
      result.push_back(std::move(s));
    }
    return result;
  }

 private:
  void choose(std::size_t first) {
    if (chosen_.size() == n_) {
      const auto point = intersection(chosen_, n_);
      const auto inside = [](const Rational& s) { return s >= Rational(0) && s <= Rational(1); };
      if (point && std::all_of(point->begin(), point->end(), inside)) found_.insert(*point);
      return;
    }
    for (std::size_t i = first; i < planes_.size(); ++i) {
      chosen_.push_back(planes_[i]);
      choose(i + 1);
      chosen_.pop_back();
    }
  }

  std::size_t n_;
  std::vector<Plane> planes_, chosen_;
  std::set<std::vector<Rational>> found_;
};

}  // namespace

std::vector<std::vector<double>> exponent_corners(std::size_t accesses, const std::vector<std::uint32_t>& users) {
  return Corners(accesses, users).points();
}

std::vector<std::vector<double>> undominated(const std::vector<std::vector<double>>& corners,
                                             const std::vector<std::uint32_t>& users) {
  const auto uncovered = [&](const std::vector<double>& s, std::uint32_t members) {
    double covered = 0.0;
    for (std::size_t j = 0; j < s.size(); ++j) covered += (members >> j & 1U) != 0 ? s[j] : 0.0;
    return std::max(0.0, 1.0 - covered);
  };
  const auto no_larger = [&](const std::vector<double>& a, const std::vector<double>& b) {
    for (std::size_t j = 0; j < a.size(); ++j) {
      if (a[j] > b[j]) return false;
    }
    return std::all_of(users.begin(), users.end(),
                       [&](std::uint32_t members) { return uncovered(a, members) <= uncovered(b, members); });
  };
  std::vector<std::vector<double>> kept;
  for (const auto& corner : corners) {
    const bool beaten = std::any_of(corners.begin(), corners.end(),
                                    [&](const auto& other) { return &other != &corner && no_larger(other, corner); });
    if (!beaten) kept.push_back(corner);
  }
  return kept;
}

}  // namespace cairn::pebble
