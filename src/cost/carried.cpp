#include "cairn/cost/carried.h"

#include <fmt/format.h>

#include "cairn/core/format_units.h"

namespace cairn::cost {
namespace {

class Comparison {
 public:
  template <class Quantity>
  void add(std::string_view what, double now, double then) {
    if (now == then || then == 0.0) return;
    all.push_back(fmt::format("{} {}, calibrated at {}", what, core::format(Quantity::from_base(now)),
                              core::format(Quantity::from_base(then))));
  }
  std::vector<std::string> all;
};

}  // namespace

MachineRates machine_rates(const hardware::Accelerator& accelerator) {
  const hardware::MemoryLevel* cache = accelerator.last_level_cache();
  return {.vector_flops = accelerator.vector_peak(numerics::Format::fp32).base(),
          .memory_bandwidth = accelerator.device_memory().bandwidth->base(),
          .l2_bytes = cache != nullptr ? cache->capacity.base() : 0.0,
          .sm_count = static_cast<double>(accelerator.multiprocessors),
          .clock_hz = accelerator.clock.base(),
          .exp_per_clock_per_sm = accelerator.exponentials_per_clock,
          .launch_floor_s = accelerator.launch_floor / core::k_second};
}

std::optional<core::FlopsPerSecond> product_peak(std::string_view type, const hardware::Accelerator& accelerator) {
  using numerics::Format;
  if (type.starts_with("fp8")) return accelerator.matrix_peak(Format::fp8_e4m3);
  if (type == "fp32") return accelerator.matrix_peak(Format::fp32);
  if (type != "bf16") return std::nullopt;
  const auto peak = accelerator.matrix_peak(Format::bf16);
  return peak ? peak : accelerator.matrix_peak(Format::fp16);
}

Carried carried(Calibration calibration, const hardware::Accelerator& accelerator) {
  const MachineRates then = calibration.machine;
  MachineRates now = machine_rates(accelerator);
  if (now.l2_bytes == 0.0) now.l2_bytes = then.l2_bytes;  // a data sheet that leaves the cache out
  Comparison comparison;
  comparison.add<core::BytesPerSecond>("memory bandwidth", now.memory_bandwidth, then.memory_bandwidth);
  comparison.add<core::Bytes>("last-level cache", now.l2_bytes, then.l2_bytes);
  comparison.add<core::Hertz>("clock", now.clock_hz, then.clock_hz);
  comparison.add<core::FlopsPerSecond>("fp32 lanes", now.vector_flops, then.vector_flops);
  comparison.add<core::Seconds>("shortest kernel", now.launch_floor_s, then.launch_floor_s);
  if (now.sm_count != then.sm_count)
    comparison.all.push_back(fmt::format("{:g} multiprocessors, calibrated with {:g}", now.sm_count, then.sm_count));
  if (now.exp_per_clock_per_sm != then.exp_per_clock_per_sm)
    comparison.all.push_back(fmt::format("{:g} exponentials per clock and multiprocessor, calibrated with {:g}",
                                         now.exp_per_clock_per_sm, then.exp_per_clock_per_sm));

  for (GemmSet& set : calibration.gemm) {
    if (const auto peak = product_peak(set.type, accelerator)) {
      comparison.add<core::FlopsPerSecond>("peak of products in " + set.type, peak->base(), set.peak_flops);
      set.peak_flops = peak->base();
    }
    set.parameters.operand_bandwidth *= now.clock_hz / then.clock_hz;
    set.parameters.clock_hz *= now.clock_hz / then.clock_hz;
  }
  for (FlashSet& set : calibration.flash_attention) set.parameters.clock_hz *= now.clock_hz / then.clock_hz;
  for (TransposeSet& set : calibration.transposes)
    set.bandwidth *= now.clock_hz * now.sm_count / (then.clock_hz * then.sm_count);
  if (then.launch_floor_s > 0.0) calibration.gap_s *= now.launch_floor_s / then.launch_floor_s;
  calibration.machine = now;
  calibration.share_common();
  return {.calibration = std::move(calibration), .differences = std::move(comparison.all)};
}

}  // namespace cairn::cost
