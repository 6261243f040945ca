// The least words between device memory and the chip that one stage of a plan moves in a step.
//
// A stage runs its passes one after the other. Whatever happens inside a pass, at its two ends at most S bytes lie on
// the chip, S being all memory nearer to the arithmetic than device memory. So
//   loads  >= sum over passes of max(0, old - S)    old: distinct bytes made before the pass that it reads
//   stores >= sum over passes of max(0, new - S)    new: distinct bytes made in the pass that something after it reads
// Each byte of `old` is on the chip when the pass begins (at most S are) or is loaded; each byte of `new` is on the
// chip when the pass ends or has been stored. The passes follow each other, so the sums add up. This is the
// decomposition of a pebble game into the parts that the passes are (pebble/bound.h): the larger S is, the less is
// proved, and nothing is assumed about what a cache keeps or which kernels are fused within a pass.
//   old  parameters that the pass multiplies by, saved activations that it frees, gradients that it adds to (not the
//        first pass of a chunk, which may start from nothing), optimizer state
//   new  activations that it leaves behind, gradients, optimizer state and parameters that it writes
// Left out, which only lowers the bound: tables that are looked up, traffic of transfers, and everything within a pass.
// Parameters and gradients count for no more than what of them the stage holds all the time: the rest comes and goes by
// transfers, which need not pass through memory.
//
// Worked example: 10 GB of weights, S = 0.1 GB, 4 micro-batches: forward and backward each read the weights in every
// micro-batch, 8 x 9.9 GB of loads.
//
// Valid: passes of one stage in the order of its schedule row; no value of one pass computed again in another (what is
// recomputed is so within the backward pass that needs it).
#pragma once

#include <vector>

#include "cairn/plan/program.h"

namespace cairn::predict {

struct Traffic {
  double loads = 0.0;   // [bytes]
  double stores = 0.0;  // [bytes]
  double total() const { return loads + stores; }
};

// Of every stage. on_chip_bytes: S.
std::vector<Traffic> least_traffic(const plan::Program& program, double on_chip_bytes);

}  // namespace cairn::predict
