#include "cairn/cost/gemm.h"

#include <cmath>

#include "catch.h"
#include "cost/rates.h"

namespace cairn::cost {
namespace {

struct WorkedValue {
  GemmShape shape;
  GemmParameters parameters;
  MachineRates rates;
  int tile_m, tile_n, split;
  double microseconds;
};

}  // namespace

TEST_CASE("worked values of the fitted form, to the printed digits", "[cost][gemm]") {
  // Computed independently by a scalar implementation from the equations with the rounded parameters.
  const WorkedValue worked[] = {
      {{.m = 128, .n = 4096, .k = 4096, .harness = true}, test::h100_bf16(), test::h100(), 64, 64, 1, 15.78},
      {{.m = 4096, .n = 4096, .k = 4096, .harness = true}, test::h100_bf16(), test::h100(), 256, 256, 1, 175.77},
      {{.m = 256, .n = 1024, .k = 51200, .harness = true}, test::h100_bf16(), test::h100(), 128, 64, 4, 57.05},
      {{.m = 2048, .n = 2048, .k = 5120, .harness = true}, test::a100_bf16(), test::a100(), 128, 128, 2, 182.87},
      {{.m = 16384, .n = 8192, .k = 8192, .harness = true}, test::b200_bf16(), test::b200(), 256, 256, 1, 1419.92},
      {{.m = 4096, .n = 4096, .k = 4096, .input_bytes = 1, .harness = true},
       test::h100_fp8_tensor(),
       test::h100_fp8(),
       256,
       256,
       1,
       145.37},
  };
  for (const WorkedValue& value : worked) {
    const KernelTime time = gemm_time(value.shape, value.parameters, value.rates);
    CAPTURE(value.shape.m, value.shape.n, value.shape.k);
    CHECK(std::round(time.total_s * 1e8) / 100 == Approx(value.microseconds).epsilon(1e-12));
    CHECK(time.tile_m == value.tile_m);
    CHECK(time.tile_n == value.tile_n);
    CHECK(time.split == value.split);
    CHECK(time.compute_s + time.memory_s - time.hidden_s + time.overhead_s + time.droop_s + time.launch_s ==
          Approx(time.total_s).epsilon(1e-13));
  }
}

TEST_CASE("large products reach the efficiency of the tensor units, plus droop", "[cost][gemm]") {
  // 32768^3 on H100 in a training step: 2 K^3/(0.833 x 989e12) = 85.4 s/1000; with memory hidden, the long-kernel term
  // adds 0.17 T/(T + 10 ms) = 15.2 %. The epilogue and the K-step floor add less than 2 %.
  GemmShape shape{.m = 32768, .n = 32768, .k = 32768};
  const KernelTime time = gemm_time(shape, test::h100_bf16(), test::h100());
  const double ideal = 2.0 * std::pow(32768.0, 3) / (0.833 * 989e12);
  CHECK(time.busy_s() - time.droop_s > ideal);
  CHECK(time.busy_s() - time.droop_s < 1.02 * ideal);
  CHECK(time.droop_s / (time.busy_s() - time.droop_s) == Approx(0.17 * ideal / (ideal + 10e-3)).epsilon(0.01));
}

TEST_CASE("a product of one row runs at memory speed", "[cost][gemm]") {
  // W of 65536 x 16384 bf16 = 2 GiB from memory: 2^31/(0.84 x 3.35e12) = 763.1 us; activations are 160 KiB.
  const KernelTime time = gemm_time({.m = 1, .n = 65536, .k = 16384}, test::h100_bf16(), test::h100());
  CHECK(time.memory_bound());
  CHECK(time.memory_s == Approx(763.1e-6).epsilon(1e-3));
  CHECK(time.busy_s() >= time.memory_s);
}

TEST_CASE("training reads both operands from memory, a benchmark some of them from the cache", "[cost][gemm]") {
  // A = W = C = 8 MiB: cold 25.17 MB / (0.84 x 3.35e12) = 8.943 us.
  GemmShape shape{.m = 2048, .n = 2048, .k = 2048};
  const KernelTime cold = gemm_time(shape, test::h100_bf16(), test::h100());
  CHECK(cold.memory_s == Approx(3.0 * 8388608.0 / (0.84 * 3.35e12)).epsilon(1e-12));
  shape.harness = true;
  const KernelTime warm = gemm_time(shape, test::h100_bf16(), test::h100());
  // Working sets: A + W + C = 25.17 MB, of which A misses 1/(1 + (35/25.17)^4); A + 6 W + C = 67.11 MB for W.
  const double miss_a = 1.0 / (1.0 + std::pow(35e6 / 25165824.0, 4));
  const double miss_w = 1.0 / (1.0 + std::pow(35e6 / 67108864.0, 4));
  const double missed = 1.0 + miss_a + miss_w, found = 2.0 - miss_a - miss_w;
  CHECK(warm.memory_s == Approx(8388608.0 / 3.35e12 * (missed / 0.84 + found / 2.5)).epsilon(1e-12));
}

TEST_CASE("quantisation and the benchmark's floor stay out of training prices", "[cost][gemm]") {
  GemmShape shape{.m = 4096, .n = 4096, .k = 4096, .input_bytes = 1};
  const KernelTime training = gemm_time(shape, test::h100_fp8_tensor(), test::h100_fp8());
  CHECK(training.overhead_s == 0.0);
  CHECK(training.launch_s == 2.60e-6);
  shape.harness = true;
  const KernelTime benchmark = gemm_time(shape, test::h100_fp8_tensor(), test::h100_fp8());
  CHECK(benchmark.overhead_s == Approx(2.72 * 3.0 * 4096.0 * 4096.0 / 3.35e12).epsilon(1e-12));
  CHECK(benchmark.launch_s == 12.30e-6);
}

TEST_CASE("no training price beats the memory, whatever the fit says", "[cost][gemm]") {
  GemmParameters parameters = test::h100_bf16();
  parameters.memory_efficiency = 1.10;
  GemmShape shape{.m = 1024, .n = 65536, .k = 4096};
  const double bytes = 2.0 * (1024.0 * 4096 + 65536.0 * 4096 + 1024.0 * 65536);
  CHECK(gemm_time(shape, parameters, test::h100()).memory_s == Approx(bytes / 3.35e12).epsilon(1e-12));
}

TEST_CASE("a batch multiplies tiles and operands", "[cost][gemm]") {
  // Two independent products fill the waves one product leaves empty: never slower than two calls, never faster than
  // one.
  const GemmPricer pricer(test::a100_bf16(), test::a100());
  const KernelTime one = pricer.time({.m = 2048, .n = 2048, .k = 128});
  const KernelTime two = pricer.time({.m = 2048, .n = 2048, .k = 128, .batch = 2});
  CHECK(two.memory_s == Approx(2.0 * one.memory_s));
  CHECK(two.total_s > one.total_s);
  CHECK(two.total_s <= 2.0 * one.total_s);
}

TEST_CASE("a larger product is never faster", "[cost][gemm]") {
  // In m, n and batch. Not in k: a longer k admits more splits, as in the libraries.
  for (const auto& [parameters, rates] :
       {std::pair{test::a100_bf16(), test::a100()}, {test::b200_bf16(), test::b200()}}) {
    const GemmPricer pricer(parameters, rates);
    for (std::int64_t m = 32; m <= 16384; m *= 4) {
      for (std::int64_t n = 48; n <= 20000; n *= 5) {
        for (std::int64_t k = 64; k <= 65536; k *= 8) {
          const double base = pricer.time({.m = m, .n = n, .k = k}).total_s;
          CAPTURE(m, n, k);
          CHECK(pricer.time({.m = m + 64, .n = n, .k = k}).total_s >= base);
          CHECK(pricer.time({.m = m, .n = n + 64, .k = k}).total_s >= base);
          CHECK(pricer.time({.m = m, .n = n, .k = k, .batch = 2}).total_s >= base);
          CHECK(base >= static_cast<double>(2 * m * n * k) / rates.tensor_flops);
          CHECK(base >= static_cast<double>(2 * (m * k + n * k + m * n)) / rates.memory_bandwidth);
        }
      }
    }
  }
}

TEST_CASE("kernels without split-K keep one part", "[cost][gemm]") {
  GemmParameters parameters = test::h100_bf16();
  parameters.max_split = 1;
  CHECK(gemm_time({.m = 256, .n = 1024, .k = 51200}, parameters, test::h100()).split == 1);
}

TEST_CASE("the larger of droop and sustained clock counts, never both", "[cost][gemm]") {
  // 5 ms at droop 0.17: 5 x 0.17 x 5/15 = 0.2833 ms; sustained 0.9: 5 x (1/0.9 - 1) = 0.5556 ms; half bound: a quarter
  // of it.
  CHECK(droop_time(5e-3, 0.17, 1.0, 1.0) == Approx(0.17 / 3.0 * 5e-3));
  CHECK(droop_time(5e-3, 0.17, 0.9, 1.0) == Approx(5e-3 / 9.0));
  CHECK(droop_time(5e-3, 0.17, 0.9, 0.5) == Approx(5e-3 / 36.0));
}

TEST_CASE("p-norm lies between the maximum and the sum", "[cost][gemm]") {
  CHECK(p_norm(3.0, 4.0, 2.0) == Approx(5.0));
  CHECK(p_norm(3.0, 4.0, 1.0) == Approx(7.0));
  CHECK(p_norm(3.0, 4.0, 400.0) == Approx(4.0));
  CHECK(p_norm(0.0, 4.0, 2.0) == 4.0);
  CHECK(p_norm(0.0, 0.0, 2.0) == 0.0);
}

TEST_CASE("sums that leave the tensor units every few steps slow the main loop alone, where units have such a mode",
          "[cost][gemm]") {
  // One multiprocessor of 1 TFLOP/s, one tile of 64 x 64, memory free, K = 1024 of 1 B: 8 steps of 128 take
  // 2 64 64 1024/1e12 = 8.388608 us, at four fifths of the rate 10.48576 us.
  const MachineRates rates{.tensor_flops = 1e12,
                           .vector_flops = 1e12,
                           .memory_bandwidth = 1e18,
                           .l2_bytes = 1e6,
                           .sm_count = 1,
                           .clock_hz = 1e9};
  GemmParameters parameters{.tensor_efficiency = 1.0, .memory_efficiency = 1.0, .max_split = 1};
  GemmShape shape{.m = 64, .n = 64, .k = 1024, .input_bytes = 1};
  const auto microseconds = [&](bool split) {
    shape.split_accumulation = split;
    return gemm_time(shape, parameters, rates).total_s * 1e6;
  };
  CHECK(microseconds(true) == Approx(8.388608).epsilon(1e-6));  // units that sum in fp32
  parameters.split_accumulation = 0.8;
  CHECK(microseconds(false) == Approx(8.388608).epsilon(1e-6));
  CHECK(microseconds(true) == Approx(10.48576).epsilon(1e-6));
  // A product that waits for memory does not notice.
  GemmShape thin{.m = 1, .n = 65536, .k = 16384, .input_bytes = 1};
  GemmParameters hopper = test::h100_fp8_tensor();
  const double fast = gemm_time(thin, hopper, test::h100_fp8()).total_s;
  thin.split_accumulation = true;
  hopper.split_accumulation = 0.87;
  CHECK(gemm_time(thin, hopper, test::h100_fp8()).total_s == Approx(fast).epsilon(0.01));
}

TEST_CASE("operands that the tensor units wait for, and the depth of a K step", "[cost][gemm]") {
  // One multiprocessor of 1 TFLOP/s, one tile of 64 x 64, memory free: core = steps (2 64 64 kb/P + (64 + 64) step/f).
  // f = 32.768 GB/s. K = 128 (256 B): 1.048576 us of products and 128 x 256 B/f = 1 us of operands at either depth.
  // K = 32 (64 B): one step of 64 B takes a quarter of both, one step of 128 B half of both.
  const MachineRates rates{.tensor_flops = 1e12,
                           .vector_flops = 1e12,
                           .memory_bandwidth = 1e18,
                           .l2_bytes = 1e6,
                           .sm_count = 1,
                           .clock_hz = 1e9};
  GemmParameters parameters{.tensor_efficiency = 1.0, .memory_efficiency = 1.0, .max_split = 1};
  const auto microseconds = [&](double step_bytes, std::int64_t k) {
    parameters.step_bytes = step_bytes;
    parameters.operand_bandwidth = 32.768e9;
    return gemm_time({.m = 64, .n = 64, .k = k}, parameters, rates).total_s * 1e6;
  };
  CHECK(microseconds(64, 128) == Approx(2.048576).epsilon(1e-6));
  CHECK(microseconds(128, 128) == Approx(2.048576).epsilon(1e-6));
  CHECK(microseconds(64, 32) == Approx(0.512144).epsilon(1e-6));
  CHECK(microseconds(128, 32) == Approx(1.024288).epsilon(1e-6));
}

}  // namespace cairn::cost
