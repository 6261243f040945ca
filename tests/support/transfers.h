// What a block sends, as a list.
#pragma once

#include <ostream>
#include <utility>
#include <vector>

#include "cairn/collective/folds.h"
#include "cairn/program/program.h"

namespace cairn::collective {
inline std::ostream& operator<<(std::ostream& out, Collective collective) { return out << name(collective); }
}  // namespace cairn::collective

namespace cairn::testing {

// The transfer of a step, null where the step does something else.
inline const program::Transfer* transfer_of(const program::Block& block, const program::Step& step) {
  return step.work < 0 ? nullptr : std::get_if<program::Transfer>(&block.works[static_cast<std::size_t>(step.work)]);
}

using Sent = std::vector<std::pair<program::Collective, double>>;  // in issue order, bytes of the whole tensor

inline Sent transfers(const program::Block& block, program::Axis axis = program::Axis::tensor) {
  Sent result;
  for (const program::Step& step : block.steps)
    if (const program::Transfer* transfer = transfer_of(block, step);
        transfer != nullptr && transfer->group.axis == axis)
      result.emplace_back(transfer->collective, transfer->bytes);
  return result;
}

// Payload one rank sends.
inline double volume(const program::Block& block, program::Axis axis) {
  double total = 0.0;
  for (const program::Step& step : block.steps)
    if (const program::Transfer* transfer = transfer_of(block, step);
        transfer != nullptr && transfer->group.axis == axis)
      total += collective::bytes_sent(transfer->collective, transfer->group.size, transfer->bytes);
  return total;
}

// Bytes of the whole tensors that the collectives of one kind move in a pass.
inline double whole_bytes(const program::Pass& pass, program::Axis axis, program::Collective collective) {
  double total = 0.0;
  for (const program::BlockRun& run : pass.runs)
    for (const auto& [kind, bytes] : transfers(*run.block, axis))
      if (kind == collective) total += static_cast<double>(run.count) * bytes;
  return total;
}

}  // namespace cairn::testing
