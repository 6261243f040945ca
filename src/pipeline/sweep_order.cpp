#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "cairn/pipeline/sweep.h"
#include "repetition.h"

namespace cairn::pipeline {
namespace {

constexpr std::int32_t k_not_yet = -1;

class Orderer {
 public:
  explicit Orderer(const Schedule& schedule)
      : schedule_(schedule),
        cursor_(schedule.row_begin.begin(), schedule.row_begin.end() - 1),
        stride_(static_cast<std::size_t>(schedule.micro_batches) + k_apart),
        activation_(static_cast<std::size_t>(schedule.virtual_stages()) * stride_, k_not_yet),
        gradient_(activation_.size(), k_not_yet) {
    order_.stages = schedule.stages;
    order_.virtual_stages = schedule.virtual_stages();
    order_.steps.reserve(schedule.operations.size());
    for (std::int32_t stage = 0; stage < schedule.virtual_stages(); ++stage) {
      const std::int32_t place = stage % schedule.chain_length;
      borders_.push_back({.begins = place == 0, .ends = place == schedule.chain_length - 1});
    }
    for (std::int32_t row = 0; row < schedule.rows(); ++row) order_.row_device.push_back(schedule.device_of_row(row));
    if (!schedule.waits.empty()) {
      position_.assign(schedule.operations.size(), k_not_yet);
      wait_begin_.assign(schedule.operations.size() + 1, 0);
      for (const Wait& wait : schedule.waits) ++wait_begin_[wait.operation + 1];
      std::partial_sum(wait_begin_.begin(), wait_begin_.end(), wait_begin_.begin());
    }
  }

  SweepOrder run() {
    if (!runs_through()) raise_deadlock();
    return std::move(order_);
  }

  bool runs_through() {
    while (order_.steps.size() < schedule_.operations.size())
      if (!run_slot()) return false;
    return true;
  }

 private:
  static constexpr std::int32_t k_no_producer = -1;
  // Rows of a power of two of entries would all meet in a few sets of the caches: tables are one line wider, and the
  // operations of rows to come are fetched ahead.
  static constexpr std::size_t k_apart = 16;
  static constexpr std::int32_t k_rows_ahead = 8;

  std::int32_t stage_of(std::int32_t row, const Operation& operation) const {
    return schedule_.virtual_stage(order_.row_device[row], operation.chunk);
  }

  // Where the result that the operation awaits is recorded; null when it awaits none from a neighbouring stage.
  const std::int32_t* awaited(const Operation& operation, std::int32_t stage) const {
    if (operation.phase == Phase::forward)
      return borders_[stage].begins ? nullptr : &activation_[key(stage - 1, operation)];
    if (!sends_gradient(operation.phase) || borders_[stage].ends) return nullptr;
    return &gradient_[key(stage + 1, operation)];
  }

  std::span<const Wait> waits_of(std::int32_t operation) const {
    if (wait_begin_.empty()) return {};
    return std::span(schedule_.waits)
        .subspan(wait_begin_[operation], wait_begin_[operation + 1] - wait_begin_[operation]);
  }

  // Nothing that the operation awaits from elsewhere is still to come, or comes in this slot.
  bool can_start(std::int32_t row, std::int32_t operation, std::int32_t slot_begin) const {
    const auto done = [&](std::int32_t position) { return position != k_not_yet && position < slot_begin; };
    const Operation& what = schedule_.operations[operation];
    const std::int32_t* const producer = awaited(what, stage_of(row, what));
    if (producer != nullptr && !done(*producer)) return false;
    const std::span<const Wait> waits = waits_of(operation);
    return std::all_of(waits.begin(), waits.end(), [&](const Wait& wait) { return done(position_[wait.on]); });
  }

  void place(std::int32_t row, std::int32_t operation) {
    const Operation& what = schedule_.operations[operation];
    const std::int32_t stage = stage_of(row, what);
    const auto position = static_cast<std::int32_t>(order_.steps.size());
    const std::int32_t* const producer = awaited(what, stage);
    order_.steps.push_back({.device = row,
                            .operation = what,
                            .virtual_stage = stage,
                            .producer = producer == nullptr ? k_no_producer : *producer});
    if (what.phase == Phase::forward) activation_[key(stage, what)] = position;
    if (sends_gradient(what.phase)) gradient_[key(stage, what)] = position;
    if (position_.empty()) return;
    position_[operation] = position;
    for (const Wait& wait : waits_of(operation))
      order_.waits.push_back({.operation = position, .on = position_[wait.on]});
  }

