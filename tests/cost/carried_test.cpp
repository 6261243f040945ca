// A calibration on a machine whose figures differ from those it was made with.
#include "cairn/cost/carried.h"

#include <algorithm>

#include "cairn/core/random.h"
#include "cairn/hardware/files.h"
#include "catch.h"
#include "support/shipped.h"

namespace cairn::cost {
namespace {

using cairn::testing::shipped;

hardware::Accelerator h100() { return hardware::load_accelerator(shipped(), "h100-sxm5-80gb"); }
Calibration calibrated() { return load_calibration(shipped(), "h100-sxm5-80gb"); }
void set_rate(hardware::PeakRates::Rates& rates, const std::string& format, double times) {
  for (auto& [name, rate] : rates)
    if (name == format) rate = times * rate;
}

}  // namespace

TEST_CASE("shipped calibrations are relative to the figures of their accelerator", "[cost][calibration]") {
  const config::Loader loader = shipped();
  for (const std::string& name : loader.names("accelerators")) {
    CAPTURE(name);
    const Calibration calibration = load_calibration(loader, name);
    const Carried result = carried(calibration, hardware::load_accelerator(loader, name));
    // Parameters taken over from another chip, relative to its figures, are the exceptions: from the SXM module to three
    // other peaks, from the MI300X to twice as many exponentials per clock.
    const std::size_t other = name == "h100-pcie-80gb" ? 3 : name == "mi350x" || name == "mi355x" ? 1 : 0;
    CAPTURE(result.differences);
    CHECK(result.differences.size() == other);
    CHECK(result.calibration.gap_s == calibration.gap_s);
    for (std::size_t i = 0; i < calibration.gemm.size(); ++i)
      CHECK(result.calibration.gemm[i].parameters.operand_bandwidth ==
            calibration.gemm[i].parameters.operand_bandwidth);
  }
}

TEST_CASE("rates of another machine by their ratio", "[cost][calibration]") {
  hardware::Accelerator machine = h100();
  const Calibration base = calibrated();
  set_rate(machine.peak.tensor, "bf16", 0.5);
  machine.memory.front().bandwidth = 2.0 * *machine.memory.front().bandwidth;
  machine.clock = 0.25 * machine.clock;
  machine.multiprocessors = 66;
  machine.launch_floor = 3.0 * machine.launch_floor;
  machine.exponentials_per_clock = 32.0;
  const Carried result = carried(base, machine);
  CHECK(result.calibration.find_gemm("bf16")->peak_flops == Approx(0.5 * base.find_gemm("bf16")->peak_flops));
  CHECK(result.calibration.find_gemm("fp8")->peak_flops == base.find_gemm("fp8")->peak_flops);
  CHECK(result.calibration.machine.memory_bandwidth == Approx(2.0 * base.machine.memory_bandwidth));
  CHECK(result.calibration.machine.sm_count == 66);
  CHECK(result.calibration.gap_s == Approx(3.0 * base.gap_s));
  CHECK(result.calibration.memory_bound.gap_s == Approx(3.0 * base.gap_s));
  CHECK(result.calibration.find_gemm("bf16")->parameters.operand_bandwidth ==
        Approx(0.25 * base.find_gemm("bf16")->parameters.operand_bandwidth));
  CHECK(result.calibration.machine.exp_per_clock_per_sm == 32.0);
  // Memory, clock, shortest kernel, multiprocessors, exponentials, peak.
  CHECK(result.differences.size() == 6);
  CHECK(std::count(result.differences.begin(), result.differences.end(),
                   "32 exponentials per clock and multiprocessor, calibrated with 16") == 1);
}

TEST_CASE("kernels that transpose run at a rate of their own, which multiprocessors and clock decide",
          "[cost][calibration]") {
  Calibration calibration = load_calibration(shipped(), "h100-sxm5-80gb");
  calibration.transposes = {{.kernel = "library", .bandwidth = 1e12}};
  CHECK(calibration.memory_bound_of("library").memory_efficiency == Approx(1e12 / 3.35e12));
  CHECK(calibration.memory_bound_of("").memory_efficiency == calibration.memory_bound.memory_efficiency);
  CHECK(calibration.memory_bound_of("another").memory_efficiency == calibration.memory_bound.memory_efficiency);
  const hardware::Accelerator pcie = hardware::load_accelerator(shipped(), "h100-pcie-80gb");
  const Calibration other = carried(calibration, pcie).calibration;
  CHECK(other.transposes.front().bandwidth == Approx(1e12 * 114 * 1.755 / (132 * 1.83)).epsilon(1e-6));
  // Never faster than memory takes it.
  calibration.transposes.front().bandwidth = 1e13;
  CHECK(calibration.memory_bound_of("library").memory_efficiency == calibration.memory_bound.memory_efficiency);
}

// A faster machine runs no kernel slower. The sizes are any that a plan may ask for.
TEST_CASE("more bandwidth or a higher peak never makes a kernel slower", "[cost][calibration]") {
  const config::Loader loader = shipped();
  core::Random random(20261122);
  const auto size = [&](int most_bits) {
    return static_cast<std::int64_t>(1 + random.below(std::uint64_t{1} << (1 + random.below(most_bits))));
  };
  for (const std::string& name : loader.names("calibration")) {
    if (name == "fabrics") continue;
    const Calibration calibration = load_calibration(loader, name);
    for (int i = 0; i < 400; ++i) {
      const GemmSet& set = calibration.gemm[random.below(calibration.gemm.size())];
      const GemmShape shape{.m = size(17), .n = size(16), .k = size(16), .batch = size(4), .input_bytes = 2.0};
      const MachineRates rates = calibration.rates(set);
      MachineRates memory = rates, peak = rates;
      memory.memory_bandwidth *= 2.0;
      peak.tensor_flops *= 2.0;
      CAPTURE(name, set.type, shape.m, shape.n, shape.k, shape.batch);
      const double time = gemm_time(shape, set.parameters, rates).total_s;
      constexpr double k_rounding = 1.0 + 1e-12;
      CHECK(gemm_time(shape, set.parameters, memory).total_s <= time * k_rounding);
      CHECK(gemm_time(shape, set.parameters, peak).total_s <= time * k_rounding);
      if (calibration.flash_attention.empty()) continue;
      const FlashSet& flash = calibration.flash_attention[random.below(calibration.flash_attention.size())];
      const std::int64_t length = size(17);
      const AttentionShape attention{
          .b = size(3), .s_q = length, .s_kv = length, .heads = size(6), .kv_heads = 1, .head_dim = 8 * size(5)};
      for (const AttentionPass pass : {AttentionPass::forward, AttentionPass::backward}) {
        const double before = flash_attention_time(attention, pass, flash.parameters, rates).total_s;
        CHECK(flash_attention_time(attention, pass, flash.parameters, memory).total_s <= before * k_rounding);
        CHECK(flash_attention_time(attention, pass, flash.parameters, peak).total_s <= before * k_rounding);
      }
    }
  }
}

}  // namespace cairn::cost
