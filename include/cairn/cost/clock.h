// One clock for kernels that a device runs in turn under a limit of its power.
//
// The limit acts on the mean over tens of milliseconds, kernels last less: those of a block, a pass of a layer for
// instance, share one clock f. A whole step would be nearer the truth, but a block is priced once for all steps that it
// is part of, and nearly all of a step is blocks of one kind.
//   a kernel's work         takes s seconds of a short run, s max(1, c/f) at the clock f, and draws
//                           P0 + (P - P0) (f/g)^2,  g = c/u
//   the rest of its time    takes as long at any clock, and draws Pm: it waits for memory
//   the gaps between them   draw P0
// c is the clock above which such work gets no faster: fitted, not what the device shows in a short run. What a kernel
// waits for beside its work counts as work.
// P is the limit, P0 what the device draws idle, and u how many times as long as in a short run such work takes where
// nothing else runs: then g is the clock, and it draws all of P. So u belongs to this P: a device with half the limit has
// a u of its own, u sqrt((P - P0)/(P' - P0)) if these formulas hold for it. As much energy is used as the limit gives
// where
//   sum_i s_i c_i/f ((f/g_i)^2 - 1) = R,    R = (P - Pm)/(P - P0) M + G
// with M seconds that wait for memory and G of gaps; the left side grows with f, so that there is one solution:
//   f = (R + sqrt(R^2 + 4 A B)) / (2 A),    A = sum_i s_i c_i/g_i^2,  B = sum_i s_i c_i
// f may exceed a c_i; such work takes no less than in a short run. R = 0 and one kind of kernel: u times as long.
//
// The time found is the least over f of max(time, energy / P) as long as P > 2 P0. So whatever lowers the time of a kernel
// and the energy that it takes, at every clock, lowers that of the block. What work draws and how long it takes depends on
// the work alone; faster memory shortens the rest and changes nothing of it.
//
// Chips of one kind draw different power at one clock, so under the limit they have clocks of their own, and ranks that
// wait for each other in every step all take as long as the slowest of n:
//   f / (1 + spread z),   z = Phi^-1( (n - 3/8) / (n + 1/4) ),  the mean of the largest of n normal deviates (Blom, 1958)
//
// Left out: waiting for other ranks, during which a device rests and then clocks higher.
//
// Source: 24 mixes of products, attention, kernels that wait for memory and idle time on one H100
// (validate/measured/h100-sxm5-80gb/mixes.csv): the 34 times of their kernels come out within 1.2 % in the mean and 4.5 %
// at most, where a slowdown for each kind is 4.3 % off. c and u of products were fitted to them; the square, P0 and Pm
// were not, and P0 from 100 to 260 W changes that mean by 0.1 points.
#pragma once

#include <cstdint>

#include "cairn/cost/kernel_time.h"

namespace cairn::cost {

struct PowerLaw {
  double limit_w = 0.0;   // P
  double idle_w = 0.0;    // P0, < P/2
  double memory_w = 0.0;  // Pm, P0 .. P
  double spread = 0.0;    // standard deviation of the clocks of chips of one kind, of their mean
};

class SharedClock {
 public:
  explicit SharedClock(const PowerLaw& power);

  void add(const KernelTime& time);
  // f [1/s]. Infinite where no kernel follows the clock.
  double solve() const;

 private:
  double memory_share_;  // (P - Pm)/(P - P0)
  double a_ = 0.0, b_ = 0.0, r_ = 0.0;
};

// The clock that a device has over that of the slowest of so many, >= 1.
double slowest(const PowerLaw& power, std::int64_t ranks);

// The kernel's time [s] at a clock [1/s].
double time_at(const KernelTime& time, double clock_hz);

}  // namespace cairn::cost
