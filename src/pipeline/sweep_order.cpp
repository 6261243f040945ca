#include <algorithm>
#include <string>
#include <vector>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "cairn/pipeline/sweep.h"
#include "repetition.h"

namespace cairn::pipeline {
namespace {

class Orderer {
 public:
  explicit Orderer(const Schedule& schedule)
      : schedule_(schedule),
        cursor_(schedule.row_begin.begin(), schedule.row_begin.end() - 1),
        activation_(static_cast<std::size_t>(schedule.virtual_stages()) * schedule.micro_batches, -1),
        gradient_(activation_.size(), -1) {
    order_.stages = schedule.stages;
    order_.virtual_stages = schedule.virtual_stages();
    order_.steps.reserve(schedule.operations.size());
  }

  SweepOrder run() {
    while (order_.steps.size() < schedule_.operations.size())
      if (!run_slot()) raise_deadlock();
    return std::move(order_);
  }

 private:
  static constexpr std::int32_t k_no_producer = -1;

  // Where the result that the operation awaits is recorded; null when it awaits none from a neighbouring stage.
  const std::int32_t* awaited(const Operation& operation, std::int32_t stage) const {
    const std::int32_t place = stage % schedule_.chain_length;
    if (operation.phase == Phase::forward) return place == 0 ? nullptr : &activation_[key(stage - 1, operation)];
    if (!sends_gradient(operation.phase) || place == schedule_.chain_length - 1) return nullptr;
    return &gradient_[key(stage + 1, operation)];
  }

  // One unit of time: every device starts its next operation if that awaits nothing from this slot on.
  bool run_slot() {
    const auto slot_begin = static_cast<std::int32_t>(order_.steps.size());
    for (std::int32_t device = 0; device < schedule_.stages; ++device) {
      if (cursor_[device] == schedule_.row_begin[device + 1]) continue;
      const Operation& operation = schedule_.operations[cursor_[device]];
      const std::int32_t stage = schedule_.virtual_stage(device, operation.chunk);
      const std::int32_t* const producer = awaited(operation, stage);
      if (producer != nullptr && (*producer < 0 || *producer >= slot_begin)) continue;
      const auto position = static_cast<std::int32_t>(order_.steps.size());
      if (operation.phase == Phase::forward) activation_[key(stage, operation)] = position;
      if (sends_gradient(operation.phase)) gradient_[key(stage, operation)] = position;
      order_.steps.push_back({.device = device,
                              .operation = operation,
                              .virtual_stage = stage,
                              .producer = producer == nullptr ? k_no_producer : *producer});
      ++cursor_[device];
    }
    return std::ssize(order_.steps) > slot_begin;
  }

  // Every unfinished device waits for another one: following who waits for whom ends in a cycle.
  [[noreturn]] void raise_deadlock() const {
    const std::vector<std::int32_t> device_of = devices_of_virtual_stages(schedule_);
    std::int32_t device = 0;
    while (cursor_[device] == schedule_.row_begin[device + 1]) ++device;
    std::vector<std::int32_t> path;
    while (std::find(path.begin(), path.end(), device) == path.end()) {
      path.push_back(device);
      const Operation& operation = schedule_.operations[cursor_[device]];
      const std::int32_t stage = schedule_.virtual_stage(device, operation.chunk);
      device = device_of[operation.phase == Phase::forward ? stage - 1 : stage + 1];
      if (cursor_[device] == schedule_.row_begin[device + 1]) raise_missing(path.back(), device);
    }
    std::string cycle;
    for (auto it = std::find(path.begin(), path.end(), device); it != path.end(); ++it)
      cycle += "device " + std::to_string(*it) + " at " + describe(schedule_.operations[cursor_[*it]]) + " waits for ";
    throw core::ConfigurationError("schedule",
                                   "the order lists wait for each other: " + cycle + "device " + std::to_string(device),
                                   "list the awaited operation earlier on one of these devices");
  }

  [[noreturn]] void raise_missing(std::int32_t waiting, std::int32_t finished) const {
    throw core::ConfigurationError("schedule",
                                   "device " + std::to_string(waiting) + " at " +
                                       describe(schedule_.operations[cursor_[waiting]]) + " waits for what device " +
                                       std::to_string(finished) + " never runs",
                                   "list the missing operation on that device");
  }

  std::size_t key(std::int32_t stage, const Operation& operation) const {
    return static_cast<std::size_t>(stage) * schedule_.micro_batches + operation.micro_batch;
  }

  const Schedule& schedule_;
  std::vector<std::int32_t> cursor_;      // per device: next operation
  std::vector<std::int32_t> activation_;  // position of forward, by (virtual stage, micro-batch); -1: not yet
  std::vector<std::int32_t> gradient_;    // position of backward or input gradient
  SweepOrder order_;
};

}  // namespace

SweepOrder sweep_order(const Schedule& schedule) {
  SweepOrder order = Orderer(schedule).run();
  order.repetitions = find_repetitions(order.steps);
  return order;
}

}  // namespace cairn::pipeline
