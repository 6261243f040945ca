#include "cairn/program/side_rows.h"

#include <algorithm>
#include <span>

#include "cairn/core/assert.h"

namespace cairn::program {
namespace {

using pipeline::Operation;
using pipeline::Phase;
using Place = SideEntry::Place;

constexpr std::int32_t k_none = -1;

bool reads_parameters(Phase phase) { return phase == Phase::forward || pipeline::sends_gradient(phase); }
bool is_copy(Phase phase) { return phase == Phase::offload || phase == Phase::reload; }

struct SideTask {
  std::int32_t operation = 0;
  std::int32_t gap = 0;          // the gap of the device's row in which it is issued
  std::int32_t serves = k_none;  // position in the device's row of the operation that waits for it; k_none: none does
  // Positions in the same row (its begin or end if there is none): where the previous transfer out of the same chunk is
  // issued; which operation waits for the next transfer in, of the same chunk, and of any chunk.
  std::int32_t taken_before = 0;
  std::int32_t brought_again = 0;
  std::int32_t brought_next = 0;
};

class Merge {
 public:
  Merge(const pipeline::Schedule& schedule, std::int32_t device, const std::vector<std::int32_t>& waiters)
      : schedule_(schedule), begin_(schedule.row_begin[device]), row_(schedule.row(device)) {
    for (std::int32_t row = schedule.stages; row < schedule.rows(); ++row)
      if (schedule.device_of_row(row) == device) collect(row, waiters);
    list_users();
    find_neighbours();
  }

  std::vector<SideEntry> entries() {
    for (std::size_t k = 0; k < tasks_.size(); ++k) {
      if (tasks_[k].serves != k_none)
        add_brought(k);
      else
        add_taken(k);
    }
    std::stable_sort(entries_.begin(), entries_.end(), [](const SideEntry& a, const SideEntry& b) {
      return a.gap != b.gap ? a.gap < b.gap : a.place < b.place;
    });
    return std::move(entries_);
  }

 private:
  const Operation& operation(const SideTask& task) const {
    return schedule_.operations[static_cast<std::size_t>(task.operation)];
  }

  void collect(std::int32_t row, const std::vector<std::int32_t>& waiters) {
    std::int32_t gap = 0;
    for (std::int32_t i = schedule_.row_begin[row]; i < schedule_.row_begin[row + 1]; ++i) {
      const auto [first, last] =
          std::equal_range(schedule_.waits.begin(), schedule_.waits.end(), pipeline::Wait{.operation = i},
                           [](const pipeline::Wait& a, const pipeline::Wait& b) { return a.operation < b.operation; });
      for (auto wait = first; wait != last; ++wait) gap = std::max(gap, wait->on - begin_ + 1);
      const std::int32_t waiter = waiters[static_cast<std::size_t>(i)];
      tasks_.push_back({.operation = i, .gap = gap, .serves = waiter < 0 ? k_none : waiter - begin_});
      CAIRN_ASSERT(waiter < 0 || gap <= tasks_.back().serves);
    }
  }

  void list_users() {
    readers_.resize(static_cast<std::size_t>(schedule_.chunks));
    makers_.resize(readers_.size());
    for (std::size_t i = 0; i < row_.size(); ++i) {
      const auto chunk = static_cast<std::size_t>(row_[i].chunk);
      if (reads_parameters(row_[i].phase)) readers_[chunk].push_back(static_cast<std::int32_t>(i));
      if (makes_gradients(row_[i].phase)) makers_[chunk].push_back(static_cast<std::int32_t>(i));
    }
  }

  void find_neighbours() {
    constexpr std::int32_t k_begin = 0;
    const auto end = static_cast<std::int32_t>(row_.size());
    std::vector<std::int32_t> taken(readers_.size(), k_begin);
    for (SideTask& task : tasks_) {
      std::int32_t& last = taken[chunk_of(task)];
      task.taken_before = last;
      if (task.serves == k_none) last = task.gap;
    }
    std::vector<std::int32_t> brought(readers_.size(), end);
    std::int32_t any = end;
    for (auto task = tasks_.rbegin(); task != tasks_.rend(); ++task) {
      std::int32_t& next = brought[chunk_of(*task)];
      task->brought_again = next;
      task->brought_next = any;
      if (task->serves != k_none) next = any = task->serves;
    }
  }

