// How a framework's allocator serves a device's memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/core/quantity.h"
#include "cairn/hardware/caching_allocator.h"

namespace cairn::hardware {

// Scratch memory that a library holds as long as the program runs, on every accelerator or on those of an architecture.
struct LibraryWorkspace {
  core::Bytes bytes = {};
  std::vector<std::pair<std::string, core::Bytes>> by_architecture = {};  // in place of `bytes`

  core::Bytes on(std::string_view architecture) const;
};

struct Allocator {
  // Fitted, of frameworks whose tensors are not all known: what comes and goes during a step counts so often, and so often
  // where the ranks of one copy of the model exchange activations (absent: the same). What is reserved is no less.
  double reserve_factor = 1.0;
  std::optional<double> exchange_factor = {};
  bool caching = true;  // keeps what is freed, see caching_allocator.h; else the device has what is allocated, no more
  bool expandable_segments = false;
  core::Bytes max_split_size = {};  // 0: none
  std::int64_t power2_divisions = 0;
  LibraryWorkspace gemm_workspace = {};    // of matrix libraries
  LibraryWorkspace expert_workspace = {};  // and where experts' products run at once, each stream with one of its own

  double factor(bool exchanges) const { return exchanges ? exchange_factor.value_or(reserve_factor) : reserve_factor; }
  // With `capacity` bytes for it on the device.
  CachingAllocator::Rules rules(double capacity) const;
};

}  // namespace cairn::hardware
