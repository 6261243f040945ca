// Time of a matrix product C[M,N] = A[M,K] W[K,N] on one accelerator.
//
//   b = bytes per element of A, b' of W (b where not said), kb = step_bytes/b elements of K per pipeline step,
//       whose operands count b for both
//   P = eP * tensor peak,  H = memory bandwidth,  A = b M K,  W = b' N K,  C = bo M N        [bytes]
//
//   candidates (tm, tn, s): tm x tn in {64x64, 128x64, 128x128, 256x128, 256x256} and transposes; split-K s in
//                           1, 2, 4 .. 64 that leaves at least 4 steps of K
//   n_tiles = batch ceil(M/tm) ceil(N/tn) s
//   waves   = max(1, sigma ceil(n_tiles/SM) + (1 - sigma) n_tiles/SM)
//   t_step  = ((2 tm tn kb SM/(a P) + (tm + tn) kb b/f)^4 + tk^4)^(1/4)
//   T_core  = waves (ceil(K/(s kb)) t_step + tpe + o bo tm tn SM/H)
//   T_mem   = (mA A + mW W + C)/(eB H) + ((1-mA) A + (1-mW) W)/(eL H) + [s > 1] 4 s M N/(eL H)
//   T1      = (T_core^p + T_mem^p)^(1/p) + [s > 1] ck
//   T2      = T1 + q 3 M K/H                                  quantising A, only when priced as the benchmark ran it
//   T       = min over candidates of T2 + droop(T2), + t0     faster memory or units then never slow a product
//
// Where kernels share a clock (clock.h), what follows it is the work alone, as is the energy it takes:
//   T       = min over candidates of T2, + W (u - 1) + t0,    W = min(T2, 2 M N K batch/(a P))
// W is the same for all candidates, so that the fastest of a short run is the fastest at any clock.
//
// mA, mW are the shares of A and W that come from device memory rather than the cache. A training graph reads both from
// memory (1, 1) unless the producer has just written A and it fits. The benchmark behind the fits reuses A and rotates
// weights:
//   mA = miss(A + W + C),  mW = miss(A + 6 W + C),  miss(x) = 1/(1 + (kappa L2/x)^4)
//
// f is the rate at which one multiprocessor takes in operands, as far as the tensor units wait for it: what makes large
// tiles better than small ones beyond their count. step_bytes is 128 on Hopper and Blackwell, whose kernels load 128 B
// of K at once, and 64 on Ampere (32 elements of a 16-bit type, as its library kernels are named): products of
// K 32..128 show it.
//
// a is 1, or split_accumulation where the kernel moves its partial sums from the matrix units, whose accumulators keep
// fewer bits than fp32, to full registers every few steps (FP8 on Hopper: cuBLAS without its fast accumulation).
//
// A fitted eB above 1 (block scales on Hopper) describes the benchmark's cache, not the memory: training prices stop at
// 1.
//
// Source: fits of 2026-11 to 19500 public operator timings (aiconfigurator samples of A100, H100, H200, B200, GB200;
// see the calibration files for the scores). Valid: M >= 128 a power of two, N, K multiples of 32; elsewhere
// extrapolated.
#pragma once

#include <array>
#include <cstdint>

#include "cairn/cost/kernel_time.h"
#include "cairn/cost/number.h"

namespace cairn::cost {

struct GemmShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;     // independent products of this shape, each with its own operands
  double input_bytes = 2.0;   // per element of A, and of W
  double second_bytes = 0.0;  // per element of W where it differs; 0: as A
  double output_bytes = 2.0;  // per element of C
  bool split_accumulation = false;
  bool harness = false;  // as the benchmark ran it: cached A, rotated W, quantisation of A and its launch floor inside
};

