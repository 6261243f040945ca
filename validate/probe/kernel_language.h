// What the kernels say to the machine, in one place: thread indices, shared memory, shuffles, tensor-core products,
// asynchronous copies. nvcc maps them to CUDA and PTX (sm_80 and later); any other compiler to an emulator with the
// same meaning, which the tests bring along ("emulator.h"), so that the logic of every kernel is tested where there is
// no GPU.
//
// Tensor-core product of one warp, D = A B + D with A 16 x 16, B 16 x 8 (PTX ISA, mma.m16n8k16): of lane 4 g + t,
//   a[0], a[1]: A(g, 2t..2t+1), A(g + 8, 2t..);  a[2], a[3]: the same rows, columns + 8
//   b0, b1:     B(2t..2t+1, g), B(2t + 8.., g)
//   d[0..1]:    D(g, 2t..2t+1);  d[2..3]: D(g + 8, 2t..)
// load_matrices: four 8 x 8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8, and
// gets of each matrix the two elements (g, 2t..2t+1), or of its transpose.
#pragma once

#include <cstdint>

namespace cairn::probe {

struct alignas(16) Vector {  // 16 bytes: 8 elements of bf16 or fp16, 4 of fp32
  std::uint32_t word[4];
};

using Bf16 = std::uint16_t;  // the bits

}  // namespace cairn::probe

#ifdef __CUDACC__

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#define PROBE_KERNEL __global__
#define PROBE_PLAIN_KERNEL static __global__  // of no template
#define PROBE_DEVICE __device__ __forceinline__
#define PROBE_BOUNDS(threads, blocks) __launch_bounds__(threads, blocks)

namespace cairn::probe {

PROBE_DEVICE int thread_index() { return static_cast<int>(threadIdx.x); }
PROBE_DEVICE int thread_count() { return static_cast<int>(blockDim.x); }
PROBE_DEVICE int block_x() { return static_cast<int>(blockIdx.x); }
PROBE_DEVICE int block_y() { return static_cast<int>(blockIdx.y); }
PROBE_DEVICE int block_z() { return static_cast<int>(blockIdx.z); }
PROBE_DEVICE int blocks_x() { return static_cast<int>(gridDim.x); }
PROBE_DEVICE char* shared_memory() {
  extern __shared__ __align__(128) char k_shared[];
  return k_shared;
}
PROBE_DEVICE void barrier() { __syncthreads(); }
PROBE_DEVICE float shuffle_xor(float value, int mask) { return __shfl_xor_sync(0xFFFFFFFFU, value, mask); }
PROBE_DEVICE std::uint32_t shuffle_xor(std::uint32_t value, int mask) {
  return __shfl_xor_sync(0xFFFFFFFFU, value, mask);
}
PROBE_DEVICE void atomic_add(float* to, float value) { atomicAdd(to, value); }
PROBE_DEVICE void atomic_add(std::uint32_t* to, std::uint32_t value) { atomicAdd(to, value); }
// Of values that are not negative: their bits are ordered as they are.
PROBE_DEVICE void atomic_max_positive(float* to, float value) {
  atomicMax(reinterpret_cast<int*>(to), __float_as_int(value));
}
PROBE_DEVICE float exp2_fast(float x) { return exp2f(x); }
PROBE_DEVICE float exp_fast(float x) { return __expf(x); }
PROBE_DEVICE float log_fast(float x) { return __logf(x); }
PROBE_DEVICE float tanh_fast(float x) { return tanhf(x); }
PROBE_DEVICE float reciprocal_root(float x) { return rsqrtf(x); }
PROBE_DEVICE float root(float x) { return sqrtf(x); }

PROBE_DEVICE std::uint32_t pack_bf16(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}
PROBE_DEVICE std::uint16_t to_fp16(float value) { return __half_as_ushort(__float2half_rn(value)); }
PROBE_DEVICE std::uint8_t to_fp8(float value) {
  return static_cast<std::uint8_t>(__nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3));
}

PROBE_DEVICE std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}
PROBE_DEVICE void load_matrices(std::uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
PROBE_DEVICE void load_matrices_transposed(std::uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
PROBE_DEVICE void multiply_add(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
PROBE_DEVICE void copy_async(void* shared, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(shared)), "l"(global) : "memory");
}
PROBE_DEVICE void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int PENDING>
PROBE_DEVICE void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

}  // namespace cairn::probe

#else

#define PROBE_KERNEL
#define PROBE_PLAIN_KERNEL inline
#define PROBE_DEVICE inline
#define PROBE_BOUNDS(threads, blocks)
#include "emulator.h"

#endif

namespace cairn::probe {

PROBE_DEVICE float low_bf16(std::uint32_t pair) {
  const std::uint32_t bits = pair << 16;
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
PROBE_DEVICE float high_bf16(std::uint32_t pair) {
  const std::uint32_t bits = pair & 0xFFFF0000U;
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
PROBE_DEVICE void unpack(const Vector& vector, float (&values)[8]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    values[2 * i] = low_bf16(vector.word[i]);
    values[2 * i + 1] = high_bf16(vector.word[i]);
  }
}
PROBE_DEVICE Vector pack(const float (&values)[8]) {
  Vector vector;
#pragma unroll
  for (int i = 0; i < 4; ++i) vector.word[i] = pack_bf16(values[2 * i], values[2 * i + 1]);
  return vector;
}

}  // namespace cairn::probe