  // One unit of time: every row starts its next operation if that awaits nothing from this slot on.
  bool run_slot() {
    const auto slot_begin = static_cast<std::int32_t>(order_.steps.size());
    const Operation* const operations = schedule_.operations.data();
    for (std::int32_t row = 0; row < schedule_.rows(); ++row) {
      const std::int32_t next = cursor_[row];
      if (row + k_rows_ahead < schedule_.rows()) __builtin_prefetch(operations + cursor_[row + k_rows_ahead]);
      if (next == schedule_.row_begin[row + 1] || !can_start(row, next, slot_begin)) continue;
      const bool joined = schedule_.operations[next].joined;
      if (joined && !can_start(row, next + 1, slot_begin)) continue;
      place(row, next);
      if (joined) place(row, next + 1);
      cursor_[row] += joined ? 2 : 1;
    }
    return std::ssize(order_.steps) > slot_begin;
  }

  bool finished(std::int32_t row) const { return cursor_[row] == schedule_.row_begin[row + 1]; }

  struct Blocked {
    std::int32_t operation = 0;  // the one of this row that cannot start
    std::int32_t row = 0;        // that should run what it awaits
  };

  Blocked blocked_at(std::int32_t row) const {
    const auto now = static_cast<std::int32_t>(order_.steps.size());
    const std::int32_t operation = cursor_[row] + (can_start(row, cursor_[row], now) ? 1 : 0);
    const Operation& what = schedule_.operations[operation];
    const std::int32_t stage = stage_of(row, what);
    if (const std::int32_t* const producer = awaited(what, stage); producer != nullptr && *producer == k_not_yet)
      return {.operation = operation,
              .row = devices_of_virtual_stages(schedule_)[what.phase == Phase::forward ? stage - 1 : stage + 1]};
    for (const Wait& wait : waits_of(operation)) {
      if (position_[wait.on] != k_not_yet) continue;
      const auto behind = std::upper_bound(schedule_.row_begin.begin(), schedule_.row_begin.end(), wait.on);
      return {.operation = operation, .row = static_cast<std::int32_t>(behind - schedule_.row_begin.begin()) - 1};
    }
    return {.operation = operation, .row = row};  // joined with what awaits it
  }

  // Every unfinished row waits for another one: following who waits for whom ends in a cycle.
  [[noreturn]] void raise_deadlock() const {
    std::int32_t row = 0;
    while (finished(row)) ++row;
    std::vector<std::int32_t> path;
    std::vector<std::int32_t> operations;
    while (std::find(path.begin(), path.end(), row) == path.end()) {
      const Blocked blocked = blocked_at(row);
      path.push_back(row);
      operations.push_back(blocked.operation);
      row = blocked.row;
      if (finished(row)) raise_missing(path.back(), blocked.operation, row);
    }
    std::string cycle;
    const auto begin = std::find(path.begin(), path.end(), row);
    for (auto it = begin; it != path.end(); ++it)
      cycle += row_name(*it) + " at " + describe(schedule_.operations[operations[it - path.begin()]]) + " waits for ";
    throw core::ConfigurationError("schedule", "the order lists wait for each other: " + cycle + row_name(row),
                                   "list the awaited operation earlier on one of these devices");
  }

  std::string row_name(std::int32_t row) const {
    return (row < schedule_.stages ? "device " : "the copies of device ") + std::to_string(order_.row_device[row]);
  }

  [[noreturn]] void raise_missing(std::int32_t waiting, std::int32_t operation, std::int32_t ended) const {
    throw core::ConfigurationError("schedule",
                                   row_name(waiting) + " at " + describe(schedule_.operations[operation]) +
                                       " waits for what " + row_name(ended) + " never runs",
                                   "list the missing operation on that device");
  }

  std::size_t key(std::int32_t stage, const Operation& operation) const {
    return static_cast<std::size_t>(stage) * stride_ + operation.micro_batch;
  }

  // Whether a virtual stage is the first of its chain, or the last.
  struct Borders {
    bool begins = false;
    bool ends = false;
  };

  const Schedule& schedule_;
  std::vector<Borders> borders_;          // by virtual stage
  std::vector<std::int32_t> cursor_;      // per row: next operation
  std::size_t stride_;                    // of the two tables
  std::vector<std::int32_t> activation_;  // position of forward, by (virtual stage, micro-batch)
  std::vector<std::int32_t> gradient_;    // position of backward or input gradient
  std::vector<std::int32_t> position_;    // of every operation; empty where there are no waits
  std::vector<std::int32_t> wait_begin_;  // offsets into the waits, by operation
  SweepOrder order_;
};

}  // namespace

SweepOrder sweep_order(const Schedule& schedule) {
  SweepOrder order = Orderer(schedule).run();
  if (order.waits.empty()) order.repetitions = find_repetitions(order.steps);
  return order;
}

bool runs_through(const Schedule& schedule) { return Orderer(schedule).runs_through(); }

}  // namespace cairn::pipeline
