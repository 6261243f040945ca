// Kernels over rows of bf16: a block reads a row once into registers, V vectors of 8 elements a thread, and reduces
// over the block.
//
//   norm:      y = (x - mean) rstd w + b        mean = 0 and no b when LAYER is false (RMS)
//   backward:  g = dy w, xhat = (x - mean) rstd;  dx = rstd (g - [LAYER] mean(g) - xhat mean(g xhat))
//              dw = sum over rows dy xhat,  db = sum over rows dy: each block keeps its rows' sums, a second kernel
//              adds the blocks'
//   softmax:   y = exp(x - max) / sum;  dx = y (dy - sum dy y)
#pragma once

#include "kernel_language.h"

namespace cairn::probe {

constexpr int k_row_threads = 512;  // at most, so that a thread may keep 128 registers

// Sum over the block of `value`, in every thread. `scratch`: one float a warp.
PROBE_DEVICE float block_sum(float value, float* scratch) {
  for (int mask = 16; mask > 0; mask /= 2) value += shuffle_xor(value, mask);
  if (thread_index() % 32 == 0) scratch[thread_index() / 32] = value;
  barrier();
  float total = 0;
  for (int warp = 0; warp < thread_count() / 32; ++warp) total += scratch[warp];
  barrier();
  return total;
}

PROBE_DEVICE float block_max(float value, float* scratch) {
  for (int mask = 16; mask > 0; mask /= 2) {
    const float other = shuffle_xor(value, mask);
    value = other > value ? other : value;
  }
  if (thread_index() % 32 == 0) scratch[thread_index() / 32] = value;
  barrier();
  float top = scratch[0];
  for (int warp = 1; warp < thread_count() / 32; ++warp) top = scratch[warp] > top ? scratch[warp] : top;
  barrier();
  return top;
}

// This thread's part of a row of `width` vectors; beyond the row: `beyond` in every element.
template <int V>
PROBE_DEVICE void load_row(const Vector* row, int width, float beyond, float (&x)[V][8]) {
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const int at = v * thread_count() + thread_index();
    if (at < width) {
      unpack(row[at], x[v]);
    } else {
      for (int e = 0; e < 8; ++e) x[v][e] = beyond;
    }
  }
}

template <int V>
PROBE_DEVICE void store_row(Vector* row, int width, const float (&x)[V][8]) {
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const int at = v * thread_count() + thread_index();
    if (at < width) row[at] = pack(x[v]);
  }
}

struct NormArguments {
  const Vector *x, *weight, *bias, *dy;
  Vector *y, *dx;
  float *mean, *rstd;              // one a row
  float *weight_part, *bias_part;  // blocks x columns
  std::int64_t rows;
  int width;  // vectors a row
  float epsilon;
};

template <int V, bool LAYER>
PROBE_KERNEL void PROBE_BOUNDS(k_row_threads, 1) norm_forward(NormArguments a) {
  float* scratch = reinterpret_cast<float*>(shared_memory());
  const std::int64_t row = block_x();
  const float columns = 8.0F * static_cast<float>(a.width);
  float x[V][8];
  load_row<V>(a.x + row * a.width, a.width, 0.0F, x);
  float mean = 0;
  if constexpr (LAYER) {
    float sum = 0;
    for (int v = 0; v < V; ++v)
      for (int e = 0; e < 8; ++e) sum += x[v][e];
    mean = block_sum(sum, scratch) / columns;
  }
  float squares = 0;
#pragma unroll
  for (int v = 0; v < V; ++v)
    if (v * thread_count() + thread_index() < a.width)
      for (int e = 0; e < 8; ++e) squares += (x[v][e] - mean) * (x[v][e] - mean);
  const float rstd = reciprocal_root(block_sum(squares, scratch) / columns + a.epsilon);
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const int at = v * thread_count() + thread_index();
    if (at >= a.width) continue;
    float w[8], b[8] = {};
    unpack(a.weight[at], w);
    if constexpr (LAYER) unpack(a.bias[at], b);
    for (int e = 0; e < 8; ++e) x[v][e] = (x[v][e] - mean) * rstd * w[e] + b[e];
  }
  store_row<V>(a.y + row * a.width, a.width, x);
  if (thread_index() == 0) {
    if constexpr (LAYER) a.mean[row] = mean;
    a.rstd[row] = rstd;
  }
}

