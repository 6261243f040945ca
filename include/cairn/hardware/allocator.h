// How a framework's allocator serves a device's memory.
#pragma once

#include <cstdint>

#include "cairn/core/quantity.h"
#include "cairn/hardware/caching_allocator.h"

namespace cairn::hardware {

struct Allocator {
  bool caching = true;  // keeps what is freed, see caching_allocator.h; else the device has what is allocated, no more
  bool expandable_segments = false;
  core::Bytes max_split_size = {};  // 0: none
  std::int64_t power2_divisions = 0;
  core::Bytes gemm_workspace = {};  // of the matrix library, for as long as the program runs

  // With `capacity` bytes for it on the device.
  CachingAllocator::Rules rules(double capacity) const;
};

}  // namespace cairn::hardware
