#include "attention_kernels.h"

#include <cmath>
#include <string>

#include "element_kernels.h"
#include "kernels.h"
#include "runtime.h"

namespace cairn::probe {

namespace {

AttentionArguments arguments(const AttentionBuffers& b, const AttentionShape& shape) {
  const auto in = [](const void* from) { return static_cast<const Bf16*>(from); };
  const auto out = [](void* to) { return static_cast<Bf16*>(to); };
  return {in(b.q),           in(b.k),         in(b.v),      in(b.o),
          in(b.d_o),         out(b.out),      out(b.dk),    out(b.dv),
          b.log_sum,         b.delta,         b.dq_sum,     shape.length,
          shape.query_heads, shape.key_heads, shape.causal, 1 / std::sqrt(static_cast<float>(shape.size))};
}

// Calls take.template operator()<D>() for this size of heads.
template <class Take>
void dispatch(const AttentionShape& shape, Take take) {
  shape.size == 64 ? take.template operator()<64>() : take.template operator()<128>();
}

void allow_shared(const void* kernel, int bytes) {
  int device = 0, most = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "cudaDeviceGetAttribute");
  if (bytes > most)
    throw NotMeasurable("the kernel needs " + std::to_string(bytes) + " B of shared memory a block, this GPU has " +
                        std::to_string(most));
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "cudaFuncSetAttribute");
}

void started(const char* what) { check(cudaGetLastError(), what); }

constexpr int k_threads = 256;

}  // namespace

void prepare_attention(const AttentionShape& shape, bool backward) {
  if (shape.size != 64 && shape.size != 128) throw NotMeasurable("the kernel takes heads of 64 and 128");
  if (shape.length % ForwardShape<64>::k_queries != 0) throw NotMeasurable("the kernel takes multiples of 128 queries");
  dispatch(shape, [&]<int D>() {
    if (backward) {
      allow_shared(reinterpret_cast<const void*>(&attention_backward<D>), BackwardShape<D>::k_shared);
    } else {
      allow_shared(reinterpret_cast<const void*>(&attention_forward<D>), ForwardShape<D>::k_shared);
    }
  });
}

void launch_attention(const AttentionBuffers& b, const AttentionShape& shape, cudaStream_t stream) {
  dispatch(shape, [&]<int D>() {
    using Kernel = ForwardShape<D>;
    const dim3 grid(static_cast<unsigned>(shape.length / Kernel::k_queries), static_cast<unsigned>(shape.query_heads),
                    static_cast<unsigned>(shape.batch));
    attention_forward<D><<<grid, Kernel::k_threads, Kernel::k_shared, stream>>>(arguments(b, shape));
  });
  started("attention");
}

void launch_attention_backward(const AttentionBuffers& b, const AttentionShape& shape, cudaStream_t stream) {
  const AttentionArguments a = arguments(b, shape);
  const std::int64_t rows = static_cast<std::int64_t>(shape.batch) * shape.length * shape.query_heads;
  dispatch(shape, [&]<int D>() {
    using Kernel = BackwardShape<D>;
    constexpr int k_rows_each = k_threads / 32;
    attention_backward_prepare<D>
        <<<static_cast<unsigned>((rows + k_rows_each - 1) / k_rows_each), k_threads, 0, stream>>>(a, rows);
    const dim3 grid(static_cast<unsigned>(shape.length / Kernel::k_keys), static_cast<unsigned>(shape.key_heads),
                    static_cast<unsigned>(shape.batch));
    attention_backward<D><<<grid, Kernel::k_threads, Kernel::k_shared, stream>>>(a);
    const std::int64_t pairs = rows * D / 2;
    const FinishQueryGradient finish{b.dq_sum, static_cast<std::uint32_t*>(b.dq), a.scale};
    for_each<<<static_cast<unsigned>((pairs + k_threads - 1) / k_threads), k_threads, 0, stream>>>(finish, pairs);
  });
  started("attention_backward");
}

}  // namespace cairn::probe
