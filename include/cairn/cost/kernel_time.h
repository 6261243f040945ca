// The currency of the price formulas: what a machine can do at best, and a kernel's time with its parts.
// Durations are double seconds here; a price table rounds them to picoseconds once.
#pragma once

#include <cstdint>

namespace cairn::cost {

// Datasheet rates of one accelerator. Fitted efficiencies are relative to exactly these numbers: change one and its
// efficiency must be refitted or rescaled with it.
struct MachineRates {
  double tensor_flops = 0.0;           // dense peak of the number type in use [FLOP/s]
  double vector_flops = 0.0;           // peak of the ordinary (fp32) lanes [FLOP/s]
  double memory_bandwidth = 0.0;       // device memory [B/s]
  double l2_bytes = 0.0;               // last-level cache [B]
  double sm_count = 0.0;               // multiprocessors
  double clock_hz = 0.0;               // boost clock [1/s]
  double exp_per_clock_per_sm = 16.0;  // special-function results per clock and multiprocessor
  double launch_floor_s = 0.0;         // shortest kernel in a stream [s]; 0: not known
};

// A kernel's work, beside what it waits for memory. At another clock f it takes max(1, c/f) as long; `slack_s` of what that
// adds passes beside traffic that takes as long at any clock.
struct FollowsClock {
  double seconds = 0.0;   // in a short run
  double clock_hz = 1.0;  // c: above which the work gets no faster
  double alone = 1.0;     // u: times as long where such kernels alone run on and on, under the limit of power
  double slack_s = 0.0;
};

// total_s = compute_s + memory_s - hidden_s + overhead_s + droop_s + launch_s.
//
// launch_s is the gap a kernel leaves on the device even when the host is ahead. Time of the host to issue the kernel
// is not in it: a host that falls behind is the executor's affair. total_s - launch_s is the time the device is busy.
struct KernelTime {
  double total_s = 0.0;
  double compute_s = 0.0;   // arithmetic alone, with fill, drain and the partial last wave
  double memory_s = 0.0;    // traffic alone
  double hidden_s = 0.0;    // the part of compute_s + memory_s that overlaps
  double overhead_s = 0.0;  // split-K reduction, operand quantisation, per-row passes
  double droop_s = 0.0;     // lower clock under sustained load of such kernels alone
  double launch_s = 0.0;
  double memory_bytes = 0.0;  // that memory_s moves from and to device memory [B]
  std::int64_t tile_m = 0;    // chosen output tile; 0 where the form has none
  std::int64_t tile_n = 0;
  std::int64_t split = 1;  // parts the reduction dimension is cut into
  FollowsClock follows = {};

  double busy_s() const { return total_s - launch_s; }
  bool memory_bound() const { return memory_s > compute_s; }
};

// (a^p + b^p)^(1/p): between max(a, b) (p -> infinity, perfect overlap) and a + b (p = 1, none). a, b >= 0; p >= 1.
double p_norm(double a, double b, double p);

// Extra time of a kernel that would take `busy_s` at the short-run clock:
//   busy * max(droop * busy/(busy + tau), 1/sustained - 1) * weight^2,   tau = 10 ms
// Long compute-bound kernels run slower than short ones predict, most likely because of the power limit; in a training
// step every kernel sees the sustained clock, unless kernels share one (clock.h). Both terms describe the same cause, so
// the larger counts, never their sum. weight: share of the kernel that is compute bound, 0..1.
double droop_time(double busy_s, double droop, double sustained, double weight);

}  // namespace cairn::cost
