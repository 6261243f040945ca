// Memory that a framework's caching allocator reserves on the device for the tensors that it serves. [bytes]
//   reserved = held + factor x passing, rounded up to whole segments; held includes the matrix library's workspace
#pragma once

#include <optional>

#include "cairn/core/quantity.h"

namespace cairn::hardware {

struct Allocator {
  // Reserved over allocated memory at the peak, of what comes and goes during a step: caching and fragmentation. What
  // is held throughout is allocated once.
  double reserve_factor = 1.0;
  // In its place where the ranks of one copy of the model exchange activations during a step: what is handed to a
  // communicator's stream cannot be reused before that stream has passed it. Absent: the same.
  std::optional<double> exchange_factor = {};
  core::Bytes segment = {};         // granularity at which memory is taken from the device; 0: bytes
  core::Bytes gemm_workspace = {};  // of the matrix library, for as long as the program runs

  double factor(bool exchanges) const { return exchanges ? exchange_factor.value_or(reserve_factor) : reserve_factor; }
  // `held` throughout the step, `passing` beside it at the peak.
  core::Bytes reserved(core::Bytes held, core::Bytes passing, bool exchanges) const;
};

}  // namespace cairn::hardware
