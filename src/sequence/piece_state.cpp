#include "piece_state.h"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace cairn::sequence {

ContributionNumbers::ContributionNumbers(const Formula& formula) {
  std::vector<std::size_t> counts;
  for (const FormulaTensor& tensor : formula.tensors()) counts.push_back(tensor.given ? 1 : 0);
  for (const Operator& op : formula.operators()) {
    walks_.emplace_back(formula, op);
    first_.push_back(counts[op.result.tensor]);
    counts[op.result.tensor] += static_cast<std::size_t>(walks_.back().contributions());
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const FormulaTensor& tensor = formula.tensors()[i];
    whole_.emplace_back(static_cast<std::size_t>(tensor.elements()), Contributions(counts[i], tensor.given ? 1 : 0));
  }
  for (std::size_t op = 0; op < walks_.size(); ++op) {
    std::vector<Contributions>& result = whole_[formula.operators()[op].result.tensor];
    walks_[op].run(walks_[op].ranges(), [&](const FormulaPoint& point) {
      if (point.seen)
        result[static_cast<std::size_t>(point.result)].set(first_[op] + static_cast<std::size_t>(point.contribution));
    });
  }
}

RankState::RankState(const Formula& formula, const ContributionNumbers& numbers)
    : formula_(formula), numbers_(numbers) {
  for (std::size_t tensor = 0; tensor < formula.tensors().size(); ++tensor) {
    held_.emplace_back();
    for (std::int64_t element = 0; element < formula.tensors()[tensor].elements(); ++element)
      held_.back().push_back(nothing(tensor, element));
  }
}

HeldElement RankState::nothing(std::size_t tensor, std::int64_t element) const {
  return {.cell = nothing_yet<float>(formula_.tensors()[tensor].meeting),
          .contributions = Contributions(numbers_.whole(tensor, element).size())};
}

bool RankState::whole(std::size_t tensor, std::int64_t element) const {
  return at(tensor, element).contributions == numbers_.whole(tensor, element);
}

void RankState::give(std::size_t tensor, std::int64_t element, float number) {
  held_[tensor][static_cast<std::size_t>(element)] = {
      .cell = {.value = number}, .contributions = numbers_.whole(tensor, element), .held = true};
}

HeldElement RankState::take(std::size_t tensor, std::int64_t element) {
  return std::exchange(held_[tensor][static_cast<std::size_t>(element)], nothing(tensor, element));
}

bool RankState::join(std::size_t tensor, std::int64_t element, const HeldElement& part) {
  HeldElement& held = held_[tensor][static_cast<std::size_t>(element)];
  if (held.contributions.intersects(part.contributions)) return false;
  held.contributions |= part.contributions;
  held.held = held.held || part.held;
  meet(formula_.tensors()[tensor].meeting, held.cell, part.cell);
  return true;
}

std::optional<std::string> RankState::compute(std::size_t op, const Box& box, std::int64_t& points) {
  const Operator& computes = formula_.operators()[op];
  const FormulaWalk& walk = numbers_.walk(op);
  const std::size_t result = computes.result.tensor;
  std::optional<std::string> fault;
  walk.run(walk.ranges(box), [&](const FormulaPoint& point) {
    if (fault) return;
    HeldElement& held = held_[result][static_cast<std::size_t>(point.result)];
    held.held = true;
    if (!point.seen) return;
    std::array<float, k_most_operands> operands = {};
    for (std::size_t i = 0; i < computes.operands.size(); ++i) {
      const std::size_t tensor = computes.operands[i].tensor;
      if (!whole(tensor, point.operands[i]))
        fault = fmt::format("'{}' reads an element of {} that is not whole there", computes.label,
                            formula_.tensors()[tensor].name);
      operands[i] = at(tensor, point.operands[i]).cell.value;
    }
    const std::size_t contribution = numbers_.first(op) + static_cast<std::size_t>(point.contribution);
    if (held.contributions.test(contribution))
      fault = fmt::format("'{}' adds to {} what is there already", computes.label, formula_.tensors()[result].name);
    held.contributions.set(contribution);
    meet(formula_.tensors()[result].meeting, held.cell, kernel_result(computes, operands));
    ++points;
  });
  return fault;
}

void RankState::forget_all_but(const std::vector<TensorPiece>& kept, const std::vector<std::size_t>& parts) {
  std::vector<std::vector<bool>> stays;
  for (const std::vector<HeldElement>& tensor : held_) stays.emplace_back(tensor.size(), false);
  for (const std::size_t tensor : parts) stays[tensor].assign(stays[tensor].size(), true);
  for (const TensorPiece& piece : kept)
    for_elements(formula_, piece,
                 [&](std::int64_t element) { stays[piece.tensor][static_cast<std::size_t>(element)] = true; });
  for (std::size_t tensor = 0; tensor < held_.size(); ++tensor)
    for (std::size_t element = 0; element < held_[tensor].size(); ++element)
      if (!stays[tensor][element]) take(tensor, static_cast<std::int64_t>(element));
}

}  // namespace cairn::sequence
