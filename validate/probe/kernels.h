// The kernels as functions of the host; each queues its work on a stream. Shapes they cannot take: NotMeasurable
// (runtime.h).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "number.h"

namespace cairn::probe {

// Fills with numbers about normal: offset + scale x. bf16, fp16, fp8_e4m3, fp32.
void fill_normal(void* to, Type type, std::int64_t n, std::uint64_t seed, float scale, float offset,
                 cudaStream_t stream);
// Words i * 2654435761 mod 2^32.
void fill_sequence(void* to, std::int64_t words, cudaStream_t stream);
// Which elements of an array: runs of `run` elements, `stride` elements apart.
struct Selected {
  std::int64_t start = 0;
  std::int64_t count = 0;
  std::int64_t stride = 1;
  std::int64_t run = 1;
};
void gather(void* out, const void* in, Type type, const Selected& selected, cudaStream_t stream);

// Bytes: multiples of 16.
void copy_bytes(void* to, const void* from, std::int64_t bytes, cudaStream_t stream);
void write_bytes(void* to, std::int64_t bytes, cudaStream_t stream);
std::uint32_t written_word();
std::uint32_t sequence_factor();
void read_bytes(const void* from, std::int64_t bytes, std::uint32_t* total, cudaStream_t stream);
void launch_empty(std::uint32_t* count, cudaStream_t stream);

// Elements: multiples of 8.
void launch_add(const void* x, const void* y, void* out, std::int64_t n, cudaStream_t stream);
void launch_gelu(const void* x, void* out, std::int64_t n, cudaStream_t stream);
void launch_gelu_backward(const void* x, const void* dy, void* out, std::int64_t n, cudaStream_t stream);
void launch_swiglu(const void* in, void* out, std::int64_t rows, std::int64_t columns, cudaStream_t stream);
void launch_swiglu_backward(const void* in, const void* dy, void* out, std::int64_t rows, std::int64_t columns,
                            cudaStream_t stream);
void launch_cast(const void* in, void* out, std::int64_t n, float scale, float* largest, cudaStream_t stream);
struct AdamBuffers {
  float *weight, *first, *second;
  const float* gradient;
  void* stored;
};
void launch_adam(const AdamBuffers& buffers, std::int64_t n, cudaStream_t stream);

struct NormBuffers {
  const void *x, *weight, *bias, *dy;
  void *y, *dx;
  float *mean, *rstd, *weight_gradient, *bias_gradient;
  float* parts;  // 2 x norm_blocks() x columns
};
int norm_blocks();  // of the backward kernel on the current device
void launch_norm(const NormBuffers& buffers, std::int64_t rows, std::int64_t columns, bool layer, cudaStream_t stream);
void launch_norm_backward(const NormBuffers& buffers, std::int64_t rows, std::int64_t columns, bool layer,
                          cudaStream_t stream);
void launch_softmax(const void* x, void* out, std::int64_t rows, std::int64_t columns, cudaStream_t stream);
void launch_softmax_backward(const void* y, const void* dy, void* out, std::int64_t rows, std::int64_t columns,
                             cudaStream_t stream);

struct AttentionBuffers {
  const void *q, *k, *v, *o, *d_o;
  void *out, *dq, *dk, *dv;
  float *log_sum, *delta, *dq_sum;
};
struct AttentionShape {
  int batch, length, query_heads, key_heads, size;
  bool causal;
};
// Once before a launch is captured: the shared memory of the kernels, or NotMeasurable.
void prepare_attention(const AttentionShape& shape, bool backward);
void launch_attention(const AttentionBuffers& buffers, const AttentionShape& shape, cudaStream_t stream);
void launch_attention_backward(const AttentionBuffers& buffers, const AttentionShape& shape, cudaStream_t stream);

}  // namespace cairn::probe
