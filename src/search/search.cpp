#include "cairn/search/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/core/workers.h"
#include "cairn/experiment/job.h"
#include "cairn/hardware/running_costs.h"
#include "crew.h"
#include "explorer.h"

namespace cairn::search {
namespace {

using core::Picoseconds;
using experiment::StrategyChoice;

constexpr Picoseconds k_unbeaten = std::numeric_limits<Picoseconds>::max();
// Boxes worked on before what was found of them is looked at.
constexpr std::size_t k_boxes_at_once = 16;
// Evaluated plans kept until those that can be in no front of time and memory are let go.
constexpr std::size_t k_most_known = 1U << 16U;

class Searching {
 public:
  explicit Searching(const Request& request) : request_(request), crew_(request, k_boxes_at_once) {}

  Answer run() {
    answer_.points = request_.space.points();
    take(first().found(), {});
    take_boxes();
    finish();
    return std::move(answer_);
  }

 private:
  Explorer& first() { return crew_.first(); }

  // ---- boxes, the most promising first ----
  void take_boxes() {
    std::size_t done = 0;
    while (!stopped()) {
      std::vector<Box> boxes;
      while (boxes.size() < k_boxes_at_once && !boxes_.empty() && promising(boxes_.front())) boxes.push_back(pop());
      if (boxes.empty()) break;
      std::vector<std::optional<Findings>> findings = crew_.explored(boxes, likely_next());
      for (std::size_t i = 0; i < boxes.size(); ++i) {
        if (findings[i]) {
          take(std::move(*findings[i]), boxes[i]);
          ++done;
        } else {
          push(std::move(boxes[i]));
        }
      }
      if (request_.progress) request_.progress(done, done + boxes_.size());
    }
    for (const Box& box : boxes_)
      add_with_twins({{.first = box.first, .count = box.count, .kind = CellKind::pruned, .bound = box.bound}}, box);
    boxes_.clear();
  }

  bool promising(const Box& box) const { return request_.exhaustive || box.bound < cutoff(); }

  void push(Box box) {
    boxes_.push_back(std::move(box));
    std::push_heap(boxes_.begin(), boxes_.end());
  }
  Box pop() {
    std::pop_heap(boxes_.begin(), boxes_.end());
    Box box = std::move(boxes_.back());
    boxes_.pop_back();
    return box;
  }

  // Those that would be taken next if nothing came between, in this order: a box of a heap is taken after the one at
  // half its place.
  std::vector<Box> likely_next() const {
    const auto later = [&](std::size_t a, std::size_t b) { return boxes_[a] < boxes_[b]; };
    std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> places(later);
    if (!boxes_.empty()) places.push(0);
    std::vector<Box> next;
    const std::size_t most = crew_.ahead();
    while (next.size() < most && !places.empty() && promising(boxes_[places.top()])) {
      const std::size_t place = places.top();
      places.pop();
      next.push_back(boxes_[place]);
      for (const std::size_t below : {2 * place + 1, 2 * place + 2})
        if (below < boxes_.size()) places.push(below);
    }
    return next;
  }

  void take(Findings findings, const Box& box) {
    for (Box& each : findings.boxes) push(std::move(each));
    merge(findings.refusals, refusals_);
    // Cells and computed plans lie side by side, each in order.
    std::vector<Cell> cells;
    auto next = findings.cells.begin();
    for (const Computed& plan : findings.computed) {
      for (; next != findings.cells.end() && next->first < plan.point; ++next) append(*next, cells);
      append(cell_of(plan), cells);
    }
    for (; next != findings.cells.end(); ++next) append(*next, cells);
    answer_.evaluated += findings.computed.size();
    too_large_.insert(too_large_.end(), findings.too_large.begin(), findings.too_large.end());
    if (too_large_.size() >= k_most_known) refuse_too_large();
    if (box.state == Box::State::pipeline) answer_.collapsed += box.twins.size() * box.count;
    add_with_twins(cells, box);
  }

  Cell cell_of(const Computed& plan) {
    Cell cell{.first = plan.point, .kind = CellKind::evaluated, .bound = plan.time};
    if (improves({.point = plan.point, .time = plan.time})) {
      const std::optional<double> peak = peak_of(plan.point);
      if (!peak) {
        cell.kind = CellKind::unfit;
        first().refuse_memory(plan.point, first().trials().memory().device_peak, refusals_);
        return cell;
      }
      consider({.point = plan.point, .time = plan.time, .memory_bytes = *peak});
    }
    known_.push_back(plan);
    if (known_.size() >= k_most_known) known_ = front();
    return cell;
  }

  void add_with_twins(const std::vector<Cell>& cells, const Box& box) {
    for (const Cell& cell : cells) append(cell, cells_);
    for (const std::uint64_t twin : box.twins)
      for (Cell cell : cells) {
        cell.first += twin - box.first;
        append(cell, cells_);
      }
  }

  // ---- what was found ----
  struct Found {
    std::uint64_t point = 0;
    Picoseconds time = 0;
    double memory_bytes = 0.0;
  };

  // A plan that is not faster is of no interest.
  Picoseconds cutoff() const { return best_.size() < request_.top ? k_unbeaten : best_.back().time; }

