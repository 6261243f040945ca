// Kernels over single elements, 16 bytes a thread and step: fills, copies, reads, activations, conversions, the
// optimizer.
#pragma once

#include "kernel_language.h"

namespace cairn::probe {

// Runs op(i) for i in [0, n), spread over the grid.
template <class Operation>
PROBE_KERNEL void for_each(Operation op, std::int64_t n) {
  const std::int64_t stride = static_cast<std::int64_t>(blocks_x()) * thread_count();
  for (std::int64_t i = static_cast<std::int64_t>(block_x()) * thread_count() + thread_index(); i < n; i += stride)
    op(i);
}

// A well-mixed 64-bit word of a counter (the finalizer of SplitMix64: Steele, Lea, Flood 2014).
PROBE_DEVICE std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

// About normal with mean 0 and variance 1: the sum of four uniform 16-bit numbers.
PROBE_DEVICE float normal_number(std::uint64_t counter) {
  const std::uint64_t bits = mix(counter);
  const int sum = static_cast<int>(bits & 0xFFFF) + static_cast<int>((bits >> 16) & 0xFFFF) +
                  static_cast<int>((bits >> 32) & 0xFFFF) + static_cast<int>(bits >> 48);
  constexpr float k_mean = 4 * 32767.5F, k_deviation = 37837.2F;  // sqrt(4 (65536^2 - 1) / 12)
  return (static_cast<float>(sum) - k_mean) / k_deviation;
}

enum class Fill { fp32, bf16, fp16, fp8_e4m3 };

template <Fill TO>
struct FillNormal {
  void* out;
  std::uint64_t seed;
  float scale;
  float offset;
  PROBE_DEVICE void operator()(std::int64_t i) const {
    const float value = scale * normal_number(seed + static_cast<std::uint64_t>(i)) + offset;
    if constexpr (TO == Fill::fp32) static_cast<float*>(out)[i] = value;
    if constexpr (TO == Fill::bf16) static_cast<Bf16*>(out)[i] = static_cast<Bf16>(pack_bf16(value, 0.0F));
    if constexpr (TO == Fill::fp16) static_cast<std::uint16_t*>(out)[i] = to_fp16(value);
    if constexpr (TO == Fill::fp8_e4m3) static_cast<std::uint8_t*>(out)[i] = to_fp8(value);
  }
};

// word i = i times an odd constant (Knuth's multiplicative hash): scattered bits whose sum has a closed form.
constexpr std::uint32_t k_sequence_factor = 2654435761U;
struct FillSequence {
  std::uint32_t* out;
  PROBE_DEVICE void operator()(std::int64_t i) const { out[i] = static_cast<std::uint32_t>(i) * k_sequence_factor; }
};

template <class Element>
struct Gather {
  Element* out;
  const Element* in;
  std::int64_t start, stride, run;
  PROBE_DEVICE void operator()(std::int64_t i) const { out[i] = in[start + i / run * stride + i % run]; }
};

struct Copy {
  Vector* out;
  const Vector* in;
  PROBE_DEVICE void operator()(std::int64_t i) const { out[i] = in[i]; }
};

constexpr std::uint32_t k_written_word = 0x5A3CC3A5U;
struct Write {
  Vector* out;
  PROBE_DEVICE void operator()(std::int64_t i) const {
    out[i] = Vector{{k_written_word, k_written_word, k_written_word, k_written_word}};
  }
};

// Adds the sum of all words, modulo 2^32, to *total.
PROBE_PLAIN_KERNEL void read_and_sum(const Vector* in, std::int64_t n, std::uint32_t* total) {
  const std::int64_t stride = static_cast<std::int64_t>(blocks_x()) * thread_count();
  std::uint32_t sum = 0;
  for (std::int64_t i = static_cast<std::int64_t>(block_x()) * thread_count() + thread_index(); i < n; i += stride) {
    const Vector vector = in[i];
    sum += vector.word[0] + vector.word[1] + vector.word[2] + vector.word[3];
  }
  for (int mask = 16; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
  if (thread_index() % 32 == 0) atomic_add(total, sum);
}

// Does nothing, or counts itself.
PROBE_PLAIN_KERNEL void empty(std::uint32_t* count) {
  if (count != nullptr && thread_index() == 0) atomic_add(count, std::uint32_t{1});
}

struct Add {
  const Vector *x, *y;
  Vector* out;
  PROBE_DEVICE void operator()(std::int64_t i) const {
    float a[8], b[8];
    unpack(x[i], a);
    unpack(y[i], b);
    for (int e = 0; e < 8; ++e) a[e] += b[e];
    out[i] = pack(a);
  }
};

constexpr float k_gelu_slope = 0.7978845608F;  // sqrt(2 / pi)
constexpr float k_gelu_cubic = 0.044715F;

struct Gelu {
  const Vector* x;
  Vector* out;
  PROBE_DEVICE void operator()(std::int64_t i) const {
    float a[8];
    unpack(x[i], a);
    for (int e = 0; e < 8; ++e) {
      const float t = tanh_fast(k_gelu_slope * a[e] * (1 + k_gelu_cubic * a[e] * a[e]));
      a[e] = 0.5F * a[e] * (1 + t);
    }
    out[i] = pack(a);
  }
};

struct GeluBackward {
  const Vector *x, *dy;
  Vector* out;
  PROBE_DEVICE void operator()(std::int64_t i) const {
    float a[8], g[8];
    unpack(x[i], a);
    unpack(dy[i], g);
    for (int e = 0; e < 8; ++e) {
      const float t = tanh_fast(k_gelu_slope * a[e] * (1 + k_gelu_cubic * a[e] * a[e]));
      const float slope = k_gelu_slope * (1 + 3 * k_gelu_cubic * a[e] * a[e]);
      a[e] = g[e] * (0.5F * (1 + t) + 0.5F * a[e] * (1 - t * t) * slope);
    }
    out[i] = pack(a);
  }
};

// A row of 2 columns: gate, then up. i counts vectors of the output, `width` vectors a row.
struct Swiglu {
  const Vector* in;
  Vector* out;
  std::int64_t width;
  PROBE_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t at = i / width * 2 * width + i % width;
    float gate[8], up[8];
    unpack(in[at], gate);
    unpack(in[at + width], up);
    for (int e = 0; e < 8; ++e) up[e] *= gate[e] / (1 + exp_fast(-gate[e]));
    out[i] = pack(up);
  }
};

struct SwigluBackward {
  const Vector *in, *dy;
  Vector* out;
  std::int64_t width;
  PROBE_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t at = i / width * 2 * width + i % width;
    float gate[8], up[8], g[8];
    unpack(in[at], gate);
    unpack(in[at + width], up);
    unpack(dy[i], g);
    for (int e = 0; e < 8; ++e) {
      const float sigmoid = 1 / (1 + exp_fast(-gate[e]));
      const float of_gate = g[e] * up[e] * sigmoid * (1 + gate[e] * (1 - sigmoid));
      up[e] = g[e] * gate[e] * sigmoid;
      gate[e] = of_gate;
    }
    out[at] = pack(gate);
    out[at + width] = pack(up);
  }
};

