#include "cairn/sequence/ring_block.h"

#include <string>

#include "cairn/core/diagnostics.h"

namespace cairn::sequence {

double ring_block_tokens(core::FlopsPerSecond compute, core::BytesPerSecond link, std::int64_t group) {
  if (!(compute.base() > 0.0)) throw core::ConfigurationError("compute", "no FLOP/s", "give more than 0");
  if (!(link.base() > 0.0)) throw core::ConfigurationError("link", "no bytes/s", "give more than 0");
  if (group < 1)
    throw core::ConfigurationError("group", std::to_string(group) + " query heads to a key head", "give at least 1");
  return compute.base() / (link.base() * static_cast<double>(group));
}

double ring_sequence_tokens(core::FlopsPerSecond compute, core::BytesPerSecond link, std::int64_t group) {
  return k_ring_blocks * ring_block_tokens(compute, link, group);
}

}  // namespace cairn::sequence
