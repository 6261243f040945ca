#include "cairn/cost/attention.h"
#include "cairn/cost/extrapolation.h"

#include <cmath>

#include "catch.h"
#include "cost/rates.h"

namespace cairn::cost {
namespace {

AttentionShape square(std::int64_t b, std::int64_t s, std::int64_t heads, std::int64_t kv_heads, std::int64_t dim) {
  return {.b = b, .s_q = s, .s_kv = s, .heads = heads, .kv_heads = kv_heads, .head_dim = dim};
}

FlashParameters one_line_kernel() {
  return {.kernel = "flash2", .forward = {{128, 0.354, 404.0}}, .backward = {{128, 0.330, 580.0}}, .gap_s = 3e-6};
}

}  // namespace

TEST_CASE("worked values of the attention operator, to the printed digits", "[cost][attention]") {
  struct Worked {
    AttentionShape shape;
    AttentionParameters parameters;
    MachineRates rates;
    double microseconds;
  };
  const Worked worked[] = {
      {square(1, 4096, 32, 8, 128), test::a100_attention(), test::a100(), 1141.51},
      {square(4, 4096, 32, 8, 128), test::h100_attention(), test::h100(), 1292.68},
      {square(1, 1024, 8, 8, 64), test::h100_attention(), test::h100(), 27.60},
      {square(2, 16384, 64, 8, 128), test::b200_attention(), test::b200(), 8485.16},
  };
  for (Worked value : worked) {
    value.shape.harness = true;
    const KernelTime time = attention_time(value.shape, value.parameters, value.rates);
    CAPTURE(value.shape.s_q, value.shape.heads);
    CHECK(std::round(time.total_s * 1e8) / 100 == Approx(value.microseconds).epsilon(1e-12));
    CHECK(time.compute_s + time.memory_s - time.hidden_s + time.overhead_s + time.droop_s + time.launch_s ==
          Approx(time.total_s).epsilon(1e-13));
  }
}

TEST_CASE("the unexplained pass of the benchmark stays out of training", "[cost][attention]") {
  AttentionShape shape = square(1, 4096, 32, 8, 128);
  const double training = attention_time(shape, test::a100_attention(), test::a100()).overhead_s;
  shape.harness = true;
  const double benchmark = attention_time(shape, test::a100_attention(), test::a100()).overhead_s;
  CHECK(benchmark - training == Approx(0.48e-9 * 4096 * 32));
}

TEST_CASE("unmasked pairs: causal, rectangular, given", "[cost][attention]") {
  AttentionShape shape{.b = 2, .s_q = 4, .s_kv = 4, .heads = 3, .kv_heads = 3, .head_dim = 64};
  CHECK(shape.pairs() == 2 * 3 * (1 + 2 + 3 + 4));
  shape.s_q = 2;  // the last two of four positions see 3 and 4 keys
  CHECK(shape.pairs() == 2 * 3 * (3 + 4));
  shape.causal = false;
  CHECK(shape.pairs() == 2 * 3 * 2 * 4);
  shape.score_pairs = 11;
  CHECK(shape.pairs() == 11);
}

TEST_CASE("the kernel form returns the published curve", "[cost][attention]") {
  // Causal half of the FLOPs, 2 B H S^2 D, at e P/(1 + S0/S): S = 4096, B H = 64: 2 x 64 x 4096^2 x 128 = 274.9 GFLOP;
  // 0.354 x 989e12/(1 + 404/4096) = 318.7 TFLOP/s: 862.5 us. Exact pairs exceed S^2/2 by S/2: 1/(S + S0) = 0.02 %.
  const KernelTime forward =
      flash_attention_time(square(4, 4096, 16, 16, 128), AttentionPass::forward, one_line_kernel(), test::h100());
  const double curve = 2.0 * 64 * 4096.0 * 4096.0 * 128 * (1.0 + 404.0 / 4096) / (0.354 * 989e12);
  CHECK(forward.compute_s == Approx(curve * (1.0 + 1.0 / 4500.0)).epsilon(1e-9));
  CHECK(forward.total_s == Approx(forward.compute_s + 3e-6));
  const KernelTime backward =
      flash_attention_time(square(4, 4096, 16, 16, 128), AttentionPass::backward, one_line_kernel(), test::h100());
  const double backward_curve = 5.0 * 64 * 4096.0 * 4096.0 * 128 * (1.0 + 580.0 / 4096) / (0.330 * 989e12);
  CHECK(backward.compute_s == Approx(backward_curve * (1.0 + 1.0 / 4676.0)).epsilon(1e-9));
}

TEST_CASE("full attention costs the same extra per row", "[cost][attention]") {
  // 4 B H S^2 D at e P/(1 + S0/(2 S)).
  AttentionShape shape = square(4, 4096, 16, 16, 128);
  shape.causal = false;
  const KernelTime time = flash_attention_time(shape, AttentionPass::forward, one_line_kernel(), test::h100());
  CHECK(time.compute_s ==
        Approx(4.0 * 64 * 4096.0 * 4096.0 * 128 * (1.0 + 202.0 / 4096) / (0.354 * 989e12)).epsilon(1e-12));
}

TEST_CASE("few query tiles leave multiprocessors idle", "[cost][attention]") {
  FlashParameters kernel = one_line_kernel();
  kernel.wave_exponent = 1.0;
  // One sequence, one head of 1024: 8 tiles on 132 multiprocessors; with hard waves the time is that of 132 tiles.
  const AttentionShape one = square(1, 1024, 1, 1, 128);
  const AttentionShape many = square(33, 1024, 1, 1, 128);  // 264 tiles: two full waves
  const double t1 = flash_attention_time(one, AttentionPass::forward, kernel, test::h100()).compute_s;
  const double t33 = flash_attention_time(many, AttentionPass::forward, kernel, test::h100()).compute_s;
  CHECK(t33 == Approx(2.0 * t1).epsilon(1e-12));
}

TEST_CASE("head sizes between two lines are interpolated, outside the nearest counts", "[cost][attention]") {
  FlashParameters kernel = one_line_kernel();
  kernel.forward = {{64, 0.30, 300.0}, {128, 0.40, 500.0}};
  const auto rate = [&](std::int64_t dim) {
    const AttentionShape shape = square(1, 8192, 32, 32, dim);
    const double flops = 4.0 * static_cast<double>(dim) * shape.pairs();
    return flops / flash_attention_time(shape, AttentionPass::forward, kernel, test::h100()).compute_s / 989e12;
  };
  // 96: e = 0.35, S0 = 400: 0.35 x 4096.5/(4096.5 + 200)
  CHECK(rate(96) == Approx(0.35 * 4096.5 / (4096.5 + 200.0)).epsilon(1e-12));
  CHECK(rate(32) == Approx(0.30 * 4096.5 / (4096.5 + 150.0)).epsilon(1e-12));
  CHECK(rate(256) == Approx(0.40 * 4096.5 / (4096.5 + 250.0)).epsilon(1e-12));
  CHECK(factor_outside(96, head_dims(kernel, AttentionPass::forward)) == 1.0);
  CHECK(factor_outside(256, head_dims(kernel, AttentionPass::forward)) == 2.0);
}

}  // namespace cairn::cost