// One set per accelerator and kernel family (bf16, fp8 with per-tensor scales, fp8 with block scales).
struct GemmParameters {
  double tensor_efficiency = 0.0;   // eP: fraction of the tensor peak in short runs
  double memory_efficiency = 0.0;   // eB: fraction of the memory bandwidth
  double launch_floor_s = 0.0;      // t0: floor of the operator as the benchmark timed it
  double gap_s = 0.0;               // floor on the device inside a training step (no quantise kernels, no host time)
  double tile_overhead_s = 0.0;     // tpe: pipeline fill and drain per tile
  double step_floor_s = 0.0;        // tk: shortest K step (load latency over stages)
  double step_bytes = 128.0;        // bytes of K per pipeline step and row
  double operand_bandwidth = 0.0;   // f: operands into one multiprocessor, not hidden [B/s]; 0: wholly hidden
  double epilogue = 0.0;            // o: share of the output write that the main loop does not hide
  double split_cost_s = 0.0;        // ck: second kernel or semaphore of split-K
  double split_accumulation = 1.0;  // a: rate of the matrix units with it over the rate without; 1: no such mode
  double overlap_exponent = 3.0;    // p: overlap of compute and memory, 1 = none
  double droop = 0.0;               // d: extra time of long compute-bound kernels, up to 1 + d
  double quantise_passes = 0.0;     // q: in units of reading 2 B and writing 1 B per element of A
  double wave_quantisation = 1.0;   // sigma: 1 = hard waves, 0 = none
  double clock_hz = 0.0;            // c: of short runs; 0: that of the machine
  double sustained = 1.0;           // 1/u: clock of such products alone, over that of short runs; benchmarks use 1
  bool shares_clock = false;    // with the kernels beside it (clock.h); else its clock is that of such products alone
  double cache_share = 0.7;     // kappa: effective share of the last-level cache
  double cache_speed = 2.5;     // eL: cache bandwidth over memory bandwidth
  std::int64_t max_split = 64;  // 1: the kernel family has no split-K
};

// Operators timed in calls have the floor of the call, and a cache that serves the next one; kernels alone have a gap.
inline constexpr auto k_gemm_numbers = std::to_array<Number<GemmParameters>>(
    {{.key = "tensor_efficiency",
      .member = &GemmParameters::tensor_efficiency,
      .rule = {.doc = "eP", .required = true, .maximum = 1.0, .positive = true},
      .free = {.when = FreeWhen::always, .start = 0.8, .low = 0.3, .high = 1.0, .prior = 0.3}},
     {.key = "memory_efficiency",
      .member = &GemmParameters::memory_efficiency,
      .rule = {.doc = "eB; above 1 a fit's artefact", .required = true, .positive = true},
      .free = {.when = FreeWhen::in_calls, .start = 0.85, .low = 0.3, .high = 1.1, .prior = 0.3}},
     {.key = "memory_efficiency",
      .member = &GemmParameters::memory_efficiency,
      .fit_only = true,
      .free = {.when = FreeWhen::alone, .start = 0.85, .low = 0.3, .high = 1.0, .prior = 0.3}},
     {.key = "launch_floor",
      .member = &GemmParameters::launch_floor_s,
      .dimension = Dimension::seconds,
      .rule = {.doc = "t0, as the benchmark timed it", .required = true},
      .free = {.when = FreeWhen::in_calls, .start = 3 * k_us, .low = 0.3 * k_us, .high = 40 * k_us, .prior = 1.0}},
     {.key = "gap",
      .member = &GemmParameters::gap_s,
      .dimension = Dimension::seconds,
      .fit_only = true,
      .free = {.when = FreeWhen::alone, .start = 3 * k_us, .low = 0.3 * k_us, .high = 40 * k_us, .prior = 1.0}},
     {.key = "tile_overhead",
      .member = &GemmParameters::tile_overhead_s,
      .dimension = Dimension::seconds,
      .rule = {.doc = "tpe: fill and drain per tile"},
      .free = {.when = FreeWhen::refilling, .start = 1.5 * k_us, .low = 0.05 * k_us, .high = 10 * k_us, .prior = 1.0}},
     {.key = "step_floor",
      .member = &GemmParameters::step_floor_s,
      .dimension = Dimension::seconds,
      .rule = {.doc = "tk: shortest K step", .required = true},
      .free = {.when = FreeWhen::many_rows, .start = 0.1 * k_us, .low = 0.005 * k_us, .high = k_us, .prior = 1.0}},
     {.key = "step_bytes",
      .member = &GemmParameters::step_bytes,
      .rule = {.doc = "bytes of K per pipeline step", .positive = true}},
     {.key = "operand_bandwidth",
      .member = &GemmParameters::operand_bandwidth,
      .dimension = Dimension::bytes_per_second,
      .rule = {.doc = "f: operands into one multiprocessor, not hidden; absent: wholly hidden", .positive = true},
      .zero_is_absent = true,
      .free = {.when = FreeWhen::many_rows, .start = 1e12, .low = 1e11, .high = 1e14, .prior = 1.0}},
     {.key = "epilogue",
      .member = &GemmParameters::epilogue,
      .rule = {.doc = "o: share of the output write not hidden", .required = true},
      .free = {.when = FreeWhen::many_rows, .start = 0.4, .low = 0.01, .high = 3.0, .prior = 1.0}},
     {.key = "split_cost",
      .member = &GemmParameters::split_cost_s,
      .dimension = Dimension::seconds,
      .rule = {.doc = "ck: price of split-K"},
      .free = {.when = FreeWhen::splitting, .start = 2.8 * k_us, .low = 0.2 * k_us, .high = 20 * k_us, .prior = 1.0}},
     {.key = "split_accumulation",
      .member = &GemmParameters::split_accumulation,
      .rule = {.doc = "a: rate where partial sums move to fp32 registers every few steps over the rate of fast "
                      "accumulation; absent: the units have no such mode",
               .maximum = 1.0,
               .positive = true}},
     {.key = "overlap_exponent",
      .member = &GemmParameters::overlap_exponent,
      .rule = {.doc = "p", .required = true, .minimum = 1.0},
      .free = {.when = FreeWhen::many_rows, .start = 2.5, .low = 1.2, .high = 6.0, .prior = 0.4}},
     {.key = "droop",
      .member = &GemmParameters::droop,
      .rule = {.doc = "d: slowdown of long kernels", .required = true},
      .free = {.when = FreeWhen::many_rows, .start = 0.15, .low = 0.01, .high = 1.0, .prior = 1.0}},
     {.key = "quantise_passes",
      .member = &GemmParameters::quantise_passes,
      .rule = {.doc = "q: quantising A inside the benchmark's call"},
      .free = {.when = FreeWhen::quantising, .start = 2.5, .low = 0.1, .high = 10.0, .prior = 1.0}},
     {.key = "wave_quantisation",
      .member = &GemmParameters::wave_quantisation,
      .rule = {.doc = "sigma", .required = true, .maximum = 1.0}},
     {.key = "cache_share", .member = &GemmParameters::cache_share, .rule = {.doc = "kappa", .positive = true}},
     {.key = "cache_speed",
      .member = &GemmParameters::cache_speed,
      .rule = {.doc = "eL: over memory bandwidth", .positive = true}}});

