// Structures as cache keys.
#pragma once

#include "cairn/core/hash.h"
#include "cairn/plan/strategy.h"

namespace cairn::plan {

// Of the members in which plans of one search differ.
struct StructureHash {
  std::size_t operator()(const Structure& structure) const {
    core::Hash hash;
    hash.add(structure.tensor).add(structure.pipeline).add(structure.data).add(structure.context);
    hash.add(structure.expert).add(structure.expert_tensor).add(structure.micro_batch).add(structure.micro_batches);
    hash.add(structure.chunks).add(structure.schedule.size()).add(static_cast<std::uint8_t>(structure.recompute));
    hash.add(structure.recompute_layers.count).add(structure.recompute_operators.size());
    hash.add(structure.attention.scheme).add(static_cast<std::uint8_t>(structure.tensor_pieces.kind));
    // Bits of one word.
    std::uint64_t switches = 0;
    for (const bool on : {structure.sequence_parallel, structure.vocab_parallel, structure.overlap_tensor,
                          structure.asynchronous_tensor, structure.overlap_experts, structure.share_saved_inputs})
      switches = 2 * switches + (on ? 1 : 0);
    hash.add(switches);
    for (const std::int64_t layers : structure.stage_layers) hash.add(layers);
    return hash.value();
  }
};

}  // namespace cairn::plan
