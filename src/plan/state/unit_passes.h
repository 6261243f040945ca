// Passes of FSDP, ZeRO 2 and 3, HSDP and offload, in which every unit (layer) moves its own parameters, gradients or
// saved activations. Unit by unit in the order of execution:
//
//   forward    [fetch parameters]  run  [saved activations leave]
//   backward   [fetch parameters, saved activations]  run  [gradients are reduced, leave the device, are updated]
//
// While a unit runs, the fetches of the next ones run too (prefetch, unit_traffic.h). A pass starts by issuing the
// fetches of its first units, and at its end frees the memory of transfers that still run.
#pragma once

#include <span>

#include "cairn/core/content_store.h"
#include "layer/lowered_layer.h"
#include "unit_settings.h"
#include "vocabulary.h"

namespace cairn::plan {

class UnitPasses {
 public:
  // Appends what a pass does between its beginning and its message. `special`: a chunk's first forward or last backward
  // pass.
  void append_forward(Pass& pass, std::span<const Stretch> stretches, const UnitSettings& settings, bool special);
  void append_backward(Pass& pass, std::span<const Stretch> stretches, const UnitSettings& settings, Half half,
                       bool special);

  // Bytes of offloaded parameters that one rank keeps on the device: those of the first Offload::resident_units units
  // of the forward or of the backward pass, whichever are more.
  static double kept_bytes(std::span<const Stretch> stretches, const UnitSettings& settings);

 private:
  void append_stored(Pass& pass, Block block);
  struct Content {
    static std::uint64_t hash(const Block& block);
    static bool same(const Block& a, const Block& b);
  };
  core::ContentStore<Block, Content> blocks_;  // of passes' beginnings and ends
};

}  // namespace cairn::plan
