#include "cairn/cost/calibration.h"

#include <filesystem>

#include "cairn/config/fields.h"
#include "cairn/config/loader.h"
#include "cairn/config/read.h"
#include "cairn/core/diagnostics.h"
#include "catch.h"
#include "support/shipped.h"

namespace cairn::cost {
namespace {

using cairn::testing::shipped;

}  // namespace

TEST_CASE("shipped calibrations load and price", "[cost][calibration]") {
  const config::Loader loader = shipped();
  for (const std::string& name : loader.names("accelerators")) {  // every accelerator has one
    CAPTURE(name);
    const Calibration calibration = load_calibration(loader, name);
    CHECK(calibration.accelerator == name);
    CHECK(calibration.transfers.fabric.efficiency > 0.0);
    for (const GemmSet& set : calibration.gemm) {
      CAPTURE(set.type);
      CHECK(set.parameters.gap_s == calibration.gap_s);
      const KernelTime time = gemm_time({.m = 4096, .n = 4096, .k = 4096}, set.parameters, calibration.rates(set));
      // Between the data sheet's peak and half of it at the clock that a training step sees.
      const double peak_s = 2.0 * 4096.0 * 4096.0 * 4096.0 / set.peak_flops;
      CHECK(time.busy_s() > peak_s);
      CHECK(time.busy_s() < 2.0 * peak_s / calibration.sustained);
    }
  }
}

TEST_CASE("the H100 file prices what was measured on one", "[cost][calibration]") {
  // Rows of the public aiconfigurator samples of H100 SXM (2026-11); the 90th percentile of the fits' errors is 10 %
  // for products, 6 % for attention and collectives.
  const Calibration h100 = load_calibration(shipped(), "h100-sxm5-80gb");
  const GemmSet* bf16 = h100.find_gemm("bf16");
  REQUIRE(bf16 != nullptr);
  CHECK(h100.find_gemm("fp16") == bf16);
  CHECK(h100.find_gemm("int4") == nullptr);
  const auto product_us = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return gemm_time({.m = m, .n = n, .k = k, .harness = true}, bf16->parameters, h100.rates(*bf16)).total_s * 1e6;
  };
  CHECK(product_us(4096, 4096, 2048) == Approx(92.263).epsilon(0.10));
  CHECK(product_us(4096, 4096, 4096) == Approx(178.368).epsilon(0.10));
  CHECK(product_us(4096, 8192, 8192) == Approx(670.869).epsilon(0.10));

  REQUIRE(h100.attention_operator.has_value());
  const AttentionShape shape{
      .b = 4, .s_q = 8192, .s_kv = 8192, .heads = 32, .kv_heads = 4, .head_dim = 128, .harness = true};
  CHECK(attention_time(shape, h100.attention_operator->parameters, h100.rates(*bf16)).total_s * 1e6 ==
        Approx(4595.675).epsilon(0.06));

  // The median of three releases of the library, 16-bit floating point.
  const TransferLinks links{.intra = {.bandwidth = 450e9, .latency = 0.6e-6}};
  CHECK(transfer_time(Collective::all_reduce, 64.0 * 1048576.0, {8, 8}, links, h100.transfers).total_s * 1e6 ==
        Approx(323.99).epsilon(0.06));
  for (const GemmSet& set : h100.gemm) {
    REQUIRE(set.fit.has_value());
    CHECK(set.fit->rows == 1500);
    CHECK(set.fit->left_out->median >= set.fit->in_sample.median);
  }
}

