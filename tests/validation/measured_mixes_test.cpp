// Mixes of kernels measured on an H100 (validate/measured/h100-sxm5-80gb/mixes.csv) against the clock that the shipped
// calibration says they share.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "cairn/cost/calibration.h"
#include "cairn/cost/clock.h"
#include "catch.h"
#include "rows.h"

namespace cairn::validation {
namespace {

struct MixedKernel {
  std::string kernel;
  double share = 0.0;  // of the time
  double us = 0.0;
};

std::map<std::string, std::vector<MixedKernel>> measured_mixes() {
  std::map<std::string, std::vector<MixedKernel>> mixes;
  for (const test::Row& row : test::rows_of("validate/measured/h100-sxm5-80gb/mixes.csv"))
    mixes[row.at("mix")].push_back(
        {.kernel = row.at("kernel"), .share = std::stod(row.at("share_of_time")), .us = std::stod(row.at("us"))});
  return mixes;
}

struct Kind {
  double short_us = 0.0;  // of a short run
  double work_us = 0.0;   // of it, what follows the clock
  cost::FollowsClock follows = {};
};

// So many short runs.
cost::KernelTime runs(const Kind& kind, double times) {
  constexpr double k_micro = 1e-6;
  cost::FollowsClock clock = kind.follows;
  clock.seconds = times * kind.work_us * k_micro;
  const double droop_s = clock.seconds * (clock.alone - 1.0);
  return {.total_s = times * kind.short_us * k_micro + droop_s, .droop_s = droop_s, .follows = clock};
}

}  // namespace

// What the shipped calibration says of products, attention and FP8 against 24 mixes of them with kernels that wait for
// memory and with idle time; times of short runs of the same kernels are measurements, too (library_kernels.csv).
// Clock and slowdown of products were fitted to these mixes, those of attention were not.
TEST_CASE("mixes of kernels on an H100 run as the shared clock says", "[validation]") {
  cost::Calibration calibration = cost::load_calibration(cairn::testing::shipped(), "h100-sxm5-80gb");
  calibration.use("transformer-engine-2");
  REQUIRE(calibration.power);
  // 8192 x 14336 x 4096.
  constexpr double k_flops = 2.0 * 8192 * 14336 * 4096, k_micro = 1e-6;
  const auto product = [&](double short_us, const char* type, double slower) {
    const cost::GemmSet& of = *calibration.find_gemm(type);
    return Kind{.short_us = short_us,
                .work_us = k_flops / (of.parameters.tensor_efficiency * of.peak_flops * slower) / k_micro,
                .follows = {.clock_hz = of.parameters.clock_hz, .alone = 1.0 / of.parameters.sustained}};
  };
  const auto attention = [&](double short_us, const char* kernel) {
    const cost::FlashParameters& of = calibration.find_flash(kernel)->parameters;
    return Kind{
        .short_us = short_us, .work_us = short_us, .follows = {.clock_hz = of.clock_hz, .alone = 1.0 / of.sustained}};
  };
  const double split = calibration.find_gemm("fp8")->parameters.split_accumulation;
  const std::map<std::string, Kind> kinds{
      {"gemm", product(1234.2, "bf16", 1.0)},      {"fp8", product(648.1, "fp8", 1.0)},
      {"fp8_split", product(690.9, "fp8", split)}, {"cudnn_fwd", attention(898.2, "cudnn")},
      {"cudnn_bwd", attention(2635.2, "cudnn")},   {"flash_fwd", attention(1772.8, "flash2")},
      {"flash_bwd", attention(4664.1, "flash2")}};
  double sum = 0.0;
  int kernels = 0;
  for (const auto& [mix, parts] : measured_mixes()) {
    cost::SharedClock clock(*calibration.power);
    for (const MixedKernel& part : parts) {
      const double times = part.share / part.us;
      const auto kind = kinds.find(part.kernel);
      if (kind == kinds.end()) {
        const bool idle = part.kernel == "idle";
        clock.add({.total_s = k_micro * part.share, .launch_s = idle ? k_micro * part.share : 0.0});
        continue;
      }
      clock.add(runs(kind->second, times));
    }
    const double clock_hz = clock.solve();
    for (const MixedKernel& part : parts) {
      const auto kind = kinds.find(part.kernel);
      if (kind == kinds.end()) continue;
      const double us = cost::time_at(runs(kind->second, 1.0), clock_hz) / k_micro;
      const double error = std::abs(us / part.us - 1.0);
      CAPTURE(mix, part.kernel, error);
      CHECK(error < 0.05);
      sum += error;
      ++kernels;
    }
  }
  CAPTURE(sum / kernels);
  CHECK(kernels == 34);
  CHECK(sum / kernels < 0.015);
}

}  // namespace cairn::validation
