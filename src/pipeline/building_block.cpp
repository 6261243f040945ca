#include "building_block.h"

#include <algorithm>
#include <queue>
#include <tuple>

#include "cairn/core/assert.h"

namespace cairn::pipeline::building_block {
namespace {

constexpr std::int32_t k_operations = 4;  // of a micro-batch on a device, weight gradients aside

constexpr bool is_forward(std::int32_t operation) { return operation % k_operations < 2; }
// Chunk 0, 1, 1, 0.
constexpr std::int32_t chunk(std::int32_t operation) {
  const std::int32_t k = operation % k_operations;
  return k == 1 || k == 2 ? 1 : 0;
}

// Goes through a device's slots and says, of each, which operation it holds and whether the weight gradient of an
// earlier one takes it: visit(operation or -1, input gradient whose weight gradient runs or -1).
template <typename Visit>
void walk(std::span<const std::int32_t> at, Visit visit) {
  // Of the weight gradients due, those of chunk 1 come first: they hold what was saved last, and end first.
  std::array<std::queue<std::int32_t>, 2> due;
  const auto take = [&] {
    for (std::queue<std::int32_t>* queue : {&due[1], &due[0]}) {
      if (queue->empty()) continue;
      const std::int32_t operation = queue->front();
      queue->pop();
      return operation;
    }
    return -1;
  };
  for (const std::int32_t operation : at) {
    if (operation < 0) {
      visit(-1, take());
      continue;
    }
    visit(operation, -1);
    if (!is_forward(operation)) due[chunk(operation)].push(operation);
  }
  for (std::int32_t left = take(); left >= 0; left = take()) visit(-1, left);
}

}  // namespace

Plan::Plan(std::span<const Offsets> offsets, std::int32_t period, std::int32_t micro_batches)
    : micro_batches_(micro_batches) {
  for (const Offsets& offset : offsets) {
    Device device;
    const std::int32_t last = *std::max_element(offset.begin(), offset.end()) + period * (micro_batches - 1);
    device.at.assign(last + 1, k_free);
    device.slot_of.resize(std::size_t{k_operations} * micro_batches);
    for (std::int32_t i = 0; i < micro_batches; ++i)
      for (std::int32_t k = 0; k < k_operations; ++k) {
        const std::int32_t slot = offset[k] + i * period;
        CAIRN_ASSERT(device.at[slot] == k_free);
        device.at[slot] = k_operations * i + k;
        device.slot_of[k_operations * i + k] = slot;
      }
    most_alive_ = std::max(most_alive_, peak(device));
    devices_.push_back(std::move(device));
  }
}

std::int32_t Plan::peak(const Device& device) const {
  std::int32_t alive = 0;
  std::int32_t most = 0;
  walk(device.at, [&](std::int32_t operation, std::int32_t weight) {
    if (operation >= 0 && is_forward(operation)) most = std::max(most, ++alive);
    if (weight >= 0) --alive;
  });
  return most;
}

// The last slot whose operation this one has to wait for; -1: none.
std::int32_t Plan::awaited_until(std::int32_t device, std::int32_t operation) const {
  const std::int32_t k = operation % k_operations;
  const auto p = static_cast<std::int32_t>(devices_.size());
  std::int32_t until = -1;
  const std::int32_t neighbour = k == 0 || k == 2 ? device - 1 : device + 1;
  if (neighbour >= 0 && neighbour < p) until = devices_[neighbour].slot_of[operation];
  if (k > 0) until = std::max(until, devices_[device].slot_of[operation - 1]);
  if (operation >= k_operations) until = std::max(until, devices_[device].slot_of[operation - k_operations]);
  return until;
}

void Plan::move(Device& device, std::int32_t operation, std::int32_t slot) {
  device.at[device.slot_of[operation]] = k_free;
  device.at[slot] = operation;
  device.slot_of[operation] = slot;
}

bool Plan::move_earlier(std::int32_t index, std::int32_t operation) {
  Device& device = devices_[index];
  const std::int32_t from = device.slot_of[operation];
  for (std::int32_t slot = awaited_until(index, operation) + 1; slot < from; ++slot) {
    if (device.at[slot] != k_free) continue;
    move(device, operation, slot);
    if (peak(device) <= most_alive_) return true;
    move(device, operation, from);
  }
  return false;
}

void Plan::reorder() {
  std::vector<std::tuple<std::int32_t, std::int32_t, std::int32_t>> order;  // slot, device, operation
  for (std::int32_t device = 0; device < std::ssize(devices_); ++device)
    for (std::int32_t i = 0; i < std::ssize(devices_[device].slot_of); ++i)
      order.emplace_back(devices_[device].slot_of[i], device, i);
  std::sort(order.begin(), order.end());
  for (const auto& [slot, device, operation] : order) move_earlier(device, operation);
}

std::vector<Operation> Plan::row(std::int32_t device) const {
  std::vector<Operation> operations;
  operations.reserve(std::size_t{6} * micro_batches_);
  walk(devices_[device].at, [&](std::int32_t operation, std::int32_t weight) {
    const std::int32_t which = operation >= 0 ? operation : weight;
    if (which < 0) return;
    const Phase phase = weight >= 0             ? Phase::weight_gradient
                        : is_forward(operation) ? Phase::forward
                                                : Phase::input_gradient;
    operations.push_back({.phase = phase, .chunk = chunk_number(chunk(which)), .micro_batch = which / k_operations});
  });
  return operations;
}

}  // namespace cairn::pipeline::building_block
