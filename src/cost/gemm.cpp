#include "cairn/cost/gemm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cairn/core/assert.h"

namespace cairn::cost {
namespace {

struct Tile {
  int m;
  int n;
};
// The order decides ties.
constexpr std::array<Tile, GemmPricer::k_tile_count> k_tiles{
    {{64, 64}, {128, 64}, {64, 128}, {128, 128}, {256, 128}, {128, 256}, {256, 256}}};

constexpr double k_least_steps = 4.0;      // a split leaves at least this many K steps
constexpr double k_partial_bytes = 4.0;    // split-K partial sums are fp32
constexpr double k_rotated_weights = 6.0;  // weight matrices between two uses in the benchmark
constexpr double k_quantise_bytes = 3.0;   // read 2 B, write 1 B per element

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
double fourth_power(double x) { return (x * x) * (x * x); }
double fourth_root(double x) { return std::sqrt(std::sqrt(x)); }

// Share of a working set of `bytes` that does not stay in a cache of `cache_bytes`.
double miss_share(double bytes, double cache_bytes) { return 1.0 / (1.0 + fourth_power(cache_bytes / bytes)); }

}  // namespace

GemmPricer::GemmPricer(const GemmParameters& parameters, const MachineRates& rates)
    : parameters_(parameters),
      rates_(rates),
      step_floor_4_(fourth_power(parameters.step_floor_s)),
      clock_hz_(parameters.clock_hz > 0.0 ? parameters.clock_hz : rates.clock_hz) {
  CAIRN_ASSERT(parameters.tensor_efficiency > 0.0 && parameters.memory_efficiency > 0.0);
  CAIRN_ASSERT(rates.tensor_flops > 0.0 && rates.memory_bandwidth > 0.0 && rates.sm_count > 0.0);
  CAIRN_ASSERT(parameters.step_bytes > 0.0 && parameters.split_accumulation > 0.0);
  const double tensor_rate = parameters.tensor_efficiency * rates.tensor_flops;
  for (std::size_t i = 0; i < k_tile_count; ++i) {
    const double outputs = static_cast<double>(k_tiles[i].m) * k_tiles[i].n;
    byte_step_s_[i] = 2.0 * outputs * parameters.step_bytes * rates.sm_count / tensor_rate;
    if (parameters.operand_bandwidth > 0.0) {
      const double operand_bytes = static_cast<double>(k_tiles[i].m + k_tiles[i].n) * parameters.step_bytes;
      feed_s_[i] = operand_bytes / parameters.operand_bandwidth;
    }
    epilogue_per_byte_[i] = parameters.epilogue * outputs * rates.sm_count / rates.memory_bandwidth;
  }
  fitted_s_per_byte_ = 1.0 / (parameters.memory_efficiency * rates.memory_bandwidth);
  memory_s_per_byte_ = 1.0 / (std::min(1.0, parameters.memory_efficiency) * rates.memory_bandwidth);
  cache_s_per_byte_ = 1.0 / (parameters.cache_speed * rates.memory_bandwidth);
}

double GemmPricer::k_steps(const GemmShape& shape, std::int64_t split) const {
  return std::ceil(static_cast<double>(shape.k) * shape.input_bytes /
                   (parameters_.step_bytes * static_cast<double>(split)));
}

GemmPricer::Candidate GemmPricer::fastest_tile(const GemmShape& shape, std::int64_t split,
                                               const std::array<double, k_tile_count>& step_s,
                                               const std::array<double, k_tile_count>& tiles) const {
  const double steps = k_steps(shape, split);
  const double sigma = parameters_.wave_quantisation;
  Candidate best{std::numeric_limits<double>::infinity(), 0};
  for (std::size_t i = 0; i < k_tile_count; ++i) {
    const double filled = tiles[i] * static_cast<double>(split) / rates_.sm_count;
    const double waves = std::max(1.0, sigma * std::ceil(filled) + (1.0 - sigma) * filled);
    const double core =
        waves * (steps * step_s[i] + parameters_.tile_overhead_s + epilogue_per_byte_[i] * shape.output_bytes);
    if (core < best.core_s) best = {core, i};
  }
  return best;
}

GemmPricer::Traffic GemmPricer::operand_traffic(const GemmShape& shape) const {
  const double batch = static_cast<double>(shape.batch);
  const double m = static_cast<double>(shape.m), n = static_cast<double>(shape.n), k = static_cast<double>(shape.k);
  const double a = batch * shape.input_bytes * m * k;
  const double w = batch * (shape.second_bytes > 0.0 ? shape.second_bytes : shape.input_bytes) * n * k;
  const double c = batch * shape.output_bytes * m * n;
  const double cache = parameters_.cache_share * rates_.l2_bytes;
  const double miss_a = shape.harness ? miss_share(a + w + c, cache) : 1.0;
  const double miss_w = shape.harness ? miss_share(a + k_rotated_weights * w + c, cache) : 1.0;
  const double from_memory = miss_a * a + miss_w * w + c;
  const double from_cache = (1.0 - miss_a) * a + (1.0 - miss_w) * w;
  const double per_byte_s = shape.harness ? fitted_s_per_byte_ : memory_s_per_byte_;
  return {.time_s = from_memory * per_byte_s + from_cache * cache_s_per_byte_, .memory_bytes = from_memory};
}

// Of the multiplications alone.
double GemmPricer::work_time(const GemmShape& shape) const {
  const double flops = 2.0 * static_cast<double>(shape.batch) * static_cast<double>(shape.m) *
                       static_cast<double>(shape.n) * static_cast<double>(shape.k);
  const double slower = shape.split_accumulation ? parameters_.split_accumulation : 1.0;
  return flops / (parameters_.tensor_efficiency * rates_.tensor_flops * slower);
}

KernelTime GemmPricer::time(const GemmShape& shape) const {
  CAIRN_ASSERT(shape.m >= 1 && shape.n >= 1 && shape.k >= 1 && shape.batch >= 1);
  std::array<double, k_tile_count> step_s{};
  std::array<double, k_tile_count> tiles{};
  const double bytes = shape.input_bytes * (shape.split_accumulation ? parameters_.split_accumulation : 1.0);
  for (std::size_t i = 0; i < k_tile_count; ++i) {
    step_s[i] = fourth_root(fourth_power(byte_step_s_[i] / bytes + feed_s_[i]) + step_floor_4_);
    tiles[i] = static_cast<double>(shape.batch * ceil_div(shape.m, k_tiles[i].m) * ceil_div(shape.n, k_tiles[i].n));
  }
  const Traffic traffic = operand_traffic(shape);
  const double operands_s = traffic.time_s;
  const double partial_s = k_partial_bytes * static_cast<double>(shape.batch) * static_cast<double>(shape.m) *
                           static_cast<double>(shape.n) * cache_s_per_byte_;

  const double quantise_s = shape.harness ? parameters_.quantise_passes * k_quantise_bytes *
                                                static_cast<double>(shape.batch) * static_cast<double>(shape.m) *
                                                static_cast<double>(shape.k) / rates_.memory_bandwidth
                                          : 0.0;
  const double sustained = shape.harness ? 1.0 : parameters_.sustained;
  const bool shares_clock = parameters_.shares_clock && !shape.harness;

  KernelTime best;
  double best_s = std::numeric_limits<double>::infinity();
  for (std::int64_t split = 1; split <= parameters_.max_split; split *= 2) {
    if (split > 1 && k_steps(shape, split) < k_least_steps) break;
    const Candidate candidate = fastest_tile(shape, split, step_s, tiles);
    const double memory_s = split > 1 ? operands_s + static_cast<double>(split) * partial_s : operands_s;
    const double extra_s = split > 1 ? parameters_.split_cost_s : 0.0;
    // The p-norm is at least the maximum.
    if (std::max(candidate.core_s, memory_s) + extra_s + quantise_s >= best_s) continue;
    const double joined_s = p_norm(candidate.core_s, memory_s, parameters_.overlap_exponent);
    const double busy_s = joined_s + extra_s + quantise_s;
    const double droop_s =
        shares_clock ? 0.0 : droop_time(busy_s, parameters_.droop, sustained, std::min(1.0, candidate.core_s / busy_s));
    if (busy_s + droop_s >= best_s) continue;
    best_s = busy_s + droop_s;
    best = {.compute_s = candidate.core_s,
            .memory_s = memory_s,
            .hidden_s = candidate.core_s + memory_s - joined_s,
            .overhead_s = extra_s + quantise_s,
            .droop_s = droop_s,
            .memory_bytes = traffic.memory_bytes,
            .tile_m = k_tiles[candidate.tile].m,
            .tile_n = k_tiles[candidate.tile].n,
            .split = split};
  }
  if (shares_clock) {
    best.follows = {.seconds = std::min(best_s, work_time(shape)), .clock_hz = clock_hz_, .alone = 1.0 / sustained};
    best.droop_s = best.follows.seconds * (best.follows.alone - 1.0);
    best_s += best.droop_s;
  }
  best.launch_s = shape.harness ? parameters_.launch_floor_s : parameters_.gap_s;
  best.total_s = best_s + best.launch_s;
  return best;
}

KernelTime gemm_time(const GemmShape& shape, const GemmParameters& parameters, const MachineRates& rates) {
  return GemmPricer(parameters, rates).time(shape);
}

}  // namespace cairn::cost
