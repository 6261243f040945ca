#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "cairn/pipeline/sweep.h"

namespace cairn::pipeline {
namespace {

// What the chain passes on: an operation awaits a result of its own sort from the neighbouring stage, and leaves one.
enum Sort : std::uint8_t { k_activation, k_gradient, k_neither };
constexpr std::int32_t k_sorts = 3;
constexpr std::array<Sort, k_phases> k_sort_of = [] {
  std::array<Sort, k_phases> sorts{};
  for (std::int32_t i = 0; i < k_phases; ++i) {
    const auto phase = static_cast<Phase>(i);
    sorts[i] = phase == Phase::forward ? k_activation : sends_gradient(phase) ? k_gradient : k_neither;
  }
  return sorts;
}();

// Positions of what an operation awaits: earlier than any slot where it awaits nothing, later than all where it is
// still to come.
constexpr std::int32_t k_nothing = -1;
constexpr std::int32_t k_not_yet = std::numeric_limits<std::int32_t>::max();

class Orderer {
 public:
  enum class Keep : std::uint8_t { steps, none };

  Orderer(const Schedule& schedule, Keep keep)
      : schedule_(schedule),
        stride_(stride_for(schedule.micro_batches)),
        results_((std::size_t{2} * static_cast<std::size_t>(schedule.virtual_stages()) + 1) * stride_, k_not_yet),
        keep_(keep) {
    order_.stages = schedule.stages;
    order_.virtual_stages = schedule.virtual_stages();
    order_.chunks = schedule.chunks;
    if (keep == Keep::steps) order_.steps.reserve(schedule.operations.size());
    std::fill(results_.end() - static_cast<std::ptrdiff_t>(stride_), results_.end(), k_nothing);
    places_.reserve(static_cast<std::size_t>(schedule.rows()) * static_cast<std::size_t>(schedule.chunks));
    for (std::int32_t row = 0; row < schedule.rows(); ++row) add_row(row);
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
    while (placed_ < std::ssize(schedule_.operations))
      if (!run_slot()) return false;
    return true;
  }

 private:
  // Rows of a power of two of entries would all meet in a few sets of the caches: tables of whole lines are one line
  // wider, and the operations of rows to come are fetched ahead.
  static constexpr std::size_t k_line = 16;
  static constexpr std::size_t k_rows_ahead = 8;

  static std::size_t stride_for(std::int32_t micro_batches) {
    const auto width = static_cast<std::size_t>(micro_batches);
    return width + (width % k_line == 0 ? k_line : 0);
  }

  // Where the operations of a chunk of a row find the positions of what they await, and leave their own; by sort and
  // micro-batch, those that pass nothing on at one place.
  struct Place {
    std::array<const std::int32_t*, k_sorts> in;
    std::array<std::int32_t*, k_sorts> out;
  };
  struct Cursor {
    const Operation* next = nullptr;
    const Operation* end = nullptr;
    const Place* places = nullptr;  // by chunk
  };

  void add_row(std::int32_t row) {
    const Operation* const operations = schedule_.operations.data();
    const std::int32_t device = schedule_.device_of_row(row);
    order_.row_device.push_back(device);
    cursors_.push_back({.next = operations + schedule_.row_begin[row],
                        .end = operations + schedule_.row_begin[row + 1],
                        .places = places_.data() + places_.size()});
    std::int32_t* const activations = results_.data();
    std::int32_t* const gradients = activations + static_cast<std::size_t>(order_.virtual_stages) * stride_;
    const std::int32_t* const nothing = gradients + static_cast<std::size_t>(order_.virtual_stages) * stride_;
    for (std::int32_t chunk = 0; chunk < schedule_.chunks; ++chunk) {
      const std::int32_t stage = schedule_.virtual_stage(device, chunk);
      const std::int32_t in_chain = stage % schedule_.chain_length;
      const std::size_t here = static_cast<std::size_t>(stage) * stride_;
      order_.stage_of.push_back(stage);
      places_.push_back({.in = {in_chain == 0 ? nothing : activations + here - stride_,
                                in_chain == schedule_.chain_length - 1 ? nothing : gradients + here + stride_, nothing},
                         .out = {activations + here, gradients + here, &unread_}});
    }
  }

  // Where an operation finds and leaves results.
  struct Spot {
    const std::int32_t* in = nullptr;
    std::int32_t* out = nullptr;
  };
  static Spot spot_of(const Cursor& cursor, const Operation& operation) {
    const Place& place = cursor.places[operation.chunk];
    const Sort sort = k_sort_of[static_cast<std::size_t>(operation.phase)];
    const std::int32_t column = sort == k_neither ? 0 : operation.micro_batch;
    return {.in = place.in[sort] + column, .out = place.out[sort] + column};
  }

  std::span<const Wait> waits_of(std::int32_t operation) const {
    if (wait_begin_.empty()) return {};
    return std::span(schedule_.waits)
        .subspan(wait_begin_[operation], wait_begin_[operation + 1] - wait_begin_[operation]);
  }

  std::int32_t number(const Operation& operation) const {
    return static_cast<std::int32_t>(&operation - schedule_.operations.data());
  }

