#include "kernels.h"

#include <algorithm>

#include "element_kernels.h"
#include "reference.h"
#include "row_kernels.h"
#include "runtime.h"

namespace cairn::probe {

namespace {

constexpr int k_threads = 256;

int multiprocessors() {
  int device = 0, count = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
  return count;
}

// Enough blocks to fill the device, each thread one step or more.
unsigned grid_for(std::int64_t steps) {
  constexpr std::int64_t k_blocks_each = 16;  // of a multiprocessor: two rounds of the 8 that fit
  return static_cast<unsigned>(
      std::clamp<std::int64_t>((steps + k_threads - 1) / k_threads, 1, k_blocks_each * multiprocessors()));
}

void started(const char* what) { check(cudaGetLastError(), what); }

template <class Operation>
void run(const Operation& op, std::int64_t n, cudaStream_t stream, const char* what) {
  for_each<<<grid_for(n), k_threads, 0, stream>>>(op, n);
  started(what);
}

const Vector* vectors(const void* from) { return static_cast<const Vector*>(from); }
Vector* vectors(void* to) { return static_cast<Vector*>(to); }

constexpr std::int64_t k_elements = 8;  // of 16 bits in a vector

}  // namespace

void fill_normal(void* to, Type type, std::int64_t n, std::uint64_t seed, float scale, float offset,
                 cudaStream_t stream) {
  switch (type) {
    case Type::fp32:
      return run(FillNormal<Fill::fp32>{to, seed, scale, offset}, n, stream, "fill");
    case Type::bf16:
      return run(FillNormal<Fill::bf16>{to, seed, scale, offset}, n, stream, "fill");
    case Type::fp16:
      return run(FillNormal<Fill::fp16>{to, seed, scale, offset}, n, stream, "fill");
    case Type::fp8_e4m3:
      return run(FillNormal<Fill::fp8_e4m3>{to, seed, scale, offset}, n, stream, "fill");
    default:
      throw DeviceError("no normal numbers in bytes");
  }
}

void fill_sequence(void* to, std::int64_t words, cudaStream_t stream) {
  run(FillSequence{static_cast<std::uint32_t*>(to)}, words, stream, "fill");
}

template <class Element>
static void gather_elements(void* out, const void* in, const Selected& s, cudaStream_t stream) {
  run(Gather<Element>{static_cast<Element*>(out), static_cast<const Element*>(in), s.start, s.stride, s.run}, s.count,
      stream, "gather");
}

void gather(void* out, const void* in, Type type, const Selected& selected, cudaStream_t stream) {
  switch (size_of(type)) {
    case 1:
      return gather_elements<std::uint8_t>(out, in, selected, stream);
    case 2:
      return gather_elements<std::uint16_t>(out, in, selected, stream);
    default:
      return gather_elements<std::uint32_t>(out, in, selected, stream);
  }
}

void copy_bytes(void* to, const void* from, std::int64_t bytes, cudaStream_t stream) {
  run(Copy{vectors(to), vectors(from)}, bytes / static_cast<std::int64_t>(sizeof(Vector)), stream, "copy");
}

void write_bytes(void* to, std::int64_t bytes, cudaStream_t stream) {
  run(Write{vectors(to)}, bytes / static_cast<std::int64_t>(sizeof(Vector)), stream, "write");
}

std::uint32_t written_word() { return k_written_word; }
std::uint32_t sequence_factor() { return k_sequence_factor; }

void read_bytes(const void* from, std::int64_t bytes, std::uint32_t* total, cudaStream_t stream) {
  const std::int64_t n = bytes / static_cast<std::int64_t>(sizeof(Vector));
  read_and_sum<<<grid_for(n), k_threads, 0, stream>>>(vectors(from), n, total);
  started("read");
}

void launch_empty(std::uint32_t* count, cudaStream_t stream) {
  empty<<<1, 32, 0, stream>>>(count);
  started("empty kernel");
}

void launch_add(const void* x, const void* y, void* out, std::int64_t n, cudaStream_t stream) {
  run(Add{vectors(x), vectors(y), vectors(out)}, n / k_elements, stream, "add");
}

void launch_gelu(const void* x, void* out, std::int64_t n, cudaStream_t stream) {
  run(Gelu{vectors(x), vectors(out)}, n / k_elements, stream, "gelu");
}

void launch_gelu_backward(const void* x, const void* dy, void* out, std::int64_t n, cudaStream_t stream) {
  run(GeluBackward{vectors(x), vectors(dy), vectors(out)}, n / k_elements, stream, "gelu_backward");
}

void launch_swiglu(const void* in, void* out, std::int64_t rows, std::int64_t columns, cudaStream_t stream) {
  const std::int64_t width = columns / k_elements;
  run(Swiglu{vectors(in), vectors(out), width}, rows * width, stream, "swiglu");
}

void launch_swiglu_backward(const void* in, const void* dy, void* out, std::int64_t rows, std::int64_t columns,
                            cudaStream_t stream) {
  const std::int64_t width = columns / k_elements;
  run(SwigluBackward{vectors(in), vectors(dy), vectors(out), width}, rows * width, stream, "swiglu_backward");
}

void launch_cast(const void* in, void* out, std::int64_t n, float scale, float* largest, cudaStream_t stream) {
  const std::int64_t steps = n / k_elements;
  cast_to_fp8_kernel<<<grid_for(steps), k_threads, 0, stream>>>(vectors(in), static_cast<std::uint32_t*>(out), steps,
                                                                scale, largest);
  started("cast");
}

void launch_adam(const AdamBuffers& b, std::int64_t n, cudaStream_t stream) {
  const Adam step{b.weight,
                  b.first,
                  b.second,
                  b.gradient,
                  static_cast<Bf16*>(b.stored),
                  static_cast<float>(k_adam_beta1),
                  static_cast<float>(k_adam_beta2),
                  static_cast<float>(k_adam_rate),
                  static_cast<float>(k_adam_epsilon)};
  run(step, n / 4, stream, "adam");
}

namespace {

constexpr int k_scratch = k_row_threads / 32 * 4;  // [bytes] of shared memory: one float a warp

struct RowLaunch {
  int vectors_each;  // a thread's
  int threads;
};

// The fewest vectors a thread with which a block of at most k_row_threads takes a row.
RowLaunch row_launch(std::int64_t columns) {
  const std::int64_t width = columns / k_elements;
  for (const int each : {2, 4}) {
    const std::int64_t threads = ((width + each - 1) / each + 31) / 32 * 32;
    if (threads <= k_row_threads) return {each, static_cast<int>(threads)};
  }
  throw NotMeasurable("the kernel takes rows of up to 16384 elements");
}

template <bool LAYER, bool BACKWARD, int V>
void start_norm(const NormArguments& a, int threads, cudaStream_t stream) {
  if constexpr (BACKWARD) {
    const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(a.rows, norm_blocks()));
    norm_backward<V, LAYER><<<blocks, threads, k_scratch, stream>>>(a);
  } else {
    norm_forward<V, LAYER><<<static_cast<unsigned>(a.rows), threads, k_scratch, stream>>>(a);
  }
}

template <bool LAYER, bool BACKWARD>
void start_norm(const NormArguments& a, RowLaunch launch, cudaStream_t stream) {
  launch.vectors_each == 2 ? start_norm<LAYER, BACKWARD, 2>(a, launch.threads, stream)
                           : start_norm<LAYER, BACKWARD, 4>(a, launch.threads, stream);
  started(BACKWARD ? "norm backward" : "norm");
}

NormArguments norm_arguments(const NormBuffers& b, std::int64_t rows, std::int64_t columns) {
  return {vectors(b.x),
          vectors(b.weight),
          vectors(b.bias),
          vectors(b.dy),
          vectors(b.y),
          vectors(b.dx),
          b.mean,
          b.rstd,
          b.parts,
          b.parts == nullptr ? nullptr : b.parts + norm_blocks() * columns,
          rows,
          static_cast<int>(columns / k_elements),
          static_cast<float>(k_norm_epsilon)};
}

template <bool BACKWARD, int V>
void start_softmax(const SoftmaxArguments& a, std::int64_t rows, int threads, cudaStream_t stream) {
  if constexpr (BACKWARD) {
    softmax_backward<V><<<static_cast<unsigned>(rows), threads, k_scratch, stream>>>(a);
  } else {
    softmax_forward<V><<<static_cast<unsigned>(rows), threads, k_scratch, stream>>>(a);
  }
}

template <bool BACKWARD>
void start_softmax(const SoftmaxArguments& a, std::int64_t rows, RowLaunch launch, cudaStream_t stream) {
  launch.vectors_each == 2 ? start_softmax<BACKWARD, 2>(a, rows, launch.threads, stream)
                           : start_softmax<BACKWARD, 4>(a, rows, launch.threads, stream);
  started(BACKWARD ? "softmax backward" : "softmax");
}

}  // namespace

