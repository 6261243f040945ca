#include "cairn/search/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <queue>
#include <unordered_map>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/core/format_units.h"
#include "cairn/experiment/job.h"
#include "cairn/experiment/trials.h"
#include "cairn/hardware/running_costs.h"
#include "cairn/search/window_bound.h"

namespace cairn::search {
namespace {

using core::Picoseconds;
using experiment::StrategyChoice;

constexpr Picoseconds k_unbeaten = std::numeric_limits<Picoseconds>::max();
constexpr std::uint64_t k_no_box = std::numeric_limits<std::uint64_t>::max();

// Plans that have the values of all axes of `level` in common: the points from `first` on.
struct Box {
  Picoseconds bound = 0;
  std::uint64_t first = 0;
  Level level = Level::layers;
  std::uint64_t twin = k_no_box;  // the first point of an earlier box of the very same plans

  // Whether it is taken later.
  friend bool operator<(const Box& a, const Box& b) {
    return a.bound != b.bound ? a.bound > b.bound : a.first > b.first;
  }
};

class Searching {
 public:
  explicit Searching(const Request& request)
      : request_(request), space_(request.space), trials_(request.settings, request.parts) {
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

  Answer run() {
    answer_.points = space_.points();
    StrategyChoice choice = space_.fixed;
    if (meets(0, choice, 0)) walk(0, layer_axes_, choice, 0);
    take_boxes();
    finish();
    return std::move(answer_);
  }

 private:
  // ---- the space, axis by axis ----
  // Finds the boxes below the first `depth` axes, whose values `choice` has: those of the first `end` axes.
  void walk(std::size_t depth, std::size_t end, StrategyChoice& choice, std::uint64_t first) {
    if (depth == end) return end == frame_axes_ ? frame(choice, first) : shape(choice, first);
    const Axis& axis = space_.axes[depth];
    const std::uint64_t step = space_.below(depth + 1);
    for (const AxisValue& value : axis.values) {
      axis.copy(value.choice, choice);
      if (stopped()) {
        add({.first = first, .count = step, .kind = CellKind::pruned, .bound = least_});
      } else if (meets(depth + 1, choice, first)) {
        walk(depth + 1, end, choice, first);
      }
      first += step;
    }
    axis.copy(space_.fixed, choice);
  }

  // Whether the conditions that are known at this depth hold; else everything below is left out.
  bool meets(std::size_t depth, const StrategyChoice& choice, std::uint64_t first) {
    const Condition* broken = broken_condition(depth, choice);
    if (broken == nullptr) return true;
    const std::uint64_t count = space_.below(depth);
    refuse(CellKind::excluded, broken->expression.text(), count, first);
    add({.first = first, .count = count, .kind = CellKind::excluded});
    return false;
  }
  const Condition* broken_condition(std::size_t depth, const StrategyChoice& choice) const {
    const auto known = conditions_by_depth_.find(depth);
    if (known == conditions_by_depth_.end()) return nullptr;
    const auto values = values_of(choice, request_.subject);
    for (const Condition* each : known->second)
      if (!each->expression.holds(values)) return each;
    return nullptr;
  }

  // A box by what its layers take, of any of its plans.
  void shape(StrategyChoice& choice, std::uint64_t first) {
    if (layer_axes_ == frame_axes_) return frame(choice, first);
    const std::uint64_t count = space_.below(layer_axes_);
    for (std::uint64_t point = first; point < first + count; ++point) {
      apply(point, layer_axes_, choice);
      if (!make_plan(layer_axes_ + 1, choice, point, nullptr)) continue;
      boxes_.push({.bound = least_work(), .first = first, .level = Level::layers});
      return;
    }
    walk(layer_axes_, frame_axes_, choice, first);
  }
  // What holds whatever the schedule is.
  Picoseconds least_work() {
    const std::vector<experiment::LayerFloor> floors = trials_.layer_floors();
    const auto bound = [&](const StrategyChoice& choice) {
      return work_bound(trials_.model(), floors, choice.schedule.kind, trials_.strategy().micro_batches,
                        trials_.strategy().pipeline);
    };
    Picoseconds least = k_unbeaten;
    for (const Axis& axis : space_.axes)
      if (axis.key == "schedule")
        for (const AxisValue& value : axis.values) least = std::min(least, bound(value.choice));
    return least == k_unbeaten ? bound(space_.fixed) : least;
  }

  void frame(StrategyChoice& choice, std::uint64_t first) {
    for (std::uint64_t leaf = 0; leaf < leaves_; ++leaf) {
      apply(first + leaf, frame_axes_, choice);
      if (!make_plan(frame_axes_ + 1, choice, first + leaf, nullptr)) continue;
      const Picoseconds bound =
          window_bound(trials_.model(), trials_.layer_floors(), trials_.schedule(), trials_.strategy().stage_layers);
      boxes_.push({.bound = std::max(bound, least_), .first = first, .level = Level::pipeline, .twin = twin_of(first)});
      return;
    }
    for (std::uint64_t leaf = 0; leaf < leaves_; ++leaf) {
      apply(first + leaf, frame_axes_, choice);
      Cell cell{.first = first + leaf};
      make_plan(frame_axes_ + 1, choice, first + leaf, &cell);
      add(cell);
    }
  }

  // Whether a plan can be made of a point; else what its cell is, and why is counted.
  // Conditions of so many axes and more are looked at.
  bool make_plan(std::size_t depth, const StrategyChoice& choice, std::uint64_t point, Cell* cell) {
    for (; depth <= space_.axes.size(); ++depth)
      if (const Condition* broken = broken_condition(depth, choice)) {
        if (cell == nullptr) return false;
        cell->kind = CellKind::excluded;
        refuse(CellKind::excluded, broken->expression.text(), 1, point);
        return false;
      }
    try {
      trials_.make(choice);
      return true;
    } catch (const core::ConfigurationError& error) {
      if (cell == nullptr) return false;
      cell->kind = CellKind::illegal;
      const core::Diagnostic& first = error.diagnostics().front();
      refuse(CellKind::illegal, first.key_path, 1, point, first.message);
      return false;
    }
  }

  // Frames that differ in how layers are divided among stages, and divide them alike, are the same plans.
  std::uint64_t twin_of(std::uint64_t first) {
    const auto stages =
        std::find_if(space_.axes.begin(), space_.axes.end(), [](const Axis& axis) { return axis.key == "stages"; });
    if (stages == space_.axes.end()) return k_no_box;
    const auto axis = static_cast<std::size_t>(stages - space_.axes.begin());
    const std::uint64_t others = first - digit(first, axis) * space_.below(axis + 1);
    auto& alike = divided_[others];
    for (const auto& [box, layers] : alike)
      if (layers == trials_.strategy().stage_layers) return box;
    alike.emplace_back(first, trials_.strategy().stage_layers);
    return k_no_box;
  }

  std::uint64_t digit(std::uint64_t point, std::size_t axis) const {
    return point / strides_[axis] % space_.axes[axis].values.size();
  }
  void apply(std::uint64_t point, std::size_t from, StrategyChoice& choice) const {
    for (std::size_t axis = from; axis < space_.axes.size(); ++axis)
      space_.axes[axis].copy(space_.axes[axis].values[digit(point, axis)].choice, choice);
  }
  StrategyChoice choice_of(std::uint64_t point) const {
    StrategyChoice choice = space_.fixed;
    apply(point, 0, choice);
    return choice;
  }

  // ---- boxes, the most promising first ----
  void take_boxes() {
    std::size_t done = 0;
    for (; !boxes_.empty() && !stopped(); ++done) {
      const Box box = boxes_.top();
      if (!request_.exhaustive && box.bound >= cutoff()) break;
      boxes_.pop();
      if (box.level == Level::layers)
        divide(box);
      else
        evaluate(box);
      if (request_.progress) request_.progress(done + 1, done + 1 + boxes_.size());
    }
    for (; !boxes_.empty(); boxes_.pop()) {
      const Box& box = boxes_.top();
      const std::uint64_t count = box.level == Level::layers ? space_.below(layer_axes_) : leaves_;
      add({.first = box.first, .count = count, .kind = CellKind::pruned, .bound = box.bound});
    }
  }

  void divide(const Box& box) {
    StrategyChoice choice = choice_of(box.first);
    divided_.clear();
    least_ = box.bound;
    walk(layer_axes_, frame_axes_, choice, box.first);
    least_ = 0;
  }

  void evaluate(const Box& box) {
    if (const auto same = evaluated_.find(box.twin); same != evaluated_.end()) {
      for (Cell cell : same->second) {
        cell.first += box.first - box.twin;
        add(cell);
      }
      answer_.collapsed += leaves_;
      return;
    }
    StrategyChoice choice = choice_of(box.first);
    std::vector<Cell>& cells = evaluated_[box.first];
    for (std::uint64_t leaf = 0; leaf < leaves_; ++leaf) {
      const std::uint64_t point = box.first + leaf;
      apply(point, frame_axes_, choice);
      Cell cell{.first = point};
      if (make_plan(frame_axes_ + 1, choice, point, &cell)) evaluate_plan(point, cell);
      cells.push_back(cell);
      add(cell);
    }
  }

  void evaluate_plan(std::uint64_t point, Cell& cell) {
    try {
      const double memory = trials_.least_memory();
      if (memory > trials_.capacity()) return unfit(cell, memory);
      cell.kind = CellKind::evaluated;
      cell.bound = trials_.time();
      ++answer_.evaluated;
      if (improves({.point = point, .time = cell.bound})) {
        const std::optional<double> peak = peak_of(point);
        if (!peak) return unfit(cell, trials_.memory().device_peak);
        consider({.point = point, .time = cell.bound, .memory_bytes = *peak});
      }
      known_.push_back({.point = point, .time = cell.bound, .least_memory = memory});
    } catch (const core::ConfigurationError& error) {
      cell.kind = CellKind::illegal;
      const core::Diagnostic& first = error.diagnostics().front();
      refuse(CellKind::illegal, first.key_path, 1, point, first.message);
    }
  }

  void unfit(Cell& cell, double memory) {
    cell.kind = CellKind::unfit;
    const double lacking = memory - trials_.capacity();
    Refusal& refusal = refuse(CellKind::unfit, "memory", 1, cell.first);
    if (refusal.count > 1 && lacking >= refusal.lacking_bytes) return;
    refusal.lacking_bytes = lacking;
    refusal.nearest = fmt::format("{} more than there are", core::format(core::Bytes::from_base(lacking)));
    refusal.settings = settings_of(cell.first);
  }

  // ---- what was found ----
  struct Found {
    std::uint64_t point = 0;
    Picoseconds time = 0;
    double memory_bytes = 0.0;
  };
  struct Known {
    std::uint64_t point = 0;
    Picoseconds time = 0;
    double least_memory = 0.0;
  };

  // A plan that is not faster is of no interest.
  Picoseconds cutoff() const { return best_.size() < request_.top ? k_unbeaten : best_.back().time; }

  // The kind of a plan: its point with every minor axis at its first value.
  std::uint64_t kind_of(std::uint64_t point) const {
    for (std::size_t axis = 0; axis < space_.axes.size(); ++axis)
      if (space_.axes[axis].minor) point -= digit(point, axis) * space_.below(axis + 1);
    return point;
  }

  static bool before(const Found& a, const Found& b) { return a.time != b.time ? a.time < b.time : a.point < b.point; }
  std::vector<Found>::iterator best_of_kind(std::uint64_t point) {
    return std::find_if(best_.begin(), best_.end(),
                        [&](const Found& each) { return kind_of(each.point) == kind_of(point); });
  }
  // Whether a plan, if it fits, is among the best: the best of each kind alone counts.
  bool improves(const Found& found) {
    if (found.time >= cutoff()) return false;
    const auto same = best_of_kind(found.point);
    return same == best_.end() || before(found, *same);
  }
  void consider(const Found& found) {
    if (const auto same = best_of_kind(found.point); same != best_.end()) best_.erase(same);
    best_.insert(std::upper_bound(best_.begin(), best_.end(), found, before), found);
    if (best_.size() > request_.top) best_.pop_back();
  }

  // What the fullest device holds under the plan of a point, which was made last; empty: more than it has. Playing an
  // allocator takes longer than all else, and is done once.
  std::optional<double> peak_of(std::uint64_t point) {
    const auto [slot, fresh] = peaks_.try_emplace(point);
    if (!fresh) return slot->second;
    const predict::MemoryReport report = trials_.memory();
    if (predict::fits(report)) slot->second = report.device_peak;
    return slot->second;
  }

  Refusal& refuse(CellKind kind, const std::string& reason, std::uint64_t count, std::uint64_t point,
                  const std::string& example = {}) {
    const auto [slot, fresh] = refusals_.try_emplace({kind, reason});
    Refusal& refusal = slot->second;
    refusal.count += count;
    if (!fresh) return refusal;
    refusal.kind = kind;
    refusal.reason = reason;
    refusal.nearest = example;
    if (kind != CellKind::excluded) refusal.settings = settings_of(point);
    return refusal;
  }

  std::vector<std::pair<std::string, std::string>> settings_of(std::uint64_t point) const {
    std::vector<std::pair<std::string, std::string>> settings;
    for (std::size_t axis = 0; axis < space_.axes.size(); ++axis)
      settings.emplace_back(space_.axes[axis].key, space_.axes[axis].values[digit(point, axis)].text);
    return settings;
  }

  Plan plan(const Found& found) {
    Plan plan{.point = found.point,
              .strategy = choice_of(found.point),
              .settings = settings_of(found.point),
              .time = found.time,
              .memory_bytes = found.memory_bytes};
    trials_.make(plan.strategy);
    plan.strategy.dp = trials_.strategy().data;
    const bool said = std::any_of(plan.settings.begin(), plan.settings.end(),
                                  [](const auto& setting) { return setting.first == "dp"; });
    if (!said) plan.settings.emplace_back("dp", fmt::format("{}", trials_.strategy().data));
    return plan;
  }

  void finish() {
    answer_.complete = !stopped_;
    for (const Found& found : best_) answer_.top.push_back(plan(found));
    find_pareto();
    for (const auto& [reason, refusal] : refusals_) answer_.refusals.push_back(refusal);
    std::stable_sort(answer_.refusals.begin(), answer_.refusals.end(),
                     [](const Refusal& a, const Refusal& b) { return a.count > b.count; });
    for (const Cell& cell : cells_) answer_.counts[static_cast<std::size_t>(cell.kind)] += cell.count;
    answer_.certificate = merged(std::move(cells_));
    answer_.verdict = check(answer_.certificate, answer_.points);
    if (request_.contention)
      for (Plan& each : answer_.top)
        if (!stopped()) each.contended = contended(each.strategy);
  }

  // Of the evaluated plans: faster ones first, each that holds less than all before it.
  void find_pareto() {
    std::stable_sort(known_.begin(), known_.end(), [](const Known& a, const Known& b) {
      return a.time != b.time ? a.time < b.time : a.least_memory < b.least_memory;
    });
    double least = std::numeric_limits<double>::infinity();
    for (const Known& each : known_) {
      if (each.least_memory >= least) continue;
      if (!peaks_.contains(each.point)) trials_.make(choice_of(each.point));
      const std::optional<double> peak = peak_of(each.point);
      if (!peak || *peak >= least) continue;
      least = *peak;
      answer_.pareto.push_back(plan({.point = each.point, .time = each.time, .memory_bytes = *peak}));
    }
  }

  // None where the step has more work than can be simulated.
  std::optional<Picoseconds> contended(const StrategyChoice& strategy) const {
    experiment::Settings settings = request_.settings;
    settings.strategy = strategy;
    settings.simulation.contention = true;
    try {
      experiment::Job job(settings, request_.parts);
      return job.run(predict::Engine::event, {.detail = predict::Detail::stages, .advice = experiment::Advice::none})
          .prediction.time;
    } catch (const core::ConfigurationError&) {
      return std::nullopt;
    }
  }

  bool stopped() { return stopped_ = stopped_ || (request_.stop && request_.stop()); }

  // Neighbours that nothing was evaluated of become one cell at once.
  void add(const Cell& cell) {
    if (!cells_.empty() && cell.kind != CellKind::evaluated) {
      Cell& last = cells_.back();
      if (last.kind == cell.kind && last.bound == cell.bound && last.first + last.count == cell.first) {
        last.count += cell.count;
        return;
      }
    }
    cells_.push_back(cell);
  }

  const Request& request_;
  const Space& space_;
  experiment::Trials trials_;
  std::vector<std::uint64_t> strides_;  // of the number of a point, by axis
  std::size_t layer_axes_ = 0;          // those of the first level
  std::size_t frame_axes_ = 0;          // and of the second
  std::uint64_t leaves_ = 1;            // points of a box
  std::map<std::size_t, std::vector<const Condition*>> conditions_by_depth_;
  std::priority_queue<Box> boxes_;
  Picoseconds least_ = 0;  // the bound of the box that is divided
  std::unordered_map<std::uint64_t, std::vector<std::pair<std::uint64_t, std::vector<std::int64_t>>>> divided_;
  std::unordered_map<std::uint64_t, std::vector<Cell>> evaluated_;  // by first point, for twins
  std::vector<Cell> cells_;
  std::vector<Found> best_;   // of each kind the best, sorted
  std::vector<Known> known_;  // evaluated plans that may fit
  std::unordered_map<std::uint64_t, std::optional<double>> peaks_;
  std::map<std::pair<CellKind, std::string>, Refusal> refusals_;
  Answer answer_;
  bool stopped_ = false;
};

}  // namespace

Answer search(const Request& request) { return Searching(request).run(); }

std::int64_t sequences_of(const experiment::Training& training) {
  if (training.global_batch.sequences > 0) return training.global_batch.sequences;
  constexpr double k_most = 9007199254740992.0;  // 2^53: more are refused with the first plan, too
  const double sequences =
      training.global_batch.tokens / static_cast<double>(std::max<std::int64_t>(1, training.seq_len));
  return std::llround(std::clamp(sequences, 1.0, k_most));
}

Objective objective_of(std::string_view word, const std::optional<Objective>& of_space,
                       const hardware::Machine& machine) {
  Objective objective = of_space.value_or(Objective::step_time);
  for (const auto& [known, each] : objectives())
    if (known == word) objective = each;
  if (objective == Objective::cost && !hardware::running_costs(machine).accelerator_hour)
    throw core::ConfigurationError("cluster.price", "what an accelerator costs is not known",
                                   "set cluster.price.accelerator_hour, as in '2.5 USD'");
  return objective;
}

Subject subject_of(const experiment::Parts& parts, std::int64_t batch) {
  const software::Capabilities& can = parts.software.framework.capabilities;
  return {.gpus = parts.machine.network.gpus(),
          .gpus_per_node = parts.machine.network.gpus_per_node,
          .layers = parts.model.layers,
          .batch = batch,
          .experts = parts.model.moe ? parts.model.moe->experts : 0,
          .sequence_parallel = can.sequence_parallel,
          .selective_recompute = can.selective_recompute,
          .interleaved = can.interleaved,
          .zero = can.zero};
}

}  // namespace cairn::search
