// What sizes of attention must satisfy, forward and backward.
#pragma once

#include "cairn/pebble/operation.h"

namespace cairn::pebble {

// Throws core::ConfigurationError when `flops_per_pair` x pairs x head width overflows, or heads do not share key heads
// evenly.
void check(const AttentionSizes& sizes, Words flops_per_pair);

}  // namespace cairn::pebble
