#include "cairn/cost/attention.h"

#include <algorithm>
#include <cmath>

#include "cairn/core/assert.h"

namespace cairn::cost {
namespace {

constexpr double k_block = 128.0;            // rows of a query tile, keys of a score block
constexpr double k_flops_per_score = 4.0;    // two products, multiply and add, per element of the head
constexpr double k_backward_products = 2.5;  // five products instead of two
constexpr double k_unit_exponent = 3.0;      // overlap of the tensor and the exponential units
constexpr double k_pass_threshold = 1024.0;  // the batch-independent pass is absent up to this length
constexpr double k_tensors_per_side = 2.0;   // Q and O; K and V

// Pairs counted in blocks of 128: a causal diagonal block is computed whole, 127/2 extra keys per row.
double block_pairs(const AttentionShape& shape) {
  const double all = shape.rows() * static_cast<double>(shape.s_kv);
  const double diagonal = shape.causal ? shape.rows() * (k_block - 1.0) / 2.0 : 0.0;
  return std::min(all, shape.pairs() + diagonal);
}

FlashPoint point_at(const std::vector<FlashPoint>& table, std::int64_t head_dim) {
  CAIRN_ASSERT(!table.empty());
  if (head_dim <= table.front().head_dim) return table.front();
  for (std::size_t i = 1; i < table.size(); ++i) {
    if (head_dim > table[i].head_dim) continue;
    const FlashPoint& low = table[i - 1];
    const FlashPoint& high = table[i];
    const double t = static_cast<double>(head_dim - low.head_dim) / static_cast<double>(high.head_dim - low.head_dim);
    return {head_dim, low.efficiency + t * (high.efficiency - low.efficiency),
            low.row_keys + t * (high.row_keys - low.row_keys)};
  }
  return table.back();
}

const std::vector<FlashPoint>& table_of(const FlashParameters& parameters, AttentionPass pass) {
  return pass == AttentionPass::forward ? parameters.forward : parameters.backward;
}

double wave_factor(const AttentionShape& shape, const FlashParameters& parameters, const MachineRates& rates) {
  const double heads = static_cast<double>(shape.b) * static_cast<double>(shape.heads);
  const double waves = heads * std::ceil(static_cast<double>(shape.s_q) / k_block) / rates.sm_count;
  const double table_heads = parameters.table_width / static_cast<double>(shape.head_dim);
  const double table_waves = table_heads * parameters.table_tokens / k_block / rates.sm_count;
  return std::pow(std::ceil(waves) / waves, parameters.wave_exponent) * (1.0 + parameters.tail / waves) /
         (1.0 + parameters.tail / table_waves);
}

}  // namespace

double AttentionShape::pairs() const {
  if (score_pairs > 0.0) return score_pairs;
  const double keys = static_cast<double>(s_kv);
  if (!causal) return rows() * keys;
  CAIRN_ASSERT(s_q <= s_kv);
  return rows() * (keys - (static_cast<double>(s_q) - 1.0) / 2.0);
}

KernelTime attention_time(const AttentionShape& shape, const AttentionParameters& parameters,
                          const MachineRates& rates) {
  const double batch = static_cast<double>(shape.b);
  const double dim = static_cast<double>(shape.head_dim);
  const double keys = static_cast<double>(shape.s_kv);
  const double product_s =
      k_flops_per_score * dim * rates.sm_count / (parameters.tensor_efficiency * rates.tensor_flops);
  const double exponential_s = 1.0 / (rates.exp_per_clock_per_sm * rates.clock_hz * parameters.exp_efficiency);
  const double score_s = p_norm(product_s, exponential_s, k_unit_exponent);
  const double side_bytes = k_tensors_per_side * shape.bytes_per_element * dim * batch;

  KernelTime time;
  time.compute_s = block_pairs(shape) * score_s / rates.sm_count + parameters.tail * k_block * keys * score_s;
  time.memory_s = side_bytes *
                  (parameters.query_traffic * static_cast<double>(shape.s_q) * static_cast<double>(shape.heads) +
                   parameters.kv_traffic * keys * static_cast<double>(shape.kv_heads)) /
                  rates.memory_bandwidth;
  time.memory_bytes = time.memory_s * rates.memory_bandwidth;
  time.overhead_s = shape.rows() / rates.sm_count * parameters.row_s;
  if (shape.harness && keys > k_pass_threshold) {
    time.overhead_s += parameters.pass_s * keys * static_cast<double>(shape.heads);
  }
  const double busy_s = time.compute_s + time.memory_s + time.overhead_s;
  time.droop_s = droop_time(busy_s, parameters.droop, shape.harness ? 1.0 : parameters.sustained, 1.0);
  time.launch_s = parameters.launch_floor_s;
  time.total_s = busy_s + time.droop_s + time.launch_s;
  time.follows = {.seconds = busy_s, .clock_hz = rates.clock_hz, .alone = 1.0 / parameters.sustained};
  return time;
}

MeasuredRange head_dims(const FlashParameters& parameters, AttentionPass pass) {
  const std::vector<FlashPoint>& table = table_of(parameters, pass);
  CAIRN_ASSERT(!table.empty());
  return {static_cast<double>(table.front().head_dim), static_cast<double>(table.back().head_dim)};
}

KernelTime flash_attention_time(const AttentionShape& shape, AttentionPass pass, const FlashParameters& parameters,
                                const MachineRates& rates) {
  const FlashPoint point = point_at(table_of(parameters, pass), shape.head_dim);
  const double dim = static_cast<double>(shape.head_dim);
  const double products = pass == AttentionPass::forward ? 1.0 : k_backward_products;
  const double scores = shape.pairs() + shape.rows() * point.row_keys / 2.0;
  const double flops = shape.work * products * k_flops_per_score * dim * scores;
  const double positions = static_cast<double>(shape.s_q) * static_cast<double>(shape.heads) +
                           static_cast<double>(shape.s_kv) * static_cast<double>(shape.kv_heads);
  // Forward reads Q, K, V and writes O; backward reads those and dO, and writes dQ, dK, dV: twice the forward traffic.
  const double passes = pass == AttentionPass::forward ? 1.0 : 2.0;
  const double bytes =
      passes * k_tensors_per_side * shape.bytes_per_element * dim * static_cast<double>(shape.b) * positions;

  KernelTime time;
  time.compute_s = flops / (point.efficiency * rates.tensor_flops) * wave_factor(shape, parameters, rates);
  time.memory_bytes = bytes;
  time.memory_s = bytes / (parameters.memory_efficiency * rates.memory_bandwidth);
  time.hidden_s = std::min(time.compute_s, time.memory_s);
  const double busy_s = std::max(time.compute_s, time.memory_s);
  time.droop_s = std::max(0.0, time.compute_s / parameters.sustained - busy_s);
  time.launch_s = parameters.gap_s;
  time.total_s = busy_s + time.droop_s + time.launch_s;
  time.follows = {.seconds = time.compute_s,
                  .clock_hz = parameters.clock_hz > 0.0 ? parameters.clock_hz : rates.clock_hz,
                  .alone = 1.0 / parameters.sustained,
                  .slack_s = busy_s - time.compute_s};
  return time;
}

}  // namespace cairn::cost
