#include "cairn/hardware/running_costs.h"

#include <fmt/format.h>

#include "cairn/core/format_units.h"

namespace cairn::hardware {
namespace {

std::string price_text(core::Dollars price, const config::Origins& origins, std::string_view key_path) {
  const std::string source = source_text(origins, key_path);
  return fmt::format("cost: {} per accelerator and hour{}", core::format(price),
                     source.empty() ? "" : " (" + source + ")");
}

}  // namespace

RunningCosts running_costs(const Machine& machine) {
  const Cluster& cluster = machine.cluster.value;
  const Accelerator& accelerator = machine.accelerator.value;
  RunningCosts costs;
  if (const auto price = cluster.price.accelerator_hour) {
    costs.accelerator_hour = price;
    costs.assumptions.push_back(price_text(*price, machine.cluster.origins, "price.accelerator_hour"));
  } else if (accelerator.hourly_price) {
    costs.accelerator_hour = accelerator.hourly_price;
    costs.assumptions.push_back(price_text(*accelerator.hourly_price, machine.accelerator.origins, "hourly_price"));
  } else {
    costs.assumptions.push_back(
        fmt::format("cost: no price of {} is known; state cluster.price.accelerator_hour", accelerator.name));
  }
  const core::Watts limit = cluster.power.accelerator.value_or(accelerator.power);
  costs.power = cluster.power.pue * (static_cast<double>(machine.network.gpus()) * limit +
                                     static_cast<double>(machine.network.nodes) * cluster.power.node_overhead);
  costs.assumptions.push_back(fmt::format("energy: every accelerator draws its limit of {}, {} more per node, PUE {:g}",
                                          core::format(limit), core::format(cluster.power.node_overhead),
                                          cluster.power.pue));
  return costs;
}

}  // namespace cairn::hardware
