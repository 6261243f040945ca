// Mixes of kernels measured on an H100 (validate/measured/h100-sxm5-80gb/mixes.csv) against the clock that the shipped
// calibration says they share.
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cairn/cost/calibration.h"
#include "cairn/cost/clock.h"
#include "cairn/measure/csv.h"
#include "catch.h"
#include "support/shipped.h"
#include "support/source_dir.h"

namespace cairn::validation {
namespace {

struct MixedKernel {
  std::string kernel;
  double share = 0.0;  // of the time
  double us = 0.0;
};

std::map<std::string, std::vector<MixedKernel>> measured_mixes() {
  const measure::CsvTable table = measure::read_csv(std::filesystem::path(cairn::testing::source_dir()) /
                                                    "validate/measured/h100-sxm5-80gb/mixes.csv");
  std::map<std::string, std::vector<MixedKernel>> mixes;
  for (const measure::CsvRecord& record : table.records)
    mixes[record.fields[0]].push_back(
        {.kernel = record.fields[1], .share = std::stod(record.fields[2]), .us = std::stod(record.fields[3])});
  return mixes;
}

// So many seconds of short runs.
cost::KernelTime following(cost::FollowsClock clock, double seconds) {
  clock.seconds = seconds;
  return {.total_s = seconds * clock.alone,
          .compute_s = seconds,
          .droop_s = seconds * (clock.alone - 1.0),
          .follows = clock};
}

}  // namespace

// What the shipped calibration says of products, attention and FP8 against 24 mixes of them with kernels that wait for
// memory and with idle time; times of short runs of the same kernels are measurements, too (library_kernels.csv).
// Clock and slowdown of products were fitted to these mixes, those of attention were not.
TEST_CASE("mixes of kernels on an H100 run as the shared clock says", "[validation]") {
  cost::Calibration calibration = cost::load_calibration(cairn::testing::shipped(), "h100-sxm5-80gb");
  calibration.use("transformer-engine-2");
  REQUIRE(calibration.power);
  const auto product = [&](const char* type) {
    const cost::GemmParameters& of = calibration.find_gemm(type)->parameters;
    return cost::FollowsClock{.clock_hz = of.clock_hz, .alone = 1.0 / of.sustained};
  };
  const auto attention = [&](const char* kernel) {
    const cost::FlashParameters& of = calibration.find_flash(kernel)->parameters;
    return cost::FollowsClock{.clock_hz = of.clock_hz, .alone = 1.0 / of.sustained};
  };
  struct Kind {
    double short_us = 0.0;
    cost::FollowsClock follows = {};
  };
  const std::map<std::string, Kind> kinds{
      {"gemm", {1234.2, product("bf16")}},         {"fp8", {648.1, product("fp8")}},
      {"fp8_split", {690.9, product("fp8")}},      {"cudnn_fwd", {898.2, attention("cudnn")}},
      {"cudnn_bwd", {2635.2, attention("cudnn")}}, {"flash_fwd", {1772.8, attention("flash2")}},
      {"flash_bwd", {4664.1, attention("flash2")}}};
  double sum = 0.0;
  int kernels = 0;
  for (const auto& [mix, parts] : measured_mixes()) {
    cost::SharedClock clock(*calibration.power);
    for (const MixedKernel& part : parts) {
      const double times = part.share / part.us;
      const auto kind = kinds.find(part.kernel);
      if (kind == kinds.end()) {
        const bool idle = part.kernel == "idle";
        clock.add({.total_s = part.share, .launch_s = idle ? part.share : 0.0});
        continue;
      }
      clock.add(following(kind->second.follows, times * kind->second.short_us));
    }
    const double clock_hz = clock.solve();
    for (const MixedKernel& part : parts) {
      const auto kind = kinds.find(part.kernel);
      if (kind == kinds.end()) continue;
      const double us = cost::time_at(following(kind->second.follows, kind->second.short_us), clock_hz);
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
