#include "cairn/topology/prices.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "cairn/config/read.h"
#include "cairn/core/assert.h"
#include "kinds.h"

namespace cairn::topology {
namespace {

// What one stage of a network is bought as.
struct Bought {
  std::int64_t switches = 0;
  std::int64_t more_cables = 0;  // between switches that the network counts as one
};

// Nothing where switches of `ports` do not do.
std::optional<Bought> buy(const SwitchStage& stage, std::int64_t ports) {
  const std::int64_t half = std::max<std::int64_t>(1, ports / 2);
  switch (stage.packing) {
    case Packing::alone:
      if (stage.ports > ports) return {};
      return Bought{.switches = stage.count, .more_cables = 0};
    case Packing::whole: {
      if (stage.ports <= ports) return Bought{.switches = ceil_div(stage.count, ports / stage.ports), .more_cables = 0};
      const std::int64_t leaves = ceil_div(stage.ports, half);
      if (leaves > ports) return {};
      return Bought{.switches = stage.count * (leaves + ceil_div(leaves, 2)), .more_cables = stage.count * stage.ports};
    }
    case Packing::core: {
      std::int64_t below = 0;
      for (std::int64_t reach = ports; reach < stage.leaves; reach *= half) {
        if (half == 1) return {};
        ++below;
      }
      return Bought{.switches = ceil_div(stage.cables, ports) + below * ceil_div(stage.cables, half),
                    .more_cables = below * stage.cables};
    }
  }
  return {};
}

// Adds what one domain of a level costs in parts; false where it cannot be built.
bool add(const Inventory& inventory, std::int64_t domains, const std::string& label, std::int64_t ports, Bill& bill) {
  const std::int64_t copies = domains * inventory.planes;
  std::map<std::int64_t, std::array<std::int64_t, 2>> other;  // by ports: switches of the network, of the list
  for (const SwitchStage& stage : inventory.stages) {
    const std::optional<Bought> bought = buy(stage, ports);
    if (!bought) return false;
    bill.switches += copies * bought->switches;
    bill.long_cables += copies * bought->more_cables;
    if (bought->switches == stage.count) continue;
    auto& [had, got] = other[stage.ports];
    had += stage.count;
    got += bought->switches;
  }
  for (const auto& [each, counts] : other)
    bill.remarks.push_back(fmt::format("{}: {} switches of {} ports are bought as {} of {} ports", label, counts[0],
                                       each, counts[1], ports));
  bill.short_cables += copies * inventory.short_cables;
  bill.long_cables += copies * inventory.long_cables;
  return true;
}

}  // namespace

void describe(config::Fields& fields, PriceList& prices) {
  std::int64_t version = 1;
  fields.count("version", version, {.doc = "of the file format", .minimum = 1, .maximum = 1});
  fields.text("name", prices.name, {.doc = "shown in reports", .required = true});
  fields.count("switch_ports", prices.switch_ports,
               {.doc = "of one switch", .required = true, .minimum = 2, .maximum = 1 << 20});
  fields.quantity("switch", prices.switch_price, {.doc = "one switch", .required = true});
  fields.quantity("short_cable", prices.short_cable,
                  {.doc = "one cable within a few racks (copper)", .required = true});
  fields.quantity("long_cable", prices.long_cable, {.doc = "one longer cable (optical)", .required = true});
  fields.count("board", prices.board,
               {.doc = "accelerators along a side of a board of a torus or mesh; links on it need no cable",
                .minimum = 1,
                .maximum = 1 << 20});
}

PriceList load_prices(const config::Loader& loader, std::string_view name) {
  core::Diagnostics diagnostics;
  const config::Node node = loader.load_named(name, "prices", diagnostics);
  diagnostics.raise_if_errors();
  return config::read<PriceList>(node);
}

Bill bill(const Composite& network, const PriceList& prices) {
  Bill bill;
  bool complete = true;
  for (const CompositeLevel& level : network.levels()) {
    const std::string label = level.name + " (" + std::string(level.shape->name()) + ")";
    if (level.shape->parts() != Parts::bought) {
      bill.remarks.push_back(label + ": comes with the nodes, not in the cost");
      continue;
    }
    const std::optional<Inventory> inventory = level.network->inventory(prices.board);
    CAIRN_ASSERT(inventory.has_value());
    if (add(*inventory, network.domains(level), label, prices.switch_ports, bill)) continue;
    complete = false;
    bill.remarks.push_back(fmt::format("{}: cannot be built from switches of {} ports, so the cost is unknown", label,
                                       prices.switch_ports));
  }
  if (!complete) return bill;
  bill.usd = static_cast<double>(bill.switches) * prices.switch_price.base() +
             static_cast<double>(bill.short_cables) * prices.short_cable.base() +
             static_cast<double>(bill.long_cables) * prices.long_cable.base();
  return bill;
}

}  // namespace cairn::topology
