// Rates of releases of libraries.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cairn/config/read.h"
#include "cairn/core/diagnostics.h"
#include "cairn/cost/calibration.h"
#include "cairn/cost/carried.h"
#include "cairn/cost/memory_bound.h"
#include "cairn/hardware/files.h"
#include "catch.h"
#include "support/shipped.h"

namespace cairn::cost {
namespace {

using cairn::testing::shipped;

// A product, an attention kernel and a norm; releases "new" have another product, a product more and another norm.
Calibration two_releases() {
  Calibration calibration{.sustained = 0.8};
  calibration.gemm = {{.type = "bf16", .parameters = {.tensor_efficiency = 0.5}}};
  calibration.flash_attention = {{.parameters = {.kernel = "cudnn", .tail = 1.0}}};
  Libraries libraries;
  libraries.gemm = {{.type = "fp8", .parameters = {.tensor_efficiency = 0.7}},
                    {.type = "bf16", .parameters = {.tensor_efficiency = 0.6}, .relative_clock = 1.1}};
  libraries.kernels = {
      {.kernel = "rmsnorm", .widths = {1024, 2048}, .forward = KernelLaw{.floor_s = 2e-6, .efficiency = 0.8}},
      {.kernel = "rmsnorm", .forward = KernelLaw{.floor_s = 2e-6, .efficiency = 0.4}}};
  libraries.power = PowerLaw{.limit_w = 700.0, .idle_w = 133.0, .memory_w = 600.0, .spread = 0.01};
  calibration.libraries = {{"new", libraries}};
  calibration.share_common();
  return calibration;
}

}  // namespace

TEST_CASE("sets of the libraries in use take the place of those of the same name", "[cost][calibration]") {
  Calibration calibration = two_releases();
  CHECK(calibration.find_gemm("bf16")->parameters.sustained == 0.8);
  calibration.use("new");
  REQUIRE(calibration.gemm.size() == 2);
  CHECK(calibration.find_gemm("bf16")->parameters.tensor_efficiency == 0.6);
  CHECK(calibration.find_gemm("bf16")->parameters.sustained == Approx(0.88));  // 0.8 x 1.1
  CHECK(calibration.find_gemm("bf16")->parameters.shares_clock);
  CHECK(calibration.find_gemm("fp8")->parameters.tensor_efficiency == 0.7);
  CHECK(calibration.find_gemm("fp8")->parameters.sustained == 0.8);
  CHECK(calibration.find_flash("cudnn")->parameters.tail == 1.0);
  CHECK(calibration.kernels.size() == 1);
  CHECK(calibration.kernels.at("rmsnorm").size() == 2);
}

TEST_CASE("without a limit of power kernels of all kinds have the clock of long runs", "[cost][calibration]") {
  Calibration calibration = two_releases();
  calibration.libraries.front().second.power.reset();
  calibration.use("new");
  CHECK(calibration.find_gemm("bf16")->parameters.sustained == 0.8);
  CHECK_FALSE(calibration.find_gemm("bf16")->parameters.shares_clock);
}

TEST_CASE("libraries that a calibration does not list leave it as it is", "[cost][calibration]") {
  for (const char* name : {"", "old"}) {
    Calibration calibration = two_releases();
    calibration.use(name);
    CHECK(calibration.gemm.size() == 1);
    CHECK(calibration.find_gemm("bf16")->parameters.tensor_efficiency == 0.5);
    CHECK(calibration.find_law("rmsnorm", KernelPass::forward, 1024) == nullptr);
    CHECK(calibration.libraries.empty());
  }
}

// As an experiment that is written out holds it, beside a framework that names the libraries.
TEST_CASE("a calibration with libraries in use prices the same once written and read", "[cost][calibration]") {
  Calibration used = load_calibration(shipped(), "h100-sxm5-80gb");
  used.use("transformer-engine-2");
  Calibration again = load_calibration(shipped(), config::to_node(used));
  again.use("transformer-engine-2");
  REQUIRE(used.power.has_value());
  REQUIRE(again.power.has_value());
  CHECK(again.power->limit_w == Approx(used.power->limit_w));
  CHECK(again.power->idle_w == Approx(used.power->idle_w));
  CHECK(again.power->memory_w == Approx(used.power->memory_w));
  CHECK(again.power->spread == used.power->spread);
  REQUIRE(again.kernels.size() == used.kernels.size());
  for (const auto& [kernel, sets] : used.kernels) {
    const std::vector<KernelSet>& read = again.kernels.at(kernel);
    REQUIRE(read.size() == sets.size());
    for (std::size_t i = 0; i < sets.size(); ++i) {
      CHECK(read[i].widths == sets[i].widths);
      REQUIRE(read[i].backward.has_value() == sets[i].backward.has_value());
      if (!sets[i].backward) continue;
      CHECK(read[i].backward->floor_s == Approx(sets[i].backward->floor_s));
      CHECK(read[i].backward->efficiency == Approx(sets[i].backward->efficiency));
    }
  }
  const GemmShape shape{.m = 4096, .n = 4096, .k = 4096};
  for (const char* type : {"bf16", "fp8"}) {
    const GemmSet &before = *used.find_gemm(type), &after = *again.find_gemm(type);
    CHECK(gemm_time(shape, after.parameters, again.rates(after)).total_s ==
          Approx(gemm_time(shape, before.parameters, used.rates(before)).total_s).epsilon(1e-9));
  }
  CHECK(again.find_flash("cudnn")->parameters.forward.size() == used.find_flash("cudnn")->parameters.forward.size());
}

TEST_CASE("the law of a kernel is that of the first set for rows of the width", "[cost][calibration]") {
  Calibration calibration = two_releases();
  calibration.use("new");
  const auto efficiency = [&](std::int64_t width) {
    const KernelLaw* law = calibration.find_law("rmsnorm", KernelPass::forward, width);
    return law != nullptr ? law->efficiency : 0.0;
  };
  CHECK(efficiency(2048) == 0.8);
  CHECK(efficiency(1536) == 0.4);
  CHECK(calibration.find_law("rmsnorm", KernelPass::backward, 2048) == nullptr);
  CHECK(calibration.find_law("", KernelPass::forward, 2048) == nullptr);
  CHECK(calibration.find_law("layernorm", KernelPass::forward, 2048) == nullptr);
}

TEST_CASE("two sets of a kernel for rows of one width are refused", "[cost][calibration]") {
  const Calibration h100 = load_calibration(shipped(), "h100-sxm5-80gb");
  const auto read_with = [&h100](const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& sets) {
    Calibration calibration = h100;
    std::vector<KernelSet>& kernels = calibration.libraries.front().second.kernels;
    for (const auto& [kernel, widths] : sets) {
      KernelSet& added = kernels.emplace_back(KernelSet(kernels.front()));
      added.kernel = kernel;
      added.widths = widths;
    }
    load_calibration(shipped(), config::to_node(calibration));
  };
  CHECK_NOTHROW(read_with({{"own", {512, 1024}}, {"own", {2048}}, {"own", {}}, {"other", {512}}}));
  CHECK_THROWS_AS(read_with({{"own", {512, 1024}}, {"own", {1024}}}), core::ConfigurationError);
  CHECK_THROWS_AS(read_with({{"own", {}}, {"own", {}}}), core::ConfigurationError);
  CHECK_THROWS_AS(read_with({{"own", {}}, {"own", {512}}}), core::ConfigurationError);  // never taken
}

TEST_CASE("a measured kernel takes its floor and what its bytes take", "[cost]") {
  // 3 us + 4 MB / (0.5 x 4 TB/s) = 5 us, of which the device idles 1.
  const MachineRates rates{.memory_bandwidth = 4e12};
  const KernelTime time = measured_kernel_time(4e6, {.floor_s = 3e-6, .efficiency = 0.5}, 1e-6, rates);
  CHECK(time.total_s == Approx(5e-6));
  CHECK(time.launch_s == Approx(1e-6));
  CHECK(time.memory_s == Approx(2e-6));
  CHECK(time.memory_bytes == 4e6);
  CHECK(time.total_s == Approx(time.compute_s + time.memory_s - time.hidden_s + time.overhead_s + time.launch_s));
  // A floor below the gap between kernels, and nothing to move.
  const KernelTime other = measured_kernel_time(0.0, {.floor_s = 1e-6, .efficiency = 0.5}, 3e-6, rates);
  CHECK(other.total_s == Approx(1e-6));
  CHECK(other.busy_s() == 0.0);
}

// H100: 3.35 TB/s, over PCIe 2 TB/s. Its calibration is the other's with figures of its own.
TEST_CASE("measured kernels follow the memory of the accelerator", "[cost][calibration]") {
  const auto memory_s = [](Calibration calibration) {
    calibration.use("transformer-engine-2");
    const KernelLaw* law = calibration.find_law("rmsnorm", KernelPass::forward, 4096);
    REQUIRE(law != nullptr);
    return measured_kernel_time(1e8, *law, calibration.gap_s, calibration.machine).memory_s;
  };
  const Calibration here = load_calibration(shipped(), "h100-sxm5-80gb");
  const hardware::Accelerator pcie = hardware::load_accelerator(shipped(), "h100-pcie-80gb");
  const double there_s = memory_s(here) * 3.35 / 2.0;
  CHECK(memory_s(carried(here, pcie).calibration) == Approx(there_s));
  CHECK(memory_s(load_calibration(shipped(), "h100-pcie-80gb")) == Approx(there_s));
}

}  // namespace cairn::cost
