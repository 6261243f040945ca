// The streams of one rank: each runs its steps first in, first out.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cairn::program {

enum class Stream : std::uint8_t {
  compute,
  host,    // the processor that issues kernels
  tensor,  // one communicator each
  context,
  data,  // gradients and parameters among the ranks that hold copies, those of experts too: both take the same links
  expert,
  expert_tensor,
  to_device,     // copies from the host's memory
  to_host,       // and to it
  storage,       // the node's drives
  processor,     // cores of the host that compute
  fetched,       // no work: when everything the next unit needs has come,
  fetched_next,  // and what the unit after it needs
  next,          // sends to the following stage
  previous,      // sends to the preceding stage
  arrival,       // what this pass receives
};
inline constexpr std::size_t k_streams = 16;

}  // namespace cairn::program
