// What a network costs: switches and cables by a price list.
//
//   cost = switches x price of one + short cables x price + long cables x price, over all planes and domains
// Networks inside nodes (nvswitch, pcie-tree, hybrid-cube-mesh, graph) come with the nodes and are not counted.
// Files: configs/prices/<name>.yaml.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/config/fields.h"
#include "cairn/config/loader.h"
#include "cairn/core/quantity.h"
#include "cairn/topology/composite.h"

namespace cairn::topology {

struct PriceList {
  std::string name = {};
  std::int64_t switch_ports = 0;
  core::Dollars switch_price = {};
  core::Dollars short_cable = {};
  core::Dollars long_cable = {};
  std::int64_t board = 1;  // as Parts::board
};
void describe(config::Fields& fields, PriceList& prices);

// Throws core::ConfigurationError.
PriceList load_prices(const config::Loader& loader, std::string_view name);

struct Bill {
  Wiring wiring = {};
  std::optional<double> usd = {};         // nothing where a part cannot be built from the list
  std::vector<std::string> remarks = {};  // what is not counted, and why
};
Bill bill(const Composite& network, const PriceList& prices);

}  // namespace cairn::topology