int norm_blocks() {
  constexpr int k_blocks_each = 2;
  return k_blocks_each * multiprocessors();
}

void launch_norm(const NormBuffers& b, std::int64_t rows, std::int64_t columns, bool layer, cudaStream_t stream) {
  const NormArguments a = norm_arguments(b, rows, columns);
  layer ? start_norm<true, false>(a, row_launch(columns), stream)
        : start_norm<false, false>(a, row_launch(columns), stream);
}

void launch_norm_backward(const NormBuffers& b, std::int64_t rows, std::int64_t columns, bool layer,
                          cudaStream_t stream) {
  const NormArguments a = norm_arguments(b, rows, columns);
  layer ? start_norm<true, true>(a, row_launch(columns), stream)
        : start_norm<false, true>(a, row_launch(columns), stream);
  const int blocks = static_cast<int>(std::min<std::int64_t>(rows, norm_blocks()));
  run(SumParts{a.weight_part, b.weight_gradient, columns, blocks}, columns, stream, "weight gradient");
  if (layer) run(SumParts{a.bias_part, b.bias_gradient, columns, blocks}, columns, stream, "bias gradient");
}

void launch_softmax(const void* x, void* out, std::int64_t rows, std::int64_t columns, cudaStream_t stream) {
  const SoftmaxArguments a{vectors(x), nullptr, nullptr, vectors(out), static_cast<int>(columns / k_elements)};
  start_softmax<false>(a, rows, row_launch(columns), stream);
}

void launch_softmax_backward(const void* y, const void* dy, void* out, std::int64_t rows, std::int64_t columns,
                             cudaStream_t stream) {
  const SoftmaxArguments a{nullptr, vectors(y), vectors(dy), vectors(out), static_cast<int>(columns / k_elements)};
  start_softmax<true>(a, rows, row_launch(columns), stream);
}

}  // namespace cairn::probe
