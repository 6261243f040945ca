// A schedule made of one micro-batch's slots, repeated: two chunks per device in a V, operations of one slot each.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cairn/pipeline/schedule.h"

namespace cairn::pipeline::building_block {

// Slots of the forward of chunk 0 and 1 and of the input gradient of chunk 1 and 0, of micro-batch 0.
using Offsets = std::array<std::int32_t, 4>;

class Plan {
 public:
  Plan(std::span<const Offsets> offsets, std::int32_t period, std::int32_t micro_batches);

  // Moves operations into earlier free slots where the peak of activations stays.
  void reorder();

  // The operations of a device in the order of their slots, weight gradients in the free ones.
  std::vector<Operation> row(std::int32_t device) const;

 private:
  static constexpr std::int32_t k_free = -1;
  // Position 4 * micro-batch + k of the offsets; weight gradients are not kept, they follow from the rest.
  struct Device {
    std::vector<std::int32_t> slot_of;  // of every operation
    std::vector<std::int32_t> at;       // operation in every slot, or k_free
  };

  std::int32_t awaited_until(std::int32_t device, std::int32_t operation) const;
  bool move_earlier(std::int32_t device, std::int32_t operation);
  void move(Device& device, std::int32_t operation, std::int32_t slot);
  std::int32_t peak(const Device& device) const;

  std::int32_t micro_batches_;
  std::int32_t most_alive_ = 0;
  std::vector<Device> devices_;
};

}  // namespace cairn::pipeline::building_block
