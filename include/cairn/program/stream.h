// The streams of one rank: each runs its steps first in, first out.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cairn::program {

enum class Stream : std::uint8_t {
  compute,
  host,    // the processor that issues kernels
  tensor,  // from here to expert_tensor: one communicator each, by mesh axis
  context,
  data,  // gradients and parameters of data-parallel ranks, dense and expert ones alike, for they share the links
  expert,
  expert_tensor,
  to_device,     // copies from the host's memory
  to_host,       // copies to the host's memory
  storage,       // reads and writes of the node's drives
  processor,     // the host's cores that run an offloaded optimizer
  fetched,       // no work: records when all that the next unit needs has been fetched (plan/unit_traffic.h)
  fetched_next,  // the same for the unit after the next
  next,          // sends to the following stage
  previous,      // sends to the preceding stage
  arrival,       // no work: records when the message that the pass waits for has arrived
};
inline constexpr std::size_t k_streams = 16;

}  // namespace cairn::program
