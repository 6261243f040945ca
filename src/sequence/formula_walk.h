// The points of an operator, and the arithmetic at one of them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "cairn/core/assert.h"
#include "cairn/sequence/formula.h"

namespace cairn::sequence {

inline constexpr std::size_t k_most_operands = 3;

// An element while contributions meet in it; `weight` only where they meet by their softmax.
template <class Real>
struct Cell {
  Real value = 0;
  Real weight = 0;
};

template <class Real>
Cell<Real> nothing_yet(Meeting meeting) {
  constexpr Real k_least = -std::numeric_limits<Real>::infinity();
  return {.value = meeting == Meeting::largest ? k_least : Real{0},
          .weight = meeting == Meeting::softmax ? k_least : Real{0}};
}

template <class Real>
void meet(Meeting meeting, Cell<Real>& into, const Cell<Real>& from) {
  switch (meeting) {
    case Meeting::added:
      into.value += from.value;
      return;
    case Meeting::largest:
      into.value = std::max(into.value, from.value);
      return;
    case Meeting::softmax: {
      const Real most = std::max(into.weight, from.weight);
      const Real mine = std::exp(into.weight - most), other = std::exp(from.weight - most);
      into = {.value = (into.value * mine + from.value * other) / (mine + other),
              .weight = most + std::log(mine + other)};
      return;
    }
  }
}

template <class Real>
Cell<Real> kernel_result(const Operator& op, const std::array<Real, k_most_operands>& operands) {
  const auto [a, b, c] = operands;
  switch (op.kernel) {
    case Kernel::product:
      return {.value = static_cast<Real>(op.scale) * a * (op.operands.size() > 1 ? b : Real{1})};
    case Kernel::ratio:
      return {.value = a / b};
    case Kernel::exp_difference:
      return {.value = std::exp(a - b)};
    case Kernel::plus_log:
      return {.value = a + std::log(b)};
    case Kernel::product_difference:
      return {.value = a * (b - c)};
    case Kernel::positive:
      return {.value = std::max(a, Real{0})};
    case Kernel::where_positive:
      return {.value = b > 0 ? a : Real{0}};
    case Kernel::weighted:
      return {.value = a, .weight = b};
  }
  return {};
}

// Where the loops are at a point, as elements of tensors.
struct FormulaPoint {
  std::int64_t result = 0;
  std::array<std::int64_t, k_most_operands> operands = {};
  // Which of the contributions of this operator to the element it is: its place in the loops that are summed over.
  std::int64_t contribution = 0;
  bool seen = true;  // not left out by the guard
};

class FormulaWalk {
 public:
  FormulaWalk(const Formula& formula, const Operator& op);

  std::int64_t contributions() const { return contributions_; }
  std::size_t operands() const { return operands_.size(); }
  // All of the operator's loops, or those that `box` names.
  std::vector<Range> ranges(const Box& box = {}) const;

  template <class Visit>
  void run(const std::vector<Range>& ranges, Visit&& visit) const {
    std::vector<std::int64_t> at;
    for (const Range& range : ranges) {
      if (range.count <= 0) return;
      at.push_back(range.first);
    }
    for (;;) {
      if (in_bounds(at)) visit(point(at));
      std::size_t loop = at.size();
      while (loop > 0 && ++at[loop - 1] == ranges[loop - 1].first + ranges[loop - 1].count) {
        at[loop - 1] = ranges[loop - 1].first;
        --loop;
      }
      if (loop == 0) return;
    }
  }

 private:
  // constant + sum of steps x loops.
  struct Line {
    std::int64_t constant = 0;
    std::vector<std::int64_t> steps;
    std::int64_t at(const std::vector<std::int64_t>& loops) const;
  };
  struct Bound {
    std::size_t loop = 0;
    std::int64_t offset = 0;
    std::int64_t extent = 0;
  };

  std::size_t loop_of(char letter) const;
  Line line_of(const Access& access);
  bool in_bounds(const std::vector<std::int64_t>& at) const;
  bool seen(const std::vector<std::int64_t>& at) const;
  FormulaPoint point(const std::vector<std::int64_t>& at) const;

  const Formula& formula_;
  const Operator& op_;
  Line result_, contribution_;
  std::vector<Line> operands_;
  std::vector<Bound> bounds_;
  std::int64_t contributions_ = 1;
};

}  // namespace cairn::sequence
