#include "fill_idle.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "cairn/core/assert.h"

namespace cairn::pipeline {
namespace {

class GapFiller {
 public:
  GapFiller(const Schedule& order, const Durations& durations)
      : order_(order),
        durations_(durations),
        device_of_(devices_of_virtual_stages(order)),
        activation_(static_cast<std::size_t>(order.virtual_stages()) * order.micro_batches, k_unknown),
        gradient_(activation_.size(), k_unknown),
        next_(order.row_begin.begin(), order.row_begin.end() - 1),
        due_(order.stages),
        rows_(order.stages) {}

  // Devices are served in the order of the instants at which they can decide something.
  std::vector<std::vector<Operation>> run() {
    for (std::int32_t device = 0; device < order_.stages; ++device) wake(0, device);
    while (!instants_.empty()) {
      const Instant now = instants_.top();
      instants_.pop();
      // Everything that ends now is known: it was entered when it began.
      if (free_at_[now.second] <= now.first) decide(now.first, now.second);
    }
    for (std::int32_t device = 0; device < order_.stages; ++device) {
      CAIRN_ASSERT(next_[device] == order_.row_begin[device + 1]);
      while (!due_[device].empty()) take_due(device);
    }
    return std::move(rows_);
  }

 private:
  static constexpr core::Picoseconds k_unknown = -1;
  using Instant = std::pair<core::Picoseconds, std::int32_t>;  // time, device

  void wake(core::Picoseconds at, std::int32_t device) { instants_.push({at, device}); }

  std::size_t key(std::int32_t stage, std::int32_t micro_batch) const {
    return static_cast<std::size_t>(stage) * order_.micro_batches + micro_batch;
  }

  // When the head of a list has what it needs; k_unknown before its producer has begun.
  core::Picoseconds ready(std::int32_t device) const {
    const Operation& head = order_.operations[next_[device]];
    const std::int32_t stage = order_.virtual_stage(device, head.chunk);
    const std::int32_t place = stage % order_.chain_length;
    const bool forward = head.phase == Phase::forward;
    if (place == (forward ? 0 : order_.chain_length - 1)) return 0;
    const std::int32_t from = forward ? stage - 1 : stage + 1;
    const core::Picoseconds end = (forward ? activation_ : gradient_)[key(from, head.micro_batch)];
    return end == k_unknown ? k_unknown : end + (device_of_[from] == device ? 0 : durations_.delay);
  }

  void decide(core::Picoseconds now, std::int32_t device) {
    core::Picoseconds& free = free_at_[device];
    if (next_[device] == order_.row_begin[device + 1]) return;
    const core::Picoseconds at = ready(device);
    if (at != k_unknown && at <= now) {
      const Operation head = order_.operations[next_[device]++];
      rows_[device].push_back(head);
      const bool forward = head.phase == Phase::forward;
      free = now + (forward ? durations_.forward : durations_.input_gradient);
      const std::int32_t stage = order_.virtual_stage(device, head.chunk);
      (forward ? activation_ : gradient_)[key(stage, head.micro_batch)] = free;
      if (!forward) due_[device].push(head);
      const std::int32_t to = forward ? stage + 1 : stage - 1;
      if (to >= 0 && to < order_.virtual_stages()) {
        wake(free, device_of_[to]);
        wake(free + durations_.delay, device_of_[to]);
      }
    } else if (!due_[device].empty()) {
      take_due(device);
      free = now + durations_.weight_gradient;
    } else {
      return;  // woken by what arrives
    }
    wake(free, device);
  }

  void take_due(std::int32_t device) {
    Operation operation = due_[device].front();
    due_[device].pop();
    operation.phase = Phase::weight_gradient;
    rows_[device].push_back(operation);
  }

  const Schedule& order_;
  Durations durations_;
  std::vector<std::int32_t> device_of_;
  std::vector<core::Picoseconds> activation_;  // end of forward, by (virtual stage, micro-batch)
  std::vector<core::Picoseconds> gradient_;    // end of input gradient
  std::vector<std::int32_t> next_;
  std::vector<std::queue<Operation>> due_;  // input gradients whose weight gradients have not begun
  std::vector<std::vector<Operation>> rows_;
  std::vector<core::Picoseconds> free_at_ = std::vector<core::Picoseconds>(order_.stages, 0);
  std::priority_queue<Instant, std::vector<Instant>, std::greater<>> instants_;
};

// The clock of the lists must reach the end of all operations one after the other, each with its weight gradient and
// message. Their order follows from ratios of durations, so that longer ones count in units of 2, 4, ...
Durations within_clock(Durations durations, std::size_t operations) {
  const std::array parts{&durations.forward, &durations.input_gradient, &durations.weight_gradient, &durations.delay};
  const auto most =
      std::numeric_limits<core::Picoseconds>::max() / (static_cast<core::Picoseconds>(parts.size() * operations) + 1);
  while (std::any_of(parts.begin(), parts.end(), [&](const core::Picoseconds* part) { return *part > most; }))
    for (core::Picoseconds* part : parts) *part /= 2;
  return durations;
}

}  // namespace

Schedule with_weight_gradients_in_gaps(Schedule order, const Durations& durations) {
  const std::vector<std::vector<Operation>> rows =
      GapFiller(order, within_clock(durations, order.operations.size())).run();
  order.operations.clear();
  order.row_begin.assign(1, 0);
  for (const std::vector<Operation>& row : rows) {
    order.operations.insert(order.operations.end(), row.begin(), row.end());
    order.row_begin.push_back(static_cast<std::int32_t>(order.operations.size()));
  }
  return order;
}

}  // namespace cairn::pipeline
