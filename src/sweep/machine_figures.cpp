#include "machine_figures.h"

#include <algorithm>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "cairn/cost/carried.h"
#include "cairn/cost/number.h"

namespace cairn::sweep {
namespace {

using config::Dimension;

constexpr std::string_view k_accelerator = "cluster.accelerator.";

template <class Quantity>
void multiply(Quantity& quantity, double factor) {
  quantity = quantity * factor;
}

// Prices follow the accelerator's figures by the laws of its calibration.
void carry(PricedMachine& machine) {
  machine.calibration = cost::carried(std::move(machine.calibration), machine.accelerator).calibration;
}

// What kernels and transfers take that is no share of a rate: times of their software, which were fitted.
void scale_software(cost::Calibration& calibration, double factor) {
  const auto scale = [factor](auto& of, const auto& table) { cost::scale(of, table, Dimension::seconds, factor); };
  if (calibration.machine.launch_floor_s == 0.0) calibration.gap_s *= factor;  // else it follows the shortest kernel
  for (cost::GemmSet& set : calibration.gemm) scale(set.parameters, cost::k_gemm_numbers);
  for (cost::FlashSet& set : calibration.flash_attention) {
    scale(set.parameters, cost::k_flash_numbers);
    for (std::vector<cost::FlashPoint>* points : {&set.parameters.forward, &set.parameters.backward})
      for (cost::FlashPoint& point : *points) scale(point, cost::k_flash_point_numbers);
  }
  for (auto& [kernel, sets] : calibration.kernels)
    for (cost::KernelSet& set : sets)
      for (std::optional<cost::KernelLaw>* law : {&set.forward, &set.backward, &set.parameters})
        if (*law) scale(**law, cost::k_kernel_law_numbers);
  scale(calibration.memory_bound, cost::k_memory_bound_numbers);
  if (calibration.attention_operator) scale(calibration.attention_operator->parameters, cost::k_attention_numbers);
  // Of a fitted latency the part that is not the links' own is left.
  cost::DomainLaws& inside = calibration.transfers.domain;
  scale(inside, cost::k_domain_numbers);
  for (cost::DomainFit& fit : inside.fits) {
    for (cost::ProtocolLine& line : fit.protocols) scale(line, cost::k_protocol_line_numbers);
    scale(fit, cost::k_protocol_form_numbers);
    scale(fit, cost::k_short_form_numbers);
  }
  scale(calibration.transfers.fabric, cost::k_fabric_numbers);
  calibration.share_common();  // sets have the gap above
}

void scale_channels(cost::Calibration& calibration, double factor) {
  const auto scale = [factor](auto& of, const auto& table) {
    cost::scale(of, table, Dimension::bytes_per_second, factor);
  };
  scale(calibration.communication, cost::k_communication_numbers);
  cost::DomainLaws& laws = calibration.transfers.domain;
  for (cost::TreeChannel* each : {&laws.tree_channel, &laws.switch_tree_channel})
    scale(*each, cost::k_tree_channel_numbers);
}

class FigureList {
 public:
  explicit FigureList(const experiment::Job& job) : job_(job), machine_(job.parts()) {}

  std::vector<Figure> make() {
    accelerator();
    for (std::size_t level = 0; level < machine_.network.levels.size(); ++level) links(level);
    if (machine_.host) host();
    software();
    return std::move(all_);
  }

 private:
  using Scale = std::function<void(PricedMachine& machine, double factor)>;
  void add(std::string name, Dimension dimension, std::optional<double> value, Scale scale) {
    if (value && *value == 0.0) return;
    all_.push_back({.name = std::move(name), .dimension = dimension, .value = value, .scale = std::move(scale)});
  }
  // A figure of the accelerator's data sheet.
  void of_chip(std::string_view key, Dimension dimension, double value,
               const std::function<void(hardware::Accelerator& accelerator, double factor)>& scale) {
    add(fmt::format("{}{}", k_accelerator, key), dimension, value, [scale](PricedMachine& machine, double factor) {
      scale(machine.accelerator, factor);
      carry(machine);
    });
  }