// bf16 to fp8 with a scale; the largest magnitude of the input in *largest, which starts at 0: as bits of a float,
// whose order is that of the magnitudes. One operation a vector of 8; the grid covers n exactly once a launch.
PROBE_PLAIN_KERNEL void cast_to_fp8_kernel(const Vector* in, std::uint32_t* out, std::int64_t n, float scale,
                                           float* largest) {
  const std::int64_t stride = static_cast<std::int64_t>(blocks_x()) * thread_count();
  float top = 0;
  for (std::int64_t i = static_cast<std::int64_t>(block_x()) * thread_count() + thread_index(); i < n; i += stride) {
    float a[8];
    unpack(in[i], a);
    std::uint32_t words[2] = {0, 0};
    for (int e = 0; e < 8; ++e) {
      const float magnitude = a[e] < 0 ? -a[e] : a[e];
      top = magnitude > top ? magnitude : top;
      words[e / 4] |= static_cast<std::uint32_t>(to_fp8(a[e] * scale)) << (8 * (e % 4));
    }
    out[2 * i] = words[0];
    out[2 * i + 1] = words[1];
  }
  for (int mask = 16; mask > 0; mask /= 2) {
    const float other = shuffle_xor(top, mask);
    top = other > top ? other : top;
  }
  if (thread_index() % 32 == 0) atomic_max_positive(largest, top);
}

struct Adam {
  float *weight, *first, *second;
  const float* gradient;
  Bf16* stored;
  float beta1, beta2, rate, epsilon;
  // i counts groups of 4 elements.
  PROBE_DEVICE void operator()(std::int64_t i) const {
    struct alignas(16) Four {
      float x[4];
    };
    struct alignas(8) Pair {
      std::uint32_t word[2];
    };
    Four w = reinterpret_cast<Four*>(weight)[i], m = reinterpret_cast<Four*>(first)[i],
         v = reinterpret_cast<Four*>(second)[i];
    const Four g = reinterpret_cast<const Four*>(gradient)[i];
    for (int e = 0; e < 4; ++e) {
      m.x[e] = beta1 * m.x[e] + (1 - beta1) * g.x[e];
      v.x[e] = beta2 * v.x[e] + (1 - beta2) * g.x[e] * g.x[e];
      w.x[e] -= rate * m.x[e] / (root(v.x[e]) + epsilon);
    }
    reinterpret_cast<Four*>(weight)[i] = w;
    reinterpret_cast<Four*>(first)[i] = m;
    reinterpret_cast<Four*>(second)[i] = v;
    reinterpret_cast<Pair*>(stored)[i] = Pair{{pack_bf16(w.x[0], w.x[1]), pack_bf16(w.x[2], w.x[3])}};
  }
};

}  // namespace cairn::probe
