// A cluster as users write it: nodes of equal accelerators on a hierarchy of networks.
//
// Short form, two levels:            General form, inner to outer:
//   gpus_per_node: 8                   gpus_per_node: 4
//   nodes: 4                           levels:
//   intra: {kind: nvswitch, ...}         - {name: rack, kind: nvswitch, size: 72, bandwidth: 900 GB/s, latency: 1 us}
//   inter: {kind: fat-tree, ...}         - {name: fabric, kind: rail-optimized, size: 8, nics_per_node: 72, ...}
//
// A level joins `size` units of the level below (accelerators at the innermost) in the shape that its kind and the keys
// of the kind say (topology/kind.h). Bandwidths are per direction: of one accelerator (or of one of its `nics_per_node`
// links) at the innermost level, of one NIC further out. `network()` gives either form as one list of levels with
// everything derived:
//
//   domain          accelerators within one domain of the level = product of the sizes up to it
//   unit_bandwidth  what one unit of the level below can send = NICs per unit x bandwidth
//   gpu_bandwidth   one accelerator's share when all its unit sends = unit_bandwidth / accelerators in the unit
//   rate_of(k)      one's share when only k of the u in its unit send. Accelerator i has port i L / u, rounded down, of
//                   L = ports(), as NCCL takes the nearest NIC for a message, and those that send may be neighbours.
//                   Leaf switches, whose way up is oversubscribed, are taken to serve whole units:
//                     min(unit_bandwidth / (k oversubscription), unit_bandwidth / L / min(k, floor(u / L)))
//   latency         one way, endpoint to endpoint, of a zero-byte send: as given, or hop_latency x links of the longest
//                   minimal route
//   uplink_share(k) where accelerators are spread over several switches (a PCIe tree): one's share of its switch's own
//                   link, which all that leaves the switch passes, when k under the switch send = uplink / k
//
// The domain of an accelerator: those that it reaches over links of its own. It is that of the innermost network that
// joins anything, whichever hosts share it (a rack of NVLink), unless what is joined are whole nodes by their adapters:
// where a node holds one accelerator, that network leads from node to node, and the accelerator is a domain by itself.
// Links that are an accelerator's own by their kind (topology::Parts) make a domain of nodes, too.
// Files: configs/clusters/<name>.yaml.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/config/fields.h"
#include "cairn/config/node.h"
#include "cairn/core/quantity.h"
#include "cairn/topology/kind.h"