  std::size_t chunk_of(const SideTask& task) const { return static_cast<std::size_t>(operation(task).chunk); }

  void add(std::int32_t gap, Place place, const SideTask& task, PassKind side) {
    entries_.push_back({.gap = gap, .place = place, .operation = task.operation, .side = side});
  }

  void add_brought(std::size_t k) {
    const SideTask& task = tasks_[k];
    add(task.gap, Place::issue, task, PassKind::fetch);
    add(task.serves, Place::ahead, task, PassKind::fetched);
    if (!is_copy(operation(task).phase)) add(last_reader(task) + 1, Place::behind, task, PassKind::release);
  }

  // The last operation of the row that reads the parameters of a transfer in.
  std::int32_t last_reader(const SideTask& task) const {
    const std::vector<std::int32_t>& readers = readers_[chunk_of(task)];
    const auto behind = std::lower_bound(readers.begin(), readers.end(), task.brought_again);
    return behind == readers.begin() ? task.serves : std::max(*(behind - 1), task.serves);
  }

  void add_taken(std::size_t k) {
    const SideTask& task = tasks_[k];
    const bool copies = is_copy(operation(task).phase);
    if (!copies) add(first_maker(task), Place::ahead, task, PassKind::reserve);
    add(task.gap, Place::issue, task, PassKind::send);
    // Computation waits for the end of a copy before the next copy begins, and for the end of an exchange before it
    // uses the next data that come in.
    const bool another = k + 1 < tasks_.size();
    if (copies && another && tasks_[k + 1].serves == k_none)
      add(tasks_[k + 1].gap, Place::issue, task, PassKind::sent);
    else
      add(task.brought_next, Place::ahead, task, PassKind::sent);
  }

  // The first operation of the row that computes the gradients of a transfer out.
  std::int32_t first_maker(const SideTask& task) const {
    const std::vector<std::int32_t>& makers = makers_[chunk_of(task)];
    const auto first = std::lower_bound(makers.begin(), makers.end(), task.taken_before);
    CAIRN_ASSERT(first != makers.end() && *first < task.gap);
    return *first;
  }

  const pipeline::Schedule& schedule_;
  std::int32_t begin_;
  std::span<const Operation> row_;
  std::vector<SideTask> tasks_;                     // in the order of the side row
  std::vector<std::vector<std::int32_t>> readers_;  // of parameters, ascending in the row, by chunk
  std::vector<std::vector<std::int32_t>> makers_;   // of gradients
  std::vector<SideEntry> entries_;
};

}  // namespace

std::vector<std::int32_t> first_waiters(const pipeline::Schedule& schedule) {
  std::vector<std::int32_t> waiters(schedule.operations.size(), k_none);
  for (const pipeline::Wait& wait : schedule.waits) {  // ascending
    std::int32_t& first = waiters[static_cast<std::size_t>(wait.on)];
    if (first == k_none) first = wait.operation;
  }
  return waiters;
}

std::vector<SideEntry> side_entries(const pipeline::Schedule& schedule, std::int32_t device,
                                    const std::vector<std::int32_t>& waiters) {
  return Merge(schedule, device, waiters).entries();
}

bool PassOrder::can_merge(const pipeline::Schedule& schedule) {
  const auto row_of = [&](std::int32_t operation) {
    const auto behind = std::upper_bound(schedule.row_begin.begin(), schedule.row_begin.end(), operation);
    return static_cast<std::int32_t>(behind - schedule.row_begin.begin()) - 1;
  };
  std::vector<char> has_one(static_cast<std::size_t>(schedule.stages), 0);
  for (const std::int32_t device : schedule.side_rows) {
    if (has_one[static_cast<std::size_t>(device)] != 0) return false;
    has_one[static_cast<std::size_t>(device)] = 1;
  }
  for (std::int32_t row = 0; row < schedule.rows(); ++row)
    for (const Operation& operation : schedule.row(row))
      if ((row >= schedule.stages) != (operation.phase == Phase::communication || is_copy(operation.phase)))
        return false;
  return std::all_of(schedule.waits.begin(), schedule.waits.end(), [&](const pipeline::Wait& wait) {
    const std::int32_t row = row_of(wait.operation);
    const std::int32_t on = row_of(wait.on);
    return schedule.device_of_row(row) == schedule.device_of_row(on) &&
           (row >= schedule.stages) != (on >= schedule.stages);
  });
}

}  // namespace cairn::program
