#include "explorer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/core/format_units.h"
#include "cairn/search/window_bound.h"

namespace cairn::search {

using core::Picoseconds;
using experiment::StrategyChoice;

namespace {
const std::pair<CellKind, std::string> k_memory{CellKind::unfit, "memory"};  // among Refusals
}  // namespace

void merge(const Refusals& from, Refusals& into) {
  for (const auto& [reason, refusal] : from) {
    const auto [slot, fresh] = into.try_emplace(reason, refusal);
    if (fresh) continue;
    Refusal& known = slot->second;
    known.count += refusal.count;
    if (refusal.kind != CellKind::unfit || refusal.lacking_bytes >= known.lacking_bytes) continue;
    known.lacking_bytes = refusal.lacking_bytes;
    known.nearest = refusal.nearest;
    known.settings = refusal.settings;
  }
}

Explorer::Explorer(const Request& request)
    : space_(request.space),
      subject_(request.subject),
      stop_(request.stop),
      trials_(request.settings, request.parts),
      conditions_by_depth_(request.space.axes.size() + 1) {
  for (const Axis& axis : space_.axes) {
    layer_axes_ += axis.level == Level::layers ? 1 : 0;
    frame_axes_ += axis.level != Level::exchanges ? 1 : 0;
  }
  for (std::size_t axis = 0; axis < space_.axes.size(); ++axis) strides_.push_back(space_.below(axis + 1));
  leaves_ = space_.below(frame_axes_);
  for (const Condition& each : space_.conditions) {
    std::size_t depth = 0;  // axes that must have values for it to be known
    for (std::size_t variable = 0; variable < k_variables; ++variable)
      for (std::size_t axis = 0; axis < space_.axes.size(); ++axis)
        if (each.expression.reads(variable) && depends(variable, space_.axes[axis].key))
          depth = std::max(depth, axis + 1);
    conditions_by_depth_[depth].push_back(&each);
  }
}

Findings Explorer::found() {
  findings_ = {};
  StrategyChoice choice = space_.fixed;
  if (meets(0, choice, 0)) walk(0, layer_axes_, choice, 0);
  return std::move(findings_);
}

Findings Explorer::explored(const Box& box) {
  findings_ = {};
  switch (box.state) {
    case Box::State::found:
      bound(box);
      break;
    case Box::State::layers:
      divide(box);
      break;
    case Box::State::pipeline:
      compute(box);
      break;
  }
  return std::move(findings_);
}

// ---- the space, axis by axis ----
// Finds what lies below the first `depth` axes, whose values `choice` has: by the first `end` axes.
void Explorer::walk(std::size_t depth, std::size_t end, StrategyChoice& choice, std::uint64_t first) {
  if (depth == end) {
    if (end == frame_axes_ && end != layer_axes_) return frame(choice, first);
    findings_.boxes.push_back({.first = first, .count = space_.below(end)});
    return;
  }
  const Axis& axis = space_.axes[depth];
  const std::uint64_t step = strides_[depth];
  for (const AxisValue& value : axis.values) {
    axis.copy(value.choice, choice);
    if (stop_ && stop_())
      add({.first = first, .count = step, .kind = CellKind::pruned, .bound = least_});
    else if (meets(depth + 1, choice, first))
      walk(depth + 1, end, choice, first);
    first += step;
  }
  axis.copy(space_.fixed, choice);
}

// Whether the conditions that are known at this depth hold; else everything below is left out.
bool Explorer::meets(std::size_t depth, const StrategyChoice& choice, std::uint64_t first) {
  const Condition* broken = broken_condition(depth, depth, choice);
  if (broken == nullptr) return true;
  const std::uint64_t count = space_.below(depth);
  refuse(CellKind::excluded, broken->expression.text(), count, first);
  add({.first = first, .count = count, .kind = CellKind::excluded});
  return false;
}

// Of the conditions that are known at some depth, of `from` to `to`, the first that does not hold.
const Condition* Explorer::broken_condition(std::size_t from, std::size_t to, const StrategyChoice& choice) const {
  std::optional<std::array<VariableValue, k_variables>> values;
  for (std::size_t depth = from; depth <= to; ++depth)
    for (const Condition* each : conditions_by_depth_[depth]) {
      if (!values) values = values_of(choice, subject_);
      if (!each->expression.holds(*values)) return each;
    }
  return nullptr;
}

// Whether something can be made of points; else what their cell is, and why is counted, where `cell` is asked for.
template <class Make>
bool Explorer::legal(Make make, std::uint64_t point, Cell* cell) {
  try {
    make();
    return true;
  } catch (const core::ConfigurationError& error) {
    if (cell == nullptr) return false;
    cell->kind = CellKind::illegal;
    const core::Diagnostic& first = error.diagnostics().front();
    refuse(CellKind::illegal, first.key_path, cell->count, point, first.message);
    return false;
  }
}

bool Explorer::make_structure(const StrategyChoice& choice, std::uint64_t first, Cell* cell) {
  return legal([&] { trials_.make_structure(choice); }, first, cell);
}

// The plan of a point whose structure was made last; `choice` has it, and is given the rest.
bool Explorer::make_leaf(std::uint64_t point, StrategyChoice& choice, Cell* cell) {
  apply(point, frame_axes_, choice);
  if (const Condition* broken = broken_condition(frame_axes_ + 1, space_.axes.size(), choice)) {
    if (cell == nullptr) return false;
    cell->kind = CellKind::excluded;
    refuse(CellKind::excluded, broken->expression.text(), cell->count, point);
    return false;
  }
  return legal([&] { trials_.make_exchanges(choice); }, point, cell);
}

// The first plan that can be made of the structure that was made last.
std::optional<std::uint64_t> Explorer::first_leaf(std::uint64_t first, StrategyChoice& choice) {
  for (std::uint64_t leaf = 0; leaf < leaves_; ++leaf)
    if (make_leaf(first + leaf, choice, nullptr)) return first + leaf;
  return std::nullopt;
}

// ---- boxes ----
// By what layers take in any of its plans. A box without one is done with.
void Explorer::bound(const Box& box) {
  StrategyChoice choice = choice_of(box.first);
  for (std::uint64_t first = box.first; first < box.first + box.count; first += leaves_) {
    apply(first, layer_axes_, choice);
    if (broken_condition(layer_axes_ + 1, frame_axes_, choice) != nullptr) continue;
    if (!make_structure(choice, first, nullptr) || !first_leaf(first, choice)) continue;
    findings_.boxes.push_back(
        {.bound = least_work(), .first = box.first, .count = box.count, .state = Box::State::layers});
    return;
  }
  divide(box);
}

// What holds whatever the schedule is.
Picoseconds Explorer::least_work() {
  const std::vector<experiment::LayerFloor> floors = trials_.layer_floors();
  const auto bound = [&](const StrategyChoice& choice) {
    return work_bound(trials_.model(), floors, choice.schedule.kind, trials_.strategy().micro_batches,
                      trials_.strategy().pipeline);
  };
  std::optional<Picoseconds> least;
  for (const Axis& axis : space_.axes)
    if (axis.key == "schedule")
      for (const AxisValue& value : axis.values) least = std::min(least.value_or(core::k_reach), bound(value.choice));
  return least ? *least : bound(space_.fixed);
}

void Explorer::divide(const Box& box) {
  StrategyChoice choice = choice_of(box.first);
  divided_.clear();
  least_ = box.bound;
  if (layer_axes_ == frame_axes_)
    frame(choice, box.first);
  else
    walk(layer_axes_, frame_axes_, choice, box.first);
  least_ = 0;
}

void Explorer::frame(StrategyChoice& choice, std::uint64_t first) {
  if (Cell none{.first = first, .count = leaves_}; !make_structure(choice, first, &none)) return add(none);
  if (first_leaf(first, choice)) {
    if (Box* const same = twin_of(first)) return same->twins.push_back(first);
    const Picoseconds bound =
        window_bound(trials_.model(), trials_.layer_floors(), trials_.schedule(), trials_.strategy().stage_layers);
    findings_.boxes.push_back(
        {.bound = std::max(bound, least_), .first = first, .count = leaves_, .state = Box::State::pipeline});
    return;
  }
  for (std::uint64_t leaf = 0; leaf < leaves_; ++leaf) {
    Cell cell{.first = first + leaf};
    make_leaf(first + leaf, choice, &cell);
    add(cell);
  }
}

// Pipelines that differ in how layers are divided among stages, and divide them alike, are the same plans.
Box* Explorer::twin_of(std::uint64_t first) {
  const auto stages =
      std::find_if(space_.axes.begin(), space_.axes.end(), [](const Axis& axis) { return axis.key == "stages"; });
  if (stages == space_.axes.end()) return nullptr;
  const auto axis = static_cast<std::size_t>(stages - space_.axes.begin());
  auto& alike = divided_[first - digit(first, axis) * strides_[axis]];
  const std::vector<std::int64_t>& layers = trials_.strategy().stage_layers;
  for (const auto& [box, known] : alike)
    if (known == layers) return &findings_.boxes[box];
  alike.emplace_back(findings_.boxes.size(), layers);
  return nullptr;
}

void Explorer::compute(const Box& box) {
  StrategyChoice choice = choice_of(box.first);
  trials_.make_structure(choice);
  bool may_fit = false;
  for (std::uint64_t leaf = 0; leaf < leaves_; ++leaf) {
    Cell cell{.first = box.first + leaf};
    if (!make_leaf(cell.first, choice, &cell) || !legal([&] { compute_plan(cell, may_fit); }, cell.first, &cell) ||
        cell.kind == CellKind::unfit)
      add(cell);
  }
}

// Plans of one pipeline hold much the same: once one may fit by its floor, those after it are not asked for theirs.
void Explorer::compute_plan(Cell& cell, bool& may_fit) {
  if (!may_fit) {
    const double floor = trials_.memory_floor();
    may_fit = floor <= trials_.capacity();
    if (!may_fit) {
      cell.kind = CellKind::unfit;
      findings_.too_large.push_back({.point = cell.first, .memory_floor = floor});
      return;
    }
  }
  const double memory = trials_.least_memory();
  if (memory > trials_.capacity()) {
    cell.kind = CellKind::unfit;
    return refuse_memory(cell.first, memory, findings_.refusals);
  }
  cell.kind = CellKind::evaluated;
  findings_.computed.push_back({.point = cell.first, .time = trials_.time(), .least_memory = memory});
}

// ---- points ----
std::uint64_t Explorer::digit(std::uint64_t point, std::size_t axis) const {
  return point / strides_[axis] % space_.axes[axis].values.size();
}
void Explorer::apply(std::uint64_t point, std::size_t from, StrategyChoice& choice) const {
  for (std::size_t axis = from; axis < space_.axes.size(); ++axis)
    space_.axes[axis].copy(space_.axes[axis].values[digit(point, axis)].choice, choice);
}
StrategyChoice Explorer::choice_of(std::uint64_t point) const {
  StrategyChoice choice = space_.fixed;
  apply(point, 0, choice);
  return choice;
}
std::vector<std::pair<std::string, std::string>> Explorer::settings_of(std::uint64_t point) const {
  std::vector<std::pair<std::string, std::string>> settings;
  for (std::size_t axis = 0; axis < space_.axes.size(); ++axis)
    settings.emplace_back(space_.axes[axis].key, space_.axes[axis].values[digit(point, axis)].text);
  return settings;
}
std::uint64_t Explorer::kind_of(std::uint64_t point) const {
  for (std::size_t axis = 0; axis < space_.axes.size(); ++axis)
    if (space_.axes[axis].minor) point -= digit(point, axis) * strides_[axis];
  return point;
}

std::uint64_t Explorer::layers_of(std::uint64_t point) const {
  for (std::size_t axis = 0; axis < space_.axes.size(); ++axis)
    if (space_.axes[axis].level != Level::layers || space_.axes[axis].key == "pp")
      point -= digit(point, axis) * strides_[axis];
  return point;
}

// ---- what was found ----
Refusal& Explorer::refuse(CellKind kind, const std::string& reason, std::uint64_t count, std::uint64_t point,
                          const std::string& example) {
  const auto [slot, fresh] = findings_.refusals.try_emplace({kind, reason});
  Refusal& refusal = slot->second;
  refusal.count += count;
  if (!fresh) return refusal;
  refusal.kind = kind;
  refusal.reason = reason;
  refusal.nearest = example;
  if (kind != CellKind::excluded) refusal.settings = settings_of(point);
  return refusal;
}

void Explorer::refuse_memory(std::uint64_t point, double memory, Refusals& refusals) const {
  const double lacking = memory - trials_.capacity();
  const auto [slot, fresh] = refusals.try_emplace(k_memory);
  Refusal& refusal = slot->second;
  ++refusal.count;
  if (!fresh && lacking >= refusal.lacking_bytes) return;
  refusal.kind = CellKind::unfit;
  refusal.reason = k_memory.second;
  refusal.lacking_bytes = lacking;
  refusal.nearest = fmt::format("{} more than there are", core::format(core::Bytes::from_base(lacking)));
  refusal.settings = settings_of(point);
}

void Explorer::refuse_too_large(const TooLarge& plan, Refusals& refusals) {
  double memory = plan.memory_floor;
  const auto known = refusals.find(k_memory);
  if (known == refusals.end() || memory - trials_.capacity() < known->second.lacking_bytes) {
    // A plan that contradicts itself within a pass lacks what its floor does, too.
    const auto compute = [&] {
      trials_.make(choice_of(plan.point));
      memory = trials_.least_memory();
    };
    legal(compute, plan.point, nullptr);
  }
  refuse_memory(plan.point, memory, refusals);
}

// Neighbours that are alike become one cell at once.
void Explorer::add(const Cell& cell) { append(cell, findings_.cells); }

}  // namespace cairn::search
