// What one rank holds while lists are executed: of every element its cell and the contributions that met in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/dynamic_bitset.hpp>

#include "cairn/sequence/piece_list.h"
#include "formula_walk.h"

namespace cairn::sequence {

using Contributions = boost::dynamic_bitset<>;

// Numbers the contributions to the elements of a formula.
class ContributionNumbers {
 public:
  explicit ContributionNumbers(const Formula& formula);

  const FormulaWalk& walk(std::size_t op) const { return walks_[op]; }
  // The first number of an operator's contributions to an element of its result.
  std::size_t first(std::size_t op) const { return first_[op]; }
  // Of an element that is whole.
  const Contributions& whole(std::size_t tensor, std::int64_t element) const {
    return whole_[tensor][static_cast<std::size_t>(element)];
  }

 private:
  std::vector<FormulaWalk> walks_;
  std::vector<std::size_t> first_;
  std::vector<std::vector<Contributions>> whole_;
};

struct HeldElement {
  Cell<float> cell = {};
  Contributions contributions = {};
  bool held = false;  // a part is, be it of no contribution
};

class RankState {
 public:
  RankState(const Formula& formula, const ContributionNumbers& numbers);

  bool whole(std::size_t tensor, std::int64_t element) const;
  bool empty(std::size_t tensor, std::int64_t element) const { return !at(tensor, element).held; }
  const HeldElement& at(std::size_t tensor, std::int64_t element) const {
    return held_[tensor][static_cast<std::size_t>(element)];
  }
  void give(std::size_t tensor, std::int64_t element, float number);
  HeldElement take(std::size_t tensor, std::int64_t element);
  // False where one of the contributions is there already.
  bool join(std::size_t tensor, std::int64_t element, const HeldElement& part);
  // Does the work of one operator, and counts its points; or what is wrong.
  std::optional<std::string> compute(std::size_t op, const Box& box, std::int64_t& points);
  // Keeps these pieces and what is of the tensors in `parts` alone.
  void forget_all_but(const std::vector<TensorPiece>& kept, const std::vector<std::size_t>& parts);

 private:
  HeldElement nothing(std::size_t tensor, std::int64_t element) const;

  const Formula& formula_;
  const ContributionNumbers& numbers_;
  std::vector<std::vector<HeldElement>> held_;
};

// visit(element) for every element of a piece.
template <class Visit>
void for_elements(const Formula& formula, const TensorPiece& piece, Visit&& visit) {
  const std::vector<std::int64_t>& extents = formula.tensors()[piece.tensor].extents;
  const std::int64_t all = elements(piece);
  for (std::int64_t i = 0; i < all; ++i) {
    std::int64_t rest = i, element = 0, step = 1;
    for (std::size_t axis = extents.size(); axis-- > 0; step *= extents[axis]) {
      const Range& range = piece.ranges[axis];
      element += step * (range.first + rest % range.count);
      rest /= range.count;
    }
    visit(element);
  }
}

}  // namespace cairn::sequence
