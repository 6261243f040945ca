// How often a kernel runs: samples, executions in one sample, sets of operands it is rotated through.
//
// One sample is a run of `repeats` executions between two events, long beside the events' resolution (0.5 us: CUDA
// runtime documentation of cudaEventElapsedTime) and the gap before a graph's first node:
//
//   repeats = min(most, ceil(sample / estimate)), rounded up to whole rounds through the operand sets
//
// Operand sets: cold means that a set comes again only after more than twice the L2 was touched:
//
//   sets = min(most_sets, free share / footprint, ceil(2 L2 / footprint))
#pragma once

#include <cstdint>

namespace cairn::probe {

struct Timing {
  int least_samples = 20;
  int most_samples = 200;
  double row_seconds = 0.2;  // measured at least this long: the sampler of clocks and power must see it
  double most_seconds = 3;   // and at most this, once `few_samples` are there
  int few_samples = 5;
  double warm_up_seconds = 0.05;
  double sample_seconds = 1e-3;
  int most_repeats = 512;  // nodes of the graph replayed for one sample
};

Timing thorough();
Timing quick();

// Executions in one sample, a multiple of `sets`, given the time of one execution [s].
int repeats(const Timing& timing, double estimate, int sets);

// Whether to go on after `samples` that took `elapsed` [s] in all.
bool wants_more(const Timing& timing, int samples, double elapsed);

struct MemoryRoom {
  std::int64_t l2_bytes = 0;
  std::int64_t free_bytes = 0;
};

// Sets of operands of `footprint` bytes each; 0 if not even one fits.
int operand_sets(std::int64_t footprint, const MemoryRoom& room, bool cold);

// Whether `sets` of `footprint` bytes each really exceed the cache twice.
bool is_cold(std::int64_t footprint, int sets, const MemoryRoom& room);

}  // namespace cairn::probe