// Everything about a (parameters, machine) pair that does not depend on the shape, worked out once.
class GemmPricer {
 public:
  GemmPricer(const GemmParameters& parameters, const MachineRates& rates);

  // Returns the time [s] and its parts. Deterministic: the first of equally fast candidates wins. m, n, k, batch >= 1.
  KernelTime time(const GemmShape& shape) const;

  static constexpr std::size_t k_tile_count = 7;
  static constexpr std::size_t k_split_count = 7;

 private:
  struct Candidate {
    double core_s = 0.0;
    std::size_t tile = 0;
  };
  Candidate fastest_tile(const GemmShape& shape, std::int64_t split, const std::array<double, k_tile_count>& step_s,
                         const std::array<double, k_tile_count>& tiles) const;
  struct Traffic {
    double time_s = 0.0;
    double memory_bytes = 0.0;
  };
  Traffic operand_traffic(const GemmShape& shape) const;
  double k_steps(const GemmShape& shape, std::int64_t split) const;
  double work_time(const GemmShape& shape) const;

  GemmParameters parameters_;
  MachineRates rates_;
  std::array<double, k_tile_count>
      byte_step_s_{};                          // 2 tm tn step_bytes SM/P: seconds of a K step times bytes per element
  std::array<double, k_tile_count> feed_s_{};  // (tm + tn) step_bytes/f
  std::array<double, k_tile_count> epilogue_per_byte_{};  // o tm tn SM/H
  double step_floor_4_ = 0.0;                             // tk^4
  double fitted_s_per_byte_ = 0.0;
  double memory_s_per_byte_ = 0.0;
  double cache_s_per_byte_ = 0.0;
  double clock_hz_ = 0.0;
};

// Convenience for a single product; a loop over shapes builds the pricer once.
KernelTime gemm_time(const GemmShape& shape, const GemmParameters& parameters, const MachineRates& rates);

}  // namespace cairn::cost
