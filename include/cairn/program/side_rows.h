// Side rows merged into the order of their device's computation: what stands before and behind each of its operations.
#pragma once

#include <cstdint>
#include <vector>

#include "cairn/program/pass_order.h"

namespace cairn::program {

constexpr bool makes_gradients(pipeline::Phase phase) {
  return phase == pipeline::Phase::backward || phase == pipeline::Phase::weight_gradient;
}

// One entry of the merged order. `gap` g lies before operation g of the device's row, behind operation g - 1.
struct SideEntry {
  // Of one gap in this order.
  enum class Place : std::uint8_t { behind, issue, ahead };
  std::int32_t gap = 0;
  Place place = Place::behind;
  std::int32_t operation = 0;  // of the side row, position in Schedule::operations
  PassKind side = PassKind::fetch;
};

// By operation: the first that awaits it, -1 where none does.
std::vector<std::int32_t> first_waiters(const pipeline::Schedule& schedule);
// Those of one device, in their order; `waiters`: as above.
std::vector<SideEntry> side_entries(const pipeline::Schedule& schedule, std::int32_t device,
                                    const std::vector<std::int32_t>& waiters);

}  // namespace cairn::program
