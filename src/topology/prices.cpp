#include "cairn/topology/prices.h"

#include "cairn/config/read.h"

namespace cairn::topology {
namespace {

using hardware::LevelKind;

bool comes_with_nodes(LevelKind kind) {
  return kind == LevelKind::nvswitch || kind == LevelKind::pcie_tree || kind == LevelKind::hybrid_cube_mesh ||
         kind == LevelKind::graph;
}

}  // namespace

void describe(config::Fields& fields, PriceList& prices) {
  std::int64_t version = 1;
  fields.count("version", version, {.doc = "of the file format", .minimum = 1, .maximum = 1});
  fields.text("name", prices.name, {.required = true});
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
  const Parts parts{.switch_ports = prices.switch_ports, .board = prices.board};
  for (const CompositeLevel& level : network.levels()) {
    const std::string label = level.name + " (" + std::string(hardware::name(level.kind)) + ")";
    if (comes_with_nodes(level.kind)) {
      bill.remarks.push_back(label + ": comes with the nodes, not in the cost");
      continue;
    }
    const std::optional<Wiring> wiring = level.network->wiring(parts);
    if (!wiring) {
      complete = false;
      bill.remarks.push_back(label + ": cannot be built from switches of " + std::to_string(prices.switch_ports) +
                             " ports, so the cost is unknown");
      continue;
    }
    const std::int64_t domains = network.domains(level);
    bill.wiring.switches += domains * wiring->switches;
    bill.wiring.short_cables += domains * wiring->short_cables;
    bill.wiring.long_cables += domains * wiring->long_cables;
  }
  if (!complete) return bill;
  bill.usd = static_cast<double>(bill.wiring.switches) * prices.switch_price.base() +
             static_cast<double>(bill.wiring.short_cables) * prices.short_cable.base() +
             static_cast<double>(bill.wiring.long_cables) * prices.long_cable.base();
  return bill;
}

}  // namespace cairn::topology
