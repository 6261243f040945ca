// The least words between device memory and the chip that one stage of a plan moves in a step.
//
// A stage runs its passes one after the other. Whatever happens inside a pass, at its two ends at most S bytes lie on
// the chip, S being all memory nearer to the arithmetic than device memory. So
//   loads  >= sum over passes of max(0, old - S)    old: distinct bytes made before the pass that it reads
//   stores >= sum over passes of max(0, new - S)    new: distinct bytes made in the pass that something after it reads
// Each byte of `old` is on the chip when the pass begins (at most S are) or is loaded; each byte of `new` is on the
// chip when the pass ends or has been stored. The passes follow each other, so the sums add up. This is the
// decomposition of a pebble game into the parts that the passes are (pebble/bound.h): the larger S is, the less is
// proved, and nothing is assumed about what a cache keeps.
//
// The same holds of any other stretches of the compute stream that follow each other, such as the kernels of a pass:
//   loads  >= sum over kernels of max(0, distinct bytes the kernel reads - S)
//   stores >= sum over kernels of max(0, distinct bytes it writes - S)
// A kernel starts when its operands are there, be they made by a kernel or brought by a transfer, and its results are
// there when it ends. Kernels in pieces are left out: what they read and write may come and go by transfers meanwhile.
// Of the two sums, each pass counts for the larger: passes where weights and saved values are spread over many small
// kernels, kernels where large values are made and used within a pass.
//   old  parameters that the pass multiplies by, saved activations that it frees, gradients that it adds to (not the
//        first pass of a chunk, which may start from nothing), optimizer state
//   new  activations that it leaves behind, gradients, optimizer state and parameters that it writes
// Left out, which only lowers the bound: tables that are looked up and traffic of transfers. In the sum over passes,
// parameters and gradients count for no more than what of them the stage holds all the time: the rest comes and goes by
// transfers, which need not pass through memory.
//
// Worked example: 10 GB of weights, S = 0.1 GB, 4 micro-batches: forward and backward each read the weights in every
// micro-batch, 8 x 9.9 GB of loads. A residual addition of 1 GB each reads 2 GB and writes 1 GB: 1.9 GB of loads and
// 0.9 GB of stores where it runs.
//
// Valid: passes of one stage in the order of its schedule row, kernels one after the other in the order of the program
// (a program that fuses more is another plan); no value of one pass computed again in another (what is
// recomputed is so within the backward pass that needs it).
#pragma once

#include <vector>

#include "cairn/program/program.h"

namespace cairn::predict {

struct Traffic {
  double loads = 0.0;   // [bytes]
  double stores = 0.0;  // [bytes]
  double total() const { return loads + stores; }
};

// Of every stage. on_chip_bytes: S.
std::vector<Traffic> least_traffic(const program::Program& program, double on_chip_bytes);

}  // namespace cairn::predict