namespace cairn::hardware {

// One level as written: what levels of every kind have, and the keys of its kind.
struct LevelSpec {
  std::string name = {};  // general form only
  topology::Shape shape = {};
  std::optional<std::int64_t> size = {};  // general form only; of the outermost level it may follow from `nodes`
  core::BytesPerSecond bandwidth = {};
  std::optional<core::Seconds> latency = {};
  std::optional<core::Seconds> hop_latency = {};
  std::optional<std::int64_t> nics_per_node = {};  // per unit of the level below; default one per accelerator
  std::string fabric = {};                         // an entry of the calibrated fabrics: infiniband, efa-h100, ...
};

struct HostLink {
  std::string kind = {};                // pcie5-x16: a label
  core::BytesPerSecond bandwidth = {};  // of one link, per direction
  core::Seconds latency = {};           // of one copy
  std::int64_t shared_by = 1;           // accelerators on one link
};
struct Nvme {
  core::BytesPerSecond bandwidth = {};             // of the node, reading
  std::optional<core::BytesPerSecond> write = {};  // default: as reading
  std::optional<core::Bytes> capacity = {};        // of the node; default: as much as is asked for
};
struct Host {
  core::Bytes memory = {};
  core::BytesPerSecond memory_bandwidth = {};
  std::optional<core::FlopsPerSecond> flops = {};  // of the node's processors, fp32; default: never what limits
  HostLink link = {};
  std::optional<Nvme> nvme = {};
};

struct Price {
  std::optional<core::Dollars> accelerator_hour = {};
};
struct Power {
  std::optional<core::Watts> accelerator = {};  // default: the accelerator's own limit
  core::Watts node_overhead = {};
  double pue = 1.0;
};

struct Cluster {
  std::string name = {};
  config::Node accelerator = {};                   // a name, {file: name, overriding keys} or a whole block
  std::optional<std::int64_t> nodes = {};          // short form: default 1
  std::optional<std::int64_t> gpus_per_node = {};  // required in the short form; else the innermost size
  std::optional<LevelSpec> intra = {};
  std::optional<LevelSpec> inter = {};
  std::vector<LevelSpec> levels = {};
  config::Node groups = {};  // mixed clusters: division/mixed_cluster.h alone reads them
  std::optional<Host> host = {};
  Price price = {};
  Power power = {};
};

void describe(config::Fields& fields, LevelSpec& level);
void describe(config::Fields& fields, HostLink& link);
void describe(config::Fields& fields, Nvme& nvme);
void describe(config::Fields& fields, Host& host);
void describe(config::Fields& fields, Price& price);
void describe(config::Fields& fields, Power& power);
void describe(config::Fields& fields, Cluster& cluster);

struct NetworkLevel {
  std::string name = {};
  std::string key_path = {};  // where the file describes it: intra, inter, levels[1]
  topology::Shape shape = {};
  std::int64_t size = 1;    // units of the level below that it joins
  std::int64_t unit = 1;    // accelerators in one such unit
  std::int64_t domain = 1;  // accelerators within one domain of this level = size x unit
  std::int64_t nics = 1;    // ports of one unit into this level
  core::BytesPerSecond nic_bandwidth = {};
  core::Seconds latency = {};
  std::optional<core::Seconds> hop_latency = {};  // where that is what the latency is made of
  double oversubscription = 1.0;
  std::string fabric = {};           // calibration entry; empty: none
  std::int64_t switches = 1;         // that the domain's accelerators are spread over
  core::BytesPerSecond uplink = {};  // of one of several switches, per direction

  std::int64_t switch_domain() const { return domain / switches; }  // accelerators under one switch
  core::BytesPerSecond uplink_share(std::int64_t senders) const { return uplink / static_cast<double>(senders); }
  std::int64_t ports() const { return std::min(nics, unit); }  // NICs of a unit, or its accelerators' parts of them
  core::BytesPerSecond unit_bandwidth() const { return nic_bandwidth * static_cast<double>(nics); }
  core::BytesPerSecond gpu_bandwidth() const { return unit_bandwidth() / static_cast<double>(unit); }
  core::BytesPerSecond rate_of(std::int64_t senders) const {
    const core::BytesPerSecond port = unit_bandwidth() / static_cast<double>(ports());
    return std::min(unit_bandwidth() / (static_cast<double>(senders) * oversubscription),
                    port / static_cast<double>(std::min(senders, unit / ports())));
  }
};

struct Network {
  std::vector<NetworkLevel> levels = {};  // inner to outer; never empty
  std::int64_t gpus_per_node = 1;         // accelerators that share a host
  std::int64_t nodes = 1;
  std::size_t inner = 1;  // levels[0, inner) lie inside a domain, which the last of them joins

  std::int64_t gpus() const { return levels.back().domain; }
  // Null: an accelerator is a domain by itself.
  const NetworkLevel* domain_level() const { return inner == 0 ? nullptr : &levels[inner - 1]; }
  std::int64_t domain() const { return inner == 0 ? 1 : levels[inner - 1].domain; }
  // The networks that join domains, inner to outer.
  std::span<const NetworkLevel> beyond() const { return std::span(levels).subspan(inner); }
};

// Everything derived. Throws core::ConfigurationError (key paths below `cluster`) for sizes that do not fit together, a
// hop_latency on a kind whose routes have no closed form, and mixed groups.
// Valid: any sizes whose product fits 2^40.
Network network(const Cluster& cluster);

}  // namespace cairn::hardware