  void accelerator() {
    using hardware::Accelerator;
    const Accelerator& chip = machine_.accelerator;
    // Products run on the matrix units, or on the lanes of a machine without units for their format.
    if (!chip.peak.tensor.empty())
      of_chip("peak.tensor", Dimension::flops_per_second, job_.peak().rate.base(), [](Accelerator& of, double factor) {
        for (auto& [format, rate] : of.peak.tensor) multiply(rate, factor);
      });
    of_chip("peak.vector", Dimension::flops_per_second, chip.vector_peak(numerics::Format::fp32).base(),
            [](Accelerator& of, double factor) {
              for (auto& [format, rate] : of.peak.vector) multiply(rate, factor);
            });
    of_chip("clock", Dimension::hertz, chip.clock.base(),
            [](Accelerator& of, double factor) { multiply(of.clock, factor); });
    of_chip("memory[0].bandwidth", Dimension::bytes_per_second, chip.device_memory().bandwidth->base(),
            [](Accelerator& of, double factor) { multiply(*of.memory.front().bandwidth, factor); });
    of_chip("launch_floor", Dimension::seconds, chip.launch_floor.base(),
            [](Accelerator& of, double factor) { multiply(of.launch_floor, factor); });
  }

  void links(std::size_t index) {
    const hardware::NetworkLevel& level = machine_.network.levels[index];
    if (level.size == 1) return;
    const auto of_level = [&](std::string_view key, Dimension dimension, double value, auto scale) {
      add(fmt::format("cluster.{}.{}", level.key_path, key), dimension, value,
          [index, scale](PricedMachine& machine, double factor) { scale(machine.network.levels[index], factor); });
    };
    using hardware::NetworkLevel;
    of_level("bandwidth", Dimension::bytes_per_second, level.nic_bandwidth.base(),
             [](NetworkLevel& of, double factor) { multiply(of.nic_bandwidth, factor); });
    if (level.switches > 1)
      of_level("uplink", Dimension::bytes_per_second, level.uplink.base(),
               [](NetworkLevel& of, double factor) { multiply(of.uplink, factor); });
    of_level("latency", Dimension::seconds, level.latency.base(),
             [](NetworkLevel& of, double factor) { multiply(of.latency, factor); });
  }

  void host() {
    using hardware::Host;
    const auto of_host = [&](std::string_view key, Dimension dimension, double value, auto scale) {
      add(fmt::format("cluster.host.{}", key), dimension, value,
          [scale](PricedMachine& machine, double factor) { scale(*machine.host, factor); });
    };
    const Host& host = *machine_.host;
    of_host("memory_bandwidth", Dimension::bytes_per_second, host.memory_bandwidth.base(),
            [](Host& of, double factor) { multiply(of.memory_bandwidth, factor); });
    if (host.flops)
      of_host("flops", Dimension::flops_per_second, host.flops->base(),
              [](Host& of, double factor) { multiply(*of.flops, factor); });
    of_host("link.bandwidth", Dimension::bytes_per_second, host.link.bandwidth.base(),
            [](Host& of, double factor) { multiply(of.link.bandwidth, factor); });
    of_host("link.latency", Dimension::seconds, host.link.latency.base(),
            [](Host& of, double factor) { multiply(of.link.latency, factor); });
    if (!host.nvme) return;
    of_host("nvme.bandwidth", Dimension::bytes_per_second, host.nvme->bandwidth.base(),
            [](Host& of, double factor) { multiply(of.nvme->bandwidth, factor); });
    if (host.nvme->write)
      of_host("nvme.write", Dimension::bytes_per_second, host.nvme->write->base(),
              [](Host& of, double factor) { multiply(*of.nvme->write, factor); });
  }

  void software() {
    for (const hardware::HostNumber& number : hardware::k_host_numbers) {
      const auto* const found = std::get_if<core::Seconds hardware::HostTimes::*>(&number.member);
      if (found == nullptr) continue;
      const auto time = *found;
      add(fmt::format("training.framework.{}", number.key), Dimension::seconds, (machine_.host_times.*time).base(),
          [time](PricedMachine& machine, double factor) { multiply(machine.host_times.*time, factor); });
    }
    add("calibration.channels", Dimension::bytes_per_second, std::nullopt,
        [](PricedMachine& machine, double factor) { scale_channels(machine.calibration, factor); });
    add("calibration.times", Dimension::seconds, std::nullopt,
        [](PricedMachine& machine, double factor) { scale_software(machine.calibration, factor); });
  }

  const experiment::Job& job_;
  const PricedMachine machine_;
  std::vector<Figure> all_;
};

}  // namespace

PricedMachine::PricedMachine(const experiment::Parts& parts)
    : calibration(parts.calibrated.calibration),
      accelerator(parts.machine.accelerator.value),
      network(parts.machine.network),
      host_times(parts.software.framework.host_times),
      host(parts.machine.cluster.value.host) {}

std::vector<Figure> figures_of(const experiment::Job& job) { return FigureList(job).make(); }

}  // namespace cairn::sweep
