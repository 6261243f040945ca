// Runs kernels on the host: every thread of a block is a fiber, and the operations of kernel_language.h meet where the
// machine's would. Shared memory starts as NaN; an asynchronous copy lands only when it is waited for, so that a
// missing wait shows.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>

namespace cairn::probe {

struct Grid {
  int x = 1;
  int y = 1;
  int z = 1;
};

// Runs `kernel` in every thread of every block. Throws std::logic_error when the threads wait for each other for ever.
void emulate(Grid grid, int threads, int shared_bytes, const std::function<void()>& kernel);

int thread_index();
int thread_count();
int block_x();
int block_y();
int block_z();
int blocks_x();
char* shared_memory();
void barrier();
float shuffle_xor(float value, int mask);
std::uint32_t shuffle_xor(std::uint32_t value, int mask);
void load_matrices(std::uint32_t (&r)[4], const void* row);
void load_matrices_transposed(std::uint32_t (&r)[4], const void* row);
void multiply_add(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1);
void copy_async(void* shared, const void* global);
void commit_copies();
void wait_for_copies(int pending);
template <int PENDING>
void wait_copies() {
  wait_for_copies(PENDING);
}

// One thread of the host runs them all.
inline void atomic_add(float* to, float value) { *to += value; }
inline void atomic_add(std::uint32_t* to, std::uint32_t value) { *to += value; }
inline void atomic_max_positive(float* to, float value) { *to = value > *to ? value : *to; }
inline float exp2_fast(float x) { return std::exp2(x); }
inline float exp_fast(float x) { return std::exp(x); }
inline float log_fast(float x) { return std::log(x); }
inline float tanh_fast(float x) { return std::tanh(x); }
inline float reciprocal_root(float x) { return 1 / std::sqrt(x); }
inline float root(float x) { return std::sqrt(x); }
std::uint32_t pack_bf16(float low, float high);
std::uint16_t to_fp16(float value);
std::uint8_t to_fp8(float value);

}  // namespace cairn::probe