TEST_CASE("training kernels reproduce the published throughput", "[cost][calibration]") {
  // Figures of the FlashAttention-3 paper, H100, causal, 16k tokens, hidden 2048 [TFLOP/s]; the curve is within 5 % of
  // each. Published TFLOP/s count 2 B H S^2 D forward and 3.5 times that forward + backward.
  const Calibration h100 = load_calibration(shipped(), "h100-sxm5-80gb");
  const auto rate = [&](std::string_view kernel, std::int64_t s, std::int64_t dim, bool both) {
    const AttentionShape shape{
        .b = 16384 / s, .s_q = s, .s_kv = s, .heads = 2048 / dim, .kv_heads = 2048 / dim, .head_dim = dim};
    const FlashParameters& flash = h100.find_flash(kernel)->parameters;
    const MachineRates rates = h100.rates(*h100.find_gemm("bf16"));
    FlashParameters benchmark = flash;
    benchmark.sustained = 1.0;
    benchmark.gap_s = 0.0;
    double time = flash_attention_time(shape, AttentionPass::forward, benchmark, rates).total_s;
    if (both) time += flash_attention_time(shape, AttentionPass::backward, benchmark, rates).total_s;
    const double flops = 2.0 * static_cast<double>(shape.b * shape.heads * s * s * dim) * (both ? 3.5 : 1.0);
    return flops / time / 1e12;
  };
  // 333/(1 + 532/8192) = 312.7; 308/(1 + 359/4096) = 283.2; 655/(1 + 604/16384) = 631.7; 561/(1 + 387/2048) = 471.8.
  CHECK(rate("flash2", 8192, 128, true) == Approx(312.7).epsilon(2e-3));
  CHECK(rate("flash2", 4096, 64, false) == Approx(283.2).epsilon(2e-3));
  CHECK(rate("flash3", 16384, 128, false) == Approx(631.7).epsilon(2e-3));
  CHECK(rate("cudnn", 2048, 128, false) == Approx(471.8).epsilon(2e-3));
  CHECK(h100.find_flash("triton") == nullptr);
}

TEST_CASE("FlashAttention 1 in Triton takes as long as in CUDA with heads of 64, less with wider ones",
          "[cost][calibration]") {
  const Calibration a100 = load_calibration(shipped(), "a100-sxm4-40gb");
  const MachineRates rates = a100.rates(*a100.find_gemm("bf16"));
  const auto seconds = [&](std::string_view kernel, std::int64_t dim, AttentionPass pass) {
    constexpr std::int64_t k_sequence = 16384;
    const AttentionShape shape{
        .b = 1, .s_q = k_sequence, .s_kv = k_sequence, .heads = 2048 / dim, .kv_heads = 2048 / dim, .head_dim = dim};
    return flash_attention_time(shape, pass, a100.find_flash(kernel)->parameters, rates).total_s;
  };
  const auto both = [&](std::string_view kernel, std::int64_t dim) {
    return seconds(kernel, dim, AttentionPass::forward) + seconds(kernel, dim, AttentionPass::backward);
  };
  CHECK(both("flash_triton", 64) == Approx(both("flash1", 64)).epsilon(1e-3));
  CHECK(both("flash_triton", 128) < both("flash1", 128));
  CHECK(seconds("flash_triton", 64, AttentionPass::forward) ==
        Approx(0.2 * both("flash_triton", 64)).epsilon(1e-2));  // a fifth of both passes
  CHECK(load_calibration(shipped(), "h100-sxm5-80gb").find_flash("flash_triton") == nullptr);
}

TEST_CASE("products on AMD run at the published rate, at the clock that its power limit leaves",
          "[cost][calibration]") {
  // AMD's max-achievable rates of hipBLASLt in bf16 [TFLOP/s], shape of its blog: 16 x 19 = 304 tiles of 256 x 256 fill the 304 compute
  // units once. MI300X: 2 x 4096 x 4864 x 32896 / 708e12 = 1851.4 us; MI325X: / 831.4e12 = 1576.6 us. Beyond that, fill and output of a
  // tile, 8 us at a clock of 0.575 or 0.689, and the memory's share: 1 %.
  const auto product_us = [](const char* name) {
    const Calibration calibration = load_calibration(shipped(), name);
    const GemmSet* bf16 = calibration.find_gemm("bf16");
    REQUIRE(bf16 != nullptr);
    return gemm_time({.m = 4096, .n = 4864, .k = 32896}, bf16->parameters, calibration.rates(*bf16)).total_s * 1e6;
  };
  CHECK(product_us("mi300x") == Approx(1851.4).epsilon(0.02));
  CHECK(product_us("mi325x") == Approx(1576.6).epsilon(0.02));
  for (const char* name : {"mi300x", "mi325x", "mi350x", "mi355x"}) {
    CAPTURE(name);
    const Calibration calibration = load_calibration(shipped(), name);
    REQUIRE(calibration.find_gemm("fp8") != nullptr);
    CHECK(calibration.find_gemm("fp8") != calibration.find_gemm("bf16"));
    CHECK(calibration.find_gemm("fp8")->provenance.evidence == Evidence::assumed);
  }
  // Clock: 1207 and 1447 of 2100 MHz; MI350X and MI355X have MI300X's.
  CHECK(load_calibration(shipped(), "mi300x").sustained == Approx(1207.0 / 2100.0).epsilon(1e-3));
  CHECK(load_calibration(shipped(), "mi325x").sustained == Approx(1447.0 / 2100.0).epsilon(1e-3));
  CHECK(load_calibration(shipped(), "mi355x").sustained == load_calibration(shipped(), "mi300x").sustained);
}

