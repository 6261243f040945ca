// Attention without ever storing the scores, on tensor cores: tiles of queries against tiles of keys (Dao et al. 2022,
// arXiv:2205.14135; work split as in Dao 2023, arXiv:2307.08691).
//
//   forward:   S = Q K^T;  online softmax over the tiles of keys;  O = P V;  L = log sum exp
//   backward:  P = exp(scale S - L);  dS = P (dO V^T - delta),  delta = rowsum(dO O);
//              dV = P^T dO,  dK = scale dS^T Q,  dQ = scale dS K
//
// Forward: a block has 128 queries, a warp 32 of them. Backward: a block has 128 keys, a warp 16 of them, and computes
// transposed scores, so that P^T and dS^T are in registers as the left operand of dV and dK; dS goes through shared
// memory for dQ, which is added up in fp32 over the blocks. Operands (b, s, h, d) in bf16; s a multiple of 128; d 64 or
// 128. Tiles lie in shared memory in rows of 16-byte chunks, chunk c of row r at c ^ (r % 8), so that neither rows nor
// columns of matrices meet in a bank.
#pragma once

#include "kernel_language.h"

namespace cairn::probe {

struct AttentionArguments {
  const Bf16 *q, *k, *v, *o, *d_o;
  Bf16 *out, *dk, *dv;
  float *log_sum, *delta, *dq;  // (b, h, s), (b, h, s), and (b, s, h, d) not scaled yet
  int length, query_heads, key_heads;
  bool causal;
  float scale;
};

constexpr float k_log2_e = 1.4426950408889634F;

// Rows of D elements of bf16.
template <int D>
struct Tile {
  static constexpr int k_chunks = D / 8;
  PROBE_DEVICE static int offset(int row, int chunk) { return row * (2 * D) + ((chunk ^ (row & 7)) << 4); }