  // What the operation awaits beside its producer has been placed before the slot.
  bool waited(const Operation& operation, std::int32_t slot_begin) const {
    if (wait_begin_.empty()) return true;
    const std::span<const Wait> waits = waits_of(number(operation));
    return std::all_of(waits.begin(), waits.end(), [&](const Wait& wait) { return position_[wait.on] < slot_begin; });
  }

  void place(std::size_t row, const Operation& operation, const Spot& spot) {
    const std::int32_t position = placed_++;
    if (keep_ == Keep::steps)
      order_.steps.push_back({.device = static_cast<std::int32_t>(row), .operation = operation, .producer = *spot.in});
    *spot.out = position;
    if (!position_.empty()) note_waits(number(operation), position);
  }

  void note_waits(std::int32_t operation, std::int32_t position) {
    position_[operation] = position;
    if (keep_ == Keep::none) return;
    for (const Wait& wait : waits_of(operation))
      order_.waits.push_back({.operation = position, .on = position_[wait.on]});
  }

  // One unit of time: every row starts its next operation if nothing that it awaits is still to come, or comes in this
  // slot.
  bool run_slot() {
    const std::int32_t slot_begin = placed_;
    const std::size_t rows = cursors_.size();
    for (std::size_t row = 0; row < rows; ++row) {
      Cursor& cursor = cursors_[row];
      if (row + k_rows_ahead < rows) __builtin_prefetch(cursors_[row + k_rows_ahead].next);
      if (cursor.next == cursor.end) continue;
      const Operation& first = *cursor.next;
      const Spot spot = spot_of(cursor, first);
      if (*spot.in >= slot_begin || !waited(first, slot_begin)) continue;
      if (!first.joined) {
        place(row, first, spot);
        ++cursor.next;
        continue;
      }
      const Operation& second = cursor.next[1];
      const Spot second_spot = spot_of(cursor, second);
      if (*second_spot.in >= slot_begin || !waited(second, slot_begin)) continue;
      place(row, first, spot);
      place(row, second, second_spot);
      cursor.next += 2;
    }
    return placed_ > slot_begin;
  }

  bool finished(std::int32_t row) const { return cursors_[row].next == cursors_[row].end; }

  struct Blocked {
    std::int32_t operation = 0;  // the one of this row that cannot start
    std::int32_t row = 0;        // that should run what it awaits
  };

  bool lacks_result(std::int32_t row, const Operation& operation) const {
    return *spot_of(cursors_[row], operation).in == k_not_yet;
  }

  Blocked blocked_at(std::int32_t row) const {
    const Operation* what = cursors_[row].next;
    // The first of a joined pair may be ready.
    if (!lacks_result(row, *what) && waited(*what, placed_)) ++what;
    const std::int32_t operation = number(*what);
    if (lacks_result(row, *what)) {
      const std::int32_t stage = schedule_.virtual_stage(order_.row_device[row], what->chunk);
      return {.operation = operation,
              .row = devices_of_virtual_stages(schedule_)[what->phase == Phase::forward ? stage - 1 : stage + 1]};
    }
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

  const Schedule& schedule_;
  std::size_t stride_;                    // entries of the table per virtual stage
  std::vector<std::int32_t> results_;     // positions by micro-batch: activations and gradients of all stages, nothing
  std::vector<Place> places_;             // by [row * chunks + chunk]
  std::vector<Cursor> cursors_;           // per row: what is left
  std::vector<std::int32_t> position_;    // of every operation; empty where there are no waits
  std::vector<std::int32_t> wait_begin_;  // offsets into the waits, by operation
  std::int32_t placed_ = 0;
  std::int32_t unread_ = 0;  // positions of what passes nothing on
  Keep keep_;
  SweepOrder order_;
};

// The same operations of a later micro-batch.
struct Alike {
  const std::vector<SweepStep>& steps;

  std::int32_t size() const { return static_cast<std::int32_t>(steps.size()); }
  std::int32_t producer(std::int32_t i) const { return step(i).producer; }
  bool joined(std::int32_t i) const { return step(i).operation.joined; }
  bool repeats(std::int32_t i, std::int32_t period) const {
    const SweepStep& a = step(i);
    const SweepStep& b = step(i + period);
    return a.device == b.device && a.operation.phase == b.operation.phase && a.operation.chunk == b.operation.chunk &&
           a.operation.joined == b.operation.joined && a.operation.micro_batch < b.operation.micro_batch;
  }

 private:
  const SweepStep& step(std::int32_t i) const { return steps[static_cast<std::size_t>(i)]; }
};

}  // namespace

SweepOrder sweep_order(const Schedule& schedule) {
  SweepOrder order = Orderer(schedule, Orderer::Keep::steps).run();
  if (order.waits.empty()) order.repetitions = find_repetitions(Alike{order.steps});
  return order;
}

bool runs_through(const Schedule& schedule) { return Orderer(schedule, Orderer::Keep::none).runs_through(); }

void require_runs_through(const Schedule& schedule) { Orderer(schedule, Orderer::Keep::none).run(); }

}  // namespace cairn::pipeline
