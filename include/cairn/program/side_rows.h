// Side rows (pass_order.h) merged into their device's own order: the entries before and behind each of its operations.
#pragma once

#include <cstdint>
#include <vector>

#include "cairn/program/pass_order.h"

namespace cairn::program {

constexpr bool makes_gradients(pipeline::Phase phase) {
  return phase == pipeline::Phase::backward || phase == pipeline::Phase::weight_gradient;
}

// An entry of the merged order, in gap g: between operations g - 1 and g of the device's row. Entries of one gap are
// ordered by Place.
struct SideEntry {
  enum class Place : std::uint8_t { behind, issue, ahead };  // ends with g - 1; issues a transfer; is needed by g
  std::int32_t gap = 0;
  Place place = Place::behind;
  std::int32_t operation = 0;  // position in Schedule::operations of the side row's operation
  PassKind side = PassKind::fetch;
};

// For every operation: the first operation that waits for it, -1 where none does.
std::vector<std::int32_t> first_waiters(const pipeline::Schedule& schedule);
// The side entries of one device, in order. `waiters`: the result of first_waiters().
std::vector<SideEntry> side_entries(const pipeline::Schedule& schedule, std::int32_t device,
                                    const std::vector<std::int32_t>& waiters);

}  // namespace cairn::program