  static bool before(const Found& a, const Found& b) { return a.time != b.time ? a.time < b.time : a.point < b.point; }
  std::vector<Found>::iterator best_of_kind(std::uint64_t point) {
    const std::uint64_t kind = first().kind_of(point);
    return std::find_if(best_.begin(), best_.end(),
                        [&](const Found& each) { return first().kind_of(each.point) == kind; });
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

  // Counts the plans that are too large by their floors. The memory of those that may lack less than any known is
  // computed, so that the one that lacks the least is told.
  void refuse_too_large() {
    std::sort(too_large_.begin(), too_large_.end(), [](const TooLarge& a, const TooLarge& b) {
      return std::tie(a.memory_floor, a.point) < std::tie(b.memory_floor, b.point);
    });
    // Asked to end, it looks at a few of them.
    constexpr std::size_t k_looked_at = 16;
    const std::size_t end = stopped() ? std::min(k_looked_at, too_large_.size()) : too_large_.size();
    for (std::size_t i = 0; i < end; ++i) first().refuse_too_large(too_large_[i], refusals_);
    if (end < too_large_.size()) refusals_.at({CellKind::unfit, "memory"}).count += too_large_.size() - end;
    too_large_.clear();
  }

  // What the fullest device holds under the plan of a point, which is the one made last then; empty: more than it has.
  // Playing an allocator takes longer than all else, and is done once.
  std::optional<double> peak_of(std::uint64_t point) {
    const auto [slot, fresh] = peaks_.try_emplace(point);
    if (!fresh && slot->second) return slot->second;
    first().trials().make(first().choice_of(point));
    if (!fresh) return std::nullopt;
    const predict::MemoryReport report = first().trials().memory();
    if (predict::fits(report)) slot->second = report.device_peak;
    return slot->second;
  }

  Plan plan(const Found& found) {
    Plan plan{.point = found.point,
              .strategy = first().choice_of(found.point),
              .settings = first().settings_of(found.point),
              .time = found.time,
              .memory_bytes = found.memory_bytes};
    first().trials().make(plan.strategy);
    plan.strategy.dp = first().trials().strategy().data;
    const bool said = std::any_of(plan.settings.begin(), plan.settings.end(),
                                  [](const auto& setting) { return setting.first == "dp"; });
    if (!said) plan.settings.emplace_back("dp", fmt::format("{}", *plan.strategy.dp));
    return plan;
  }

  void finish() {
    answer_.complete = !stopped_;
    refuse_too_large();
    for (const Found& found : best_) answer_.top.push_back(plan(found));
    for (const Computed& each : front())
      answer_.pareto.push_back(
          plan({.point = each.point, .time = each.time, .memory_bytes = peaks_.at(each.point).value_or(0.0)}));
    for (const auto& [reason, refusal] : refusals_) answer_.refusals.push_back(refusal);
    std::stable_sort(answer_.refusals.begin(), answer_.refusals.end(),
                     [](const Refusal& a, const Refusal& b) { return a.count > b.count; });
    for (const Cell& cell : cells_) answer_.counts[static_cast<std::size_t>(cell.kind)] += cell.count;
    answer_.certificate = merged(std::move(cells_));
    answer_.verdict = check(answer_.certificate, answer_.points);
    if (!request_.contention) return;
    core::work_on_all(answer_.top.size(), request_.threads, request_.stop,
                      [&](std::size_t i) { answer_.top[i].contended = contended(answer_.top[i].strategy); });
  }

  // Of the plans known, which fit: the fastest, and each further one that holds less than all before it. Their peaks are
  // known then.
  std::vector<Computed> front() {
    std::sort(known_.begin(), known_.end(), [](const Computed& a, const Computed& b) {
      return std::tie(a.time, a.least_memory, a.point) < std::tie(b.time, b.least_memory, b.point);
    });
    std::vector<Computed> front;
    double least = std::numeric_limits<double>::infinity();
    for (const Computed& each : known_) {
      if (each.least_memory >= least) continue;
      const std::optional<double> peak = peak_of(each.point);
      if (!peak || *peak >= least) continue;
      least = *peak;
      front.push_back(each);
    }
    return front;
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

  const Request& request_;
  Crew crew_;
  std::vector<Box> boxes_;  // a heap, in front the one to take first
  std::vector<Cell> cells_;
  std::vector<Found> best_;      // of each kind the best, sorted
  std::vector<Computed> known_;  // evaluated plans that may fit and may be in the front
  std::unordered_map<std::uint64_t, std::optional<double>> peaks_;
  Refusals refusals_;
  std::vector<TooLarge> too_large_;  // not in `refusals_` yet
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

Subject subject_of(const experiment::Parts& parts, const experiment::Training& training) {
  const software::Capabilities& can = parts.software.framework.capabilities;
  return {.gpus = parts.machine.network.gpus(),
          .gpus_per_node = parts.machine.network.gpus_per_node,
          .layers = parts.model.layers,
          .batch = sequences_of(training),
          .tokens = training.seq_len,
          .experts = parts.model.moe ? parts.model.moe->experts : 0,
          .sequence_parallel = can.sequence_parallel,
          .selective_recompute = can.selective_recompute,
          .interleaved = can.interleaved,
          .zero = can.zero};
}

}  // namespace cairn::search