  // The whole block copies `rows` rows, `stride` elements apart.
  PROBE_DEVICE static void load(char* to, const Bf16* from, std::int64_t stride, int rows) {
    for (int i = thread_index(); i < rows * k_chunks; i += thread_count()) {
      const int row = i / k_chunks, chunk = i % k_chunks;
      copy_async(to + offset(row, chunk), from + row * stride + chunk * 8);
    }
  }
};

// Operands of a product out of a tile. Left 16 x 16: rows of the product are rows of the tile, or its columns
// (`transposed`). Right 16 x 16, two products' worth (b0, b1 | b2, b3): columns of the product are rows of the tile
// (`right`), or its columns (`right_transposed`).
template <int D>
struct Operand {
  PROBE_DEVICE static void left(std::uint32_t (&a)[4], const char* tile, int row, int chunk) {
    const int lane = thread_index() % 32;
    load_matrices(a, tile + Tile<D>::offset(row + lane % 16, chunk + lane / 16));
  }
  PROBE_DEVICE static void left_transposed(std::uint32_t (&a)[4], const char* tile, int row, int chunk) {
    const int lane = thread_index() % 32;
    load_matrices_transposed(a, tile + Tile<D>::offset(row + lane % 8 + lane / 16 * 8, chunk + lane / 8 % 2));
  }
  PROBE_DEVICE static void right(std::uint32_t (&b)[4], const char* tile, int row, int chunk) {
    const int lane = thread_index() % 32;
    load_matrices(b, tile + Tile<D>::offset(row + lane % 8 + lane / 16 * 8, chunk + lane / 8 % 2));
  }
  PROBE_DEVICE static void right_transposed(std::uint32_t (&b)[4], const char* tile, int row, int chunk) {
    const int lane = thread_index() % 32;
    load_matrices_transposed(b, tile + Tile<D>::offset(row + lane % 16, chunk + lane / 16));
  }
};

// Where element e of an accumulator lies in its 16 x 8 product.
PROBE_DEVICE int accumulator_row(int e) { return thread_index() % 32 / 4 + e / 2 * 8; }
PROBE_DEVICE int accumulator_column(int e) { return thread_index() % 4 * 2 + e % 2; }

// Two accumulators side by side, rounded to bf16: a left operand.
PROBE_DEVICE void to_left(std::uint32_t (&a)[4], const float (&first)[4], const float (&second)[4]) {
  a[0] = pack_bf16(first[0], first[1]);
  a[1] = pack_bf16(first[2], first[3]);
  a[2] = pack_bf16(second[0], second[1]);
  a[3] = pack_bf16(second[2], second[3]);
}

template <int D>
struct ForwardShape {
  static constexpr int k_warps = 4;
  static constexpr int k_threads = 32 * k_warps;
  static constexpr int k_queries = 128;                              // of a block
  static constexpr int k_keys = 64;                                  // of a tile
  static constexpr int k_blocks = k_queries / (16 * k_warps);        // of 16 queries, of a warp
  static constexpr int k_shared = (k_queries + 2 * k_keys) * 2 * D;  // [bytes]
};

// Running state of the online softmax of one warp's queries.
template <int D>
struct ForwardState {
  using Shape = ForwardShape<D>;
  float out[Shape::k_blocks][D / 8][4];
  float top[Shape::k_blocks][2];  // of the scores, not scaled; per row of this thread
  float sum[Shape::k_blocks][2];  // this thread's part
};

template <int D>
PROBE_DEVICE void score(float (&s)[ForwardShape<D>::k_blocks][ForwardShape<D>::k_keys / 8][4], const char* queries,
                        const char* keys, int first_row) {
  using Shape = ForwardShape<D>;
#pragma unroll
  for (int m = 0; m < Shape::k_blocks; ++m)
#pragma unroll
    for (int n = 0; n < Shape::k_keys / 8; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) s[m][n][e] = 0;
#pragma unroll
  for (int k = 0; k < D / 16; ++k) {
    std::uint32_t a[Shape::k_blocks][4];
#pragma unroll
    for (int m = 0; m < Shape::k_blocks; ++m) Operand<D>::left(a[m], queries, first_row + 16 * m, 2 * k);
#pragma unroll
    for (int n = 0; n < Shape::k_keys / 16; ++n) {
      std::uint32_t b[4];
      Operand<D>::right(b, keys, 16 * n, 2 * k);
#pragma unroll
      for (int m = 0; m < Shape::k_blocks; ++m) {
        multiply_add(s[m][2 * n], a[m], b[0], b[1]);
        multiply_add(s[m][2 * n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

// s becomes p = exp(scale (s - top)); out and sum follow a risen top.
template <int D>
PROBE_DEVICE void soften(ForwardState<D>& state, float (&s)[ForwardShape<D>::k_blocks][ForwardShape<D>::k_keys / 8][4],
                         float scale) {
  using Shape = ForwardShape<D>;
  const float factor = scale * k_log2_e;
#pragma unroll
  for (int m = 0; m < Shape::k_blocks; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float top = state.top[m][half];
#pragma unroll
      for (int n = 0; n < Shape::k_keys / 8; ++n)
#pragma unroll
        for (int e = 2 * half; e < 2 * half + 2; ++e) top = s[m][n][e] > top ? s[m][n][e] : top;
#pragma unroll
      for (int mask = 1; mask <= 2; mask *= 2) {
        const float other = shuffle_xor(top, mask);
        top = other > top ? other : top;
      }
      const float shrink = exp2_fast((state.top[m][half] - top) * factor);
      state.top[m][half] = top;
      float sum = 0;
#pragma unroll
      for (int n = 0; n < Shape::k_keys / 8; ++n)
#pragma unroll
        for (int e = 2 * half; e < 2 * half + 2; ++e) {
          s[m][n][e] = exp2_fast((s[m][n][e] - top) * factor);
          sum += s[m][n][e];
        }
      state.sum[m][half] = state.sum[m][half] * shrink + sum;
#pragma unroll
      for (int n = 0; n < D / 8; ++n)
#pragma unroll
        for (int e = 2 * half; e < 2 * half + 2; ++e) state.out[m][n][e] *= shrink;
    }
}

template <int D>
PROBE_DEVICE void gather_values(ForwardState<D>& state,
                                const float (&p)[ForwardShape<D>::k_blocks][ForwardShape<D>::k_keys / 8][4],
                                const char* values) {
  using Shape = ForwardShape<D>;
#pragma unroll
  for (int k = 0; k < Shape::k_keys / 16; ++k) {
    std::uint32_t a[Shape::k_blocks][4];
#pragma unroll
    for (int m = 0; m < Shape::k_blocks; ++m) to_left(a[m], p[m][2 * k], p[m][2 * k + 1]);
#pragma unroll
    for (int n = 0; n < D / 16; ++n) {
      std::uint32_t b[4];
      Operand<D>::right_transposed(b, values, 16 * k, 2 * n);
#pragma unroll
      for (int m = 0; m < Shape::k_blocks; ++m) {
        multiply_add(state.out[m][2 * n], a[m], b[0], b[1]);
        multiply_add(state.out[m][2 * n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

template <int D>
PROBE_DEVICE void store_forward(const AttentionArguments& a, ForwardState<D>& state, int first_query, int head,
                                int batch) {
  using Shape = ForwardShape<D>;
#pragma unroll
  for (int m = 0; m < Shape::k_blocks; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = state.sum[m][half];
      sum += shuffle_xor(sum, 1);
      sum += shuffle_xor(sum, 2);
      const int row = first_query + 16 * m + accumulator_row(2 * half);
      const float share = 1 / sum;
      Bf16* to = a.out + ((static_cast<std::int64_t>(batch) * a.length + row) * a.query_heads + head) * D;
#pragma unroll
      for (int n = 0; n < D / 8; ++n)
        *reinterpret_cast<std::uint32_t*>(to + 8 * n + accumulator_column(0)) =
            pack_bf16(state.out[m][n][2 * half] * share, state.out[m][n][2 * half + 1] * share);
      if (thread_index() % 4 == 0)
        a.log_sum[(static_cast<std::int64_t>(batch) * a.query_heads + head) * a.length + row] =
            state.top[m][half] * a.scale + log_fast(sum);
    }
}

// Grid: tiles of queries, query heads, batch. The longest rows start first.
template <int D>
PROBE_KERNEL void PROBE_BOUNDS(ForwardShape<D>::k_threads, 1) attention_forward(AttentionArguments a) {
  using Shape = ForwardShape<D>;
  char* queries = shared_memory();
  char* keys = queries + Shape::k_queries * 2 * D;
  char* values = keys + Shape::k_keys * 2 * D;
  const int tile = blocks_x() - 1 - block_x(), head = block_y(), batch = block_z();
  const int first_query = tile * Shape::k_queries;
  const int own_row = thread_index() / 32 * 16 * Shape::k_blocks;
  const std::int64_t query_stride = static_cast<std::int64_t>(a.query_heads) * D;
  const std::int64_t key_stride = static_cast<std::int64_t>(a.key_heads) * D;
  const int key_head = head / (a.query_heads / a.key_heads);
  const Bf16* q = a.q + (static_cast<std::int64_t>(batch) * a.length + first_query) * query_stride + head * D;
  const Bf16* k = a.k + static_cast<std::int64_t>(batch) * a.length * key_stride + key_head * D;
  const Bf16* v = a.v + static_cast<std::int64_t>(batch) * a.length * key_stride + key_head * D;
  const int tiles = (a.causal ? first_query + Shape::k_queries : a.length) / Shape::k_keys;
  constexpr float k_lowest = -1e30F;

  ForwardState<D> state;
#pragma unroll
  for (int m = 0; m < Shape::k_blocks; ++m) {
#pragma unroll
    for (int n = 0; n < D / 8; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) state.out[m][n][e] = 0;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      state.top[m][half] = k_lowest;
      state.sum[m][half] = 0;
    }
  }
  Tile<D>::load(queries, q, query_stride, Shape::k_queries);
  Tile<D>::load(keys, k, key_stride, Shape::k_keys);
  commit_copies();
  for (int j = 0; j < tiles; ++j) {
    wait_copies<0>();
    barrier();  // keys have come, and nobody needs the values of before
    Tile<D>::load(values, v + j * Shape::k_keys * key_stride, key_stride, Shape::k_keys);
    commit_copies();
    float s[Shape::k_blocks][Shape::k_keys / 8][4];
    score<D>(s, queries, keys, own_row);
    wait_copies<0>();
    barrier();  // values have come, and nobody needs these keys
    if (j + 1 < tiles) Tile<D>::load(keys, k + (j + 1) * Shape::k_keys * key_stride, key_stride, Shape::k_keys);
    commit_copies();
    if (a.causal && (j + 1) * Shape::k_keys > first_query + own_row) {
#pragma unroll
      for (int m = 0; m < Shape::k_blocks; ++m)
#pragma unroll
        for (int n = 0; n < Shape::k_keys / 8; ++n)
#pragma unroll
          for (int e = 0; e < 4; ++e)
            if (j * Shape::k_keys + 8 * n + accumulator_column(e) > first_query + own_row + 16 * m + accumulator_row(e))
              s[m][n][e] = k_lowest;
    }
    soften<D>(state, s, a.scale);
    gather_values<D>(state, s, values);
  }
  store_forward<D>(a, state, first_query + own_row, head, batch);
}

// delta and dq = 0, one warp for a row of one head. i counts threads: (b, s, h) x 32.
template <int D>
PROBE_KERNEL void attention_backward_prepare(AttentionArguments a, std::int64_t rows) {
  const std::int64_t row = (static_cast<std::int64_t>(block_x()) * thread_count() + thread_index()) / 32;
  const int lane = thread_index() % 32;
  if (row >= rows) return;
  const auto* o = reinterpret_cast<const std::uint32_t*>(a.o + row * D);
  const auto* d_o = reinterpret_cast<const std::uint32_t*>(a.d_o + row * D);
  float sum = 0;
  for (int i = lane; i < D / 2; i += 32) {
    sum += low_bf16(o[i]) * low_bf16(d_o[i]) + high_bf16(o[i]) * high_bf16(d_o[i]);
    a.dq[row * D + 2 * i] = 0;
    a.dq[row * D + 2 * i + 1] = 0;
  }
  for (int mask = 16; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
  const std::int64_t head = row % a.query_heads, position = row / a.query_heads % a.length;
  const std::int64_t batch = row / a.query_heads / a.length;
  if (lane == 0) a.delta[(batch * a.query_heads + head) * a.length + position] = sum;
}

template <int D>
struct BackwardShape {
  static constexpr int k_warps = 8;
  static constexpr int k_threads = 32 * k_warps;
  static constexpr int k_keys = 16 * k_warps;  // of a block
  static constexpr int k_queries = 64;         // of a tile
  static constexpr int k_key_bytes = k_keys * 2 * D;
  static constexpr int k_query_bytes = k_queries * 2 * D;
  static constexpr int k_row_bytes = k_queries * 4;
  static constexpr int k_stage = 2 * k_query_bytes + 2 * k_row_bytes;  // q, do, log sums, deltas
  static constexpr int k_gradient_bytes = k_keys * 2 * k_queries;
  static constexpr int k_shared = 2 * k_key_bytes + 2 * k_stage + k_gradient_bytes;  // [bytes]
};

// One tile of queries with what belongs to its rows.
template <int D>
struct QueryTile {
  char *q, *d_o, *log_sum, *delta;
  PROBE_DEVICE explicit QueryTile(char* at)
      : q(at),
        d_o(at + BackwardShape<D>::k_query_bytes),
        log_sum(d_o + BackwardShape<D>::k_query_bytes),
        delta(log_sum + BackwardShape<D>::k_row_bytes) {}

  PROBE_DEVICE void load(const AttentionArguments& a, int batch, int head, int first) const {
    using Shape = BackwardShape<D>;
    const std::int64_t stride = static_cast<std::int64_t>(a.query_heads) * D;
    const std::int64_t at = (static_cast<std::int64_t>(batch) * a.length + first) * stride + head * D;
    Tile<D>::load(q, a.q + at, stride, Shape::k_queries);
    Tile<D>::load(d_o, a.d_o + at, stride, Shape::k_queries);
    const std::int64_t row = (static_cast<std::int64_t>(batch) * a.query_heads + head) * a.length + first;
    for (int i = thread_index(); i < Shape::k_queries / 4; i += thread_count()) {
      copy_async(log_sum + 16 * i, a.log_sum + row + 4 * i);
      copy_async(delta + 16 * i, a.delta + row + 4 * i);
    }
  }
};

// Transposed scores and their gradients of one warp's 16 keys against a tile of queries.
template <int D>
PROBE_DEVICE void score_transposed(float (&s)[BackwardShape<D>::k_queries / 8][4],
                                   float (&dp)[BackwardShape<D>::k_queries / 8][4], const char* keys,
                                   const char* values, const QueryTile<D>& tile, int own_row) {
#pragma unroll
  for (int n = 0; n < BackwardShape<D>::k_queries / 8; ++n)
#pragma unroll
    for (int e = 0; e < 4; ++e) s[n][e] = dp[n][e] = 0;
#pragma unroll
  for (int k = 0; k < D / 16; ++k) {
    std::uint32_t a_key[4], a_value[4];
    Operand<D>::left(a_key, keys, own_row, 2 * k);
    Operand<D>::left(a_value, values, own_row, 2 * k);
#pragma unroll
    for (int n = 0; n < BackwardShape<D>::k_queries / 16; ++n) {
      std::uint32_t b[4];
      Operand<D>::right(b, tile.q, 16 * n, 2 * k);
      multiply_add(s[2 * n], a_key, b[0], b[1]);
      multiply_add(s[2 * n + 1], a_key, b[2], b[3]);
      Operand<D>::right(b, tile.d_o, 16 * n, 2 * k);
      multiply_add(dp[2 * n], a_value, b[0], b[1]);
      multiply_add(dp[2 * n + 1], a_value, b[2], b[3]);
    }
  }
}

// dq of one tile of queries: a warp has 16 of its rows and half of the columns.
template <int D>
PROBE_DEVICE void add_query_gradient(const AttentionArguments& a, const char* gradients, const char* keys, int batch,
                                     int head, int first) {
  using Shape = BackwardShape<D>;
  const int warp = thread_index() / 32;
  const int row = warp % 4, half = warp / 4;
  float dq[D / 16][4];
#pragma unroll
  for (int n = 0; n < D / 16; ++n)
#pragma unroll
    for (int e = 0; e < 4; ++e) dq[n][e] = 0;
#pragma unroll
  for (int k = 0; k < Shape::k_keys / 16; ++k) {
    std::uint32_t left[4];
    Operand<Shape::k_queries>::left_transposed(left, gradients, 16 * k, 2 * row);
#pragma unroll
    for (int n = 0; n < D / 32; ++n) {
      std::uint32_t b[4];
      Operand<D>::right_transposed(b, keys, 16 * k, half * (D / 16) + 2 * n);
      multiply_add(dq[2 * n], left, b[0], b[1]);
      multiply_add(dq[2 * n + 1], left, b[2], b[3]);
    }
  }
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    const std::int64_t at = static_cast<std::int64_t>(batch) * a.length + first + 16 * row + accumulator_row(e);
    float* to = a.dq + (at * a.query_heads + head) * D + half * (D / 2) + accumulator_column(e);
#pragma unroll
    for (int n = 0; n < D / 16; ++n) atomic_add(to + 8 * n, dq[n][e]);
  }
}

template <int D>
PROBE_DEVICE void store_key_gradient(Bf16* to, std::int64_t stride, const float (&sum)[D / 8][4], float factor) {
#pragma unroll
  for (int half = 0; half < 2; ++half)
#pragma unroll
    for (int n = 0; n < D / 8; ++n)
      *reinterpret_cast<std::uint32_t*>(to + accumulator_row(2 * half) * stride + 8 * n + accumulator_column(0)) =
          pack_bf16(sum[n][2 * half] * factor, sum[n][2 * half + 1] * factor);
}

// Grid: tiles of keys, key heads, batch.
template <int D>
PROBE_KERNEL void PROBE_BOUNDS(BackwardShape<D>::k_threads, 1) attention_backward(AttentionArguments a) {
  using Shape = BackwardShape<D>;
  char* keys = shared_memory();
  char* values = keys + Shape::k_key_bytes;
  char* stages = values + Shape::k_key_bytes;
  char* gradients = stages + 2 * Shape::k_stage;
  const int key_head = block_y(), batch = block_z();
  const int first_key = block_x() * Shape::k_keys, own_row = thread_index() / 32 * 16;
  const std::int64_t key_stride = static_cast<std::int64_t>(a.key_heads) * D;
  const std::int64_t block_at = (static_cast<std::int64_t>(batch) * a.length + first_key) * key_stride + key_head * D;
  const int sharing = a.query_heads / a.key_heads;
  const int first_tile = a.causal ? first_key / Shape::k_queries : 0;
  const int tiles = a.length / Shape::k_queries - first_tile;
  const auto load_stage = [&](int step) {
    QueryTile<D>(stages + step % 2 * Shape::k_stage)
        .load(a, batch, key_head * sharing + step / tiles, (first_tile + step % tiles) * Shape::k_queries);
  };

  float dk[D / 8][4], dv[D / 8][4];
#pragma unroll
  for (int n = 0; n < D / 8; ++n)
#pragma unroll
    for (int e = 0; e < 4; ++e) dk[n][e] = dv[n][e] = 0;
  Tile<D>::load(keys, a.k + block_at, key_stride, Shape::k_keys);
  Tile<D>::load(values, a.v + block_at, key_stride, Shape::k_keys);
  load_stage(0);
  commit_copies();
  for (int step = 0; step < sharing * tiles; ++step) {
    if (step + 1 < sharing * tiles) load_stage(step + 1);
    commit_copies();
    wait_copies<1>();
    barrier();
    const QueryTile<D> tile(stages + step % 2 * Shape::k_stage);
    const int head = key_head * sharing + step / tiles;
    const int first_query = (first_tile + step % tiles) * Shape::k_queries;
    float s[Shape::k_queries / 8][4], dp[Shape::k_queries / 8][4];
    score_transposed<D>(s, dp, keys, values, tile, own_row);
#pragma unroll
    for (int n = 0; n < Shape::k_queries / 8; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int column = 8 * n + accumulator_column(e);
        const float log_sum = reinterpret_cast<const float*>(tile.log_sum)[column];
        const float delta = reinterpret_cast<const float*>(tile.delta)[column];
        const bool hidden = a.causal && first_key + own_row + accumulator_row(e) > first_query + column;
        s[n][e] = hidden ? 0.0F : exp2_fast((s[n][e] * a.scale - log_sum) * k_log2_e);
        dp[n][e] = s[n][e] * (dp[n][e] - delta);
      }
#pragma unroll
    for (int k = 0; k < Shape::k_queries / 16; ++k) {
      std::uint32_t p_left[4], ds_left[4];
      to_left(p_left, s[2 * k], s[2 * k + 1]);
      to_left(ds_left, dp[2 * k], dp[2 * k + 1]);
#pragma unroll
      for (int r = 0; r < 4; ++r)  // rows g, g + 8 of chunks 2 k, 2 k + 1
        *reinterpret_cast<std::uint32_t*>(
            gradients + Tile<Shape::k_queries>::offset(own_row + accumulator_row(2 * (r % 2)), 2 * k + r / 2) +
            2 * accumulator_column(0)) = ds_left[r];
#pragma unroll
      for (int n = 0; n < D / 16; ++n) {
        std::uint32_t b[4];
        Operand<D>::right_transposed(b, tile.d_o, 16 * k, 2 * n);
        multiply_add(dv[2 * n], p_left, b[0], b[1]);
        multiply_add(dv[2 * n + 1], p_left, b[2], b[3]);
        Operand<D>::right_transposed(b, tile.q, 16 * k, 2 * n);
        multiply_add(dk[2 * n], ds_left, b[0], b[1]);
        multiply_add(dk[2 * n + 1], ds_left, b[2], b[3]);
      }
    }
    barrier();  // every warp's part of dS has come
    add_query_gradient<D>(a, gradients, keys, batch, head, first_query);
    barrier();  // nobody needs this stage or dS
  }
  store_key_gradient<D>(a.dk + block_at + own_row * key_stride, key_stride, dk, a.scale);
  store_key_gradient<D>(a.dv + block_at + own_row * key_stride, key_stride, dv, 1.0F);
}

// dq in bf16; i counts pairs.
struct FinishQueryGradient {
  const float* sum;
  std::uint32_t* out;
  float scale;
  PROBE_DEVICE void operator()(std::int64_t i) const { out[i] = pack_bf16(sum[2 * i] * scale, sum[2 * i + 1] * scale); }
};

}  // namespace cairn::probe