TEST_CASE("carried-over parameters are marked", "[cost][calibration]") {
  const Calibration v100 = load_calibration(shipped(), "v100-sxm2-32gb");
  CHECK(v100.gemm.front().provenance.evidence == Evidence::assumed);
  CHECK(v100.transfer_provenance.evidence == Evidence::assumed);
  CHECK(v100.transfers.domain.fits.empty());
  // The K-step floor follows the time of a 128 x 128 step: peak per multiprocessor 312/108 against 125/80.
  CHECK(v100.gemm.front().parameters.step_floor_s == Approx(0.332e-6 * (312.0 / 108) / (125.0 / 80)).epsilon(1e-3));
  CHECK(load_calibration(shipped(), "h100-sxm5-80gb").gemm.front().provenance.evidence == Evidence::fitted);
  CHECK(load_calibration(shipped(), "h200-sxm-141gb").find_flash("flash2")->provenance.evidence == Evidence::assumed);
}

TEST_CASE("what is wrong in a calibration file is named", "[cost][calibration]") {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text("version: 1\nname: x\naccelerator: y\ngap: 3\ntenser: 1\n",
                                               config::Syntax::yaml, "x.yaml", diagnostics);
  Calibration calibration;
  config::read(node, calibration, diagnostics);
  std::string all;
  for (const core::Diagnostic& diagnostic : diagnostics.all()) all += diagnostic.to_string() + "\n";
  CHECK(all.find("x.yaml:4") != std::string::npos);  // gap without a unit
  CHECK(all.find("tenser") != std::string::npos);    // unknown key
  CHECK(all.find("machine") != std::string::npos);   // missing section
  CHECK_THROWS_AS(load_calibration(shipped(), "no-such-accelerator"), core::ConfigurationError);
}

TEST_CASE("a calibration written is read back equal", "[cost][calibration]") {
  const Calibration before = load_calibration(shipped(), "h100-sxm5-80gb");
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(config::to_json(before), config::Syntax::json, "h100.json", diagnostics);
  Calibration after;
  config::read(node, after, diagnostics);
  for (const core::Diagnostic& diagnostic : diagnostics.all()) UNSCOPED_INFO(diagnostic.to_string());
  REQUIRE_FALSE(diagnostics.has_errors());
  CHECK(after.gemm.size() == before.gemm.size());
  CHECK(after.find_gemm("fp8")->parameters.quantise_passes == before.find_gemm("fp8")->parameters.quantise_passes);
  CHECK(after.find_gemm("fp8")->fit->residual_p10 == before.find_gemm("fp8")->fit->residual_p10);
  CHECK(after.transfers.domain.fits[0].ramp == Approx(before.transfers.domain.fits[0].ramp).epsilon(1e-9));
  CHECK(after.transfers.domain.fits.size() == before.transfers.domain.fits.size());
  CHECK(after.transfers.domain.fits[0].gamma == Approx(before.transfers.domain.fits[0].gamma).epsilon(1e-9));
  CHECK(after.find_flash("flash3")->parameters.forward[2].row_keys == 685.0);
}

}  // namespace cairn::cost
