// What a caching allocator takes from the device for one stage: the memory events of its passes, played in issue order.
//
// A change of the Program's memory says how much, not which tensor. What comes free is the latest tensor of these bytes
// that the same pass made or, of activations, that the passes of the same micro-batch and chunk left; else several that
// come to these bytes together. Gathered parameters live on the stream that gathers them, everything else on the one that
// computes. What is held for the whole step is there first, but for what the first update makes.
//
// Steps repeat until one takes nothing more from the device, three at most. Within a step, passes that leave it as an earlier pass did
// are not played again while the row repeats what followed that pass:
//
//   state(i) = state(j), row(j + k) = row(i + k) for k = 1 .. n (i - j)   ->   state(i + n (i - j)) = state(i)
//
// A state is where every live tensor lies and how much is reserved: free blocks are always joined, so these follow.
#pragma once

#include <cstdint>

#include "cairn/hardware/caching_allocator.h"
#include "cairn/program/program.h"

namespace cairn::predict {

struct AllocatorPeaks {
  double allocated = 0.0;   // [bytes], each tensor rounded as the allocator rounds it
  double reserved = 0.0;    // [bytes]
  std::int64_t passes = 0;  // that were played
  double unmatched = 0.0;   // [bytes] that came free and that no tensor was found for; 0 but for a defect
};

// Passes that repeat themselves: all played; left out where the allocator's state recurs, which changes nothing; and left
// out, too, once none of many has reserved anything further and the same micro-batches, counted from the latest, hold as
// many tensors again, which may miss a rise later in the step.
enum class Repetition : std::uint8_t { played, recurring_skipped, quiet_skipped };
// `library`: bytes of workspace that libraries hold all the time.
AllocatorPeaks allocator_peaks(const program::Program& program, std::int32_t stage,
                               const hardware::CachingAllocator::Rules& rules, double library,
                               Repetition repetition = Repetition::quiet_skipped);

}  // namespace cairn::predict