template <int V, bool LAYER>
PROBE_KERNEL void PROBE_BOUNDS(k_row_threads, 1) norm_backward(NormArguments a) {
  float* scratch = reinterpret_cast<float*>(shared_memory());
  const float columns = 8.0F * static_cast<float>(a.width);
  float weight_sum[V][8] = {}, bias_sum[LAYER ? V : 1][8] = {};
  for (std::int64_t row = block_x(); row < a.rows; row += blocks_x()) {
    const float mean = LAYER ? a.mean[row] : 0.0F, rstd = a.rstd[row];
    float x[V][8], g[V][8];
    load_row<V>(a.x + row * a.width, a.width, mean, x);
    load_row<V>(a.dy + row * a.width, a.width, 0.0F, g);
    float sum_g = 0, sum_gx = 0;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const int at = v * thread_count() + thread_index();
      float w[8] = {};
      if (at < a.width) unpack(a.weight[at], w);
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        x[v][e] = (x[v][e] - mean) * rstd;
        weight_sum[v][e] += g[v][e] * x[v][e];
        if constexpr (LAYER) bias_sum[v][e] += g[v][e];
        g[v][e] *= w[e];
        sum_g += g[v][e];
        sum_gx += g[v][e] * x[v][e];
      }
    }
    const float mean_g = LAYER ? block_sum(sum_g, scratch) / columns : 0.0F;
    const float mean_gx = block_sum(sum_gx, scratch) / columns;
    for (int v = 0; v < V; ++v)
      for (int e = 0; e < 8; ++e) x[v][e] = rstd * (g[v][e] - mean_g - x[v][e] * mean_gx);
    store_row<V>(a.dx + row * a.width, a.width, x);
  }
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const int at = v * thread_count() + thread_index();
    if (at >= a.width) continue;
    const std::int64_t to = static_cast<std::int64_t>(block_x()) * a.width * 8 + at * 8;
    for (int e = 0; e < 8; ++e) {
      a.weight_part[to + e] = weight_sum[v][e];
      if constexpr (LAYER) a.bias_part[to + e] = bias_sum[v][e];
    }
  }
}

// out[c] = sum of the parts of all blocks; i counts columns.
struct SumParts {
  const float* parts;
  float* out;
  std::int64_t columns;
  int blocks;
  PROBE_DEVICE void operator()(std::int64_t i) const {
    float sum = 0;
    for (int block = 0; block < blocks; ++block) sum += parts[block * columns + i];
    out[i] = sum;
  }
};

struct SoftmaxArguments {
  const Vector *x, *y, *dy;
  Vector* out;
  int width;
};

template <int V>
PROBE_KERNEL void PROBE_BOUNDS(k_row_threads, 1) softmax_forward(SoftmaxArguments a) {
  float* scratch = reinterpret_cast<float*>(shared_memory());
  const std::int64_t begin = static_cast<std::int64_t>(block_x()) * a.width;
  constexpr float k_lowest = -3e38F;
  float x[V][8];
  load_row<V>(a.x + begin, a.width, k_lowest, x);
  float top = k_lowest;
  for (int v = 0; v < V; ++v)
    for (int e = 0; e < 8; ++e) top = x[v][e] > top ? x[v][e] : top;
  top = block_max(top, scratch);
  float sum = 0;
  for (int v = 0; v < V; ++v)
    for (int e = 0; e < 8; ++e) {
      x[v][e] = exp_fast(x[v][e] - top);
      sum += x[v][e];
    }
  const float share = 1 / block_sum(sum, scratch);
  for (int v = 0; v < V; ++v)
    for (int e = 0; e < 8; ++e) x[v][e] *= share;
  store_row<V>(a.out + begin, a.width, x);
}

template <int V>
PROBE_KERNEL void PROBE_BOUNDS(k_row_threads, 1) softmax_backward(SoftmaxArguments a) {
  float* scratch = reinterpret_cast<float*>(shared_memory());
  const std::int64_t begin = static_cast<std::int64_t>(block_x()) * a.width;
  float y[V][8], dy[V][8];
  load_row<V>(a.y + begin, a.width, 0.0F, y);
  load_row<V>(a.dy + begin, a.width, 0.0F, dy);
  float sum = 0;
  for (int v = 0; v < V; ++v)
    for (int e = 0; e < 8; ++e) sum += y[v][e] * dy[v][e];
  sum = block_sum(sum, scratch);
  for (int v = 0; v < V; ++v)
    for (int e = 0; e < 8; ++e) y[v][e] *= dy[v][e] - sum;
  store_row<V>(a.out + begin, a.width, y);
}

}  // namespace cairn::probe
