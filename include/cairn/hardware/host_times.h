// What a host needs to issue a training step: numbers that can only be fitted, the same for every framework that was
// fitted; 0 where hosts keep ahead of their devices.
//
//   host time of a step = kernels x per_kernel + micro-batches x per_micro_batch + per_step
//   kernels of a tensor-parallel collective on n ranks = 1 + n x launches_per_peer where pipeline messages leave their
//   domain, else 1
#pragma once

#include <cstdint>

#include "cairn/core/quantity.h"

namespace cairn::hardware {

struct HostTimes {
  core::Seconds per_kernel = {};
  core::Seconds per_micro_batch = {};
  core::Seconds per_step = {};
  // Kernels' worth of host time that every rank of a tensor-parallel group adds to each of the group's collectives, in
  // a pipeline whose messages leave their domain. Observed, without a cause that is known.
  std::int64_t launches_per_peer = 0;
};

}  // namespace cairn::hardware
