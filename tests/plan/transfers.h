// What a block sends, as a list.
#pragma once

#include <ostream>
#include <utility>
#include <vector>

#include "cairn/plan/lowering.h"

namespace cairn::plan {
inline std::ostream& operator<<(std::ostream& out, Collective collective) { return out << name(collective); }
}  // namespace cairn::plan

namespace cairn::testing {

using Sent = std::vector<std::pair<plan::Collective, double>>;  // in issue order, bytes of the whole tensor

inline Sent transfers(const plan::Block& block, plan::Axis axis = plan::Axis::tensor) {
  Sent result;
  for (const plan::Work& work : block.works)
    if (const auto* transfer = std::get_if<plan::Transfer>(&work); transfer != nullptr && transfer->group.axis == axis)
      result.emplace_back(transfer->collective, transfer->bytes);
  return result;
}

// Payload one rank sends.
inline double volume(const plan::Block& block, plan::Axis axis) {
  double total = 0.0;
  for (const plan::Work& work : block.works)
    if (const auto* transfer = std::get_if<plan::Transfer>(&work); transfer != nullptr && transfer->group.axis == axis)
      total += plan::bytes_sent(transfer->collective, transfer->group.size, transfer->bytes);
  return total;
}

// Bytes of the whole tensors that the collectives of one kind move in a pass.
inline double whole_bytes(const plan::Pass& pass, plan::Axis axis, plan::Collective collective) {
  double total = 0.0;
  for (const plan::BlockRun& run : pass.runs)
    for (const auto& [kind, bytes] : transfers(*run.block, axis))
      if (kind == collective) total += static_cast<double>(run.count) * bytes;
  return total;
}

}  // namespace cairn::testing
