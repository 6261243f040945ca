// What a network costs: switches and cables by a price list.
//
//   cost = switches x price of one + short cables x price + long cables x price, over all planes and domains
// The switches and cables are those of the network (Topology::inventory). A switch of the network is one switch of the
// list, if that has the ports p, with two exceptions, both said as remarks:
//   a core of c cables from n leaves: ceil(c / p) switches at the top, and below it as many stages of ceil(c / (p/2)),
//   each with c more cables, as it takes for n <= p (p/2)^stages
//   networks of e ends each: floor(p / e) on a switch; above p ends each a tree of l = ceil(e / (p/2)) leaves and
//   ceil(l / 2) switches over them, with e more cables
// Networks of accelerators' own links and those that a file lists (Parts) come with the nodes and are not counted.
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
  std::int64_t board = 1;  // accelerators along the side of a board (Topology::inventory)
};
void describe(config::Fields& fields, PriceList& prices);

// Throws core::ConfigurationError.
PriceList load_prices(const config::Loader& loader, std::string_view name);

struct Bill {
  std::int64_t switches = 0;
  std::int64_t short_cables = 0;
  std::int64_t long_cables = 0;
  std::optional<double> usd = {};         // empty where a switch of the network cannot be built from the list
  std::vector<std::string> remarks = {};  // what is not counted, and why
};
Bill bill(const Composite& network, const PriceList& prices);

}  // namespace cairn::topology
