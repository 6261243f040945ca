// A fat tree of any height (XGFT): levels of switches, each a number of children and of parents.
//
//   children[l]  of a switch of level l (level 0 = endpoints; level 1 = leaf switches)
//   parents[l]   of a node of level l - 1 among the switches of level l; 1 for endpoints
//   M_l = product of children up to l: endpoints under a switch of level l
//   W_l = product of parents up to l: switches of level l over each such set of endpoints
// A route climbs to the lowest level at which both endpoints are under one set of switches, choosing a parent at every
// level, and descends by the same choices:
//   d-mod-k  parent of level l = floor(destination / W_{l-1}) mod parents[l]    Source: Zahavi 2012, "Fat-tree routing
//   ecmp     hash(seed, source, destination, l) mod parents[l]                  and node ordering", JPDC 72(11)
// Limits, B = injection, C_l = bandwidth out of the endpoints under a switch of level l = W_{l+1} x link bandwidth:
//   diameter 2 x levels; bisection min(1, C / (M B)) of the level below the top
//   all-to-all load = max((P - 1) / B, M_l (P - M_l) / C_l)
// Source: Ohring, Ibel, Das, Kumar 1995, "On generalized fat trees".
#pragma once

#include <vector>

#include "kinds.h"

namespace cairn::topology {

struct FatTreeShape {
  std::vector<std::int64_t> children;  // of levels 1, 2, ...
  std::vector<std::int64_t> parents;   // the same levels; the first is 1
  std::vector<double> bandwidth;       // of one link up to that level [byte/s]
  std::int64_t top_ports = 0;          // of a switch of the top level, or one for each set below where that is more
  double end_latency = 0.0;            // [s] of the links of endpoints
  double inner_latency = 0.0;          // [s] of the others
  bool hashed = false;                 // ecmp
  std::uint64_t seed = 0;
  std::int64_t planes = 1;
};

class FatTree final : public Topology {
 public:
  FatTree(std::int64_t endpoints, const FatTreeShape& shape);

  Link link(LinkId id) const override;
  void route(NodeId from, NodeId to, std::vector<LinkId>& out) const override;
  Limits limits(std::int64_t group) const override;
  std::optional<Inventory> inventory(std::int64_t board) const override;
  bool deadlock_free() const override { return true; }

  std::int64_t height() const { return static_cast<std::int64_t>(shape_.children.size()); }

 private:
  struct Level {
    std::int64_t below = 1;   // M_{l-1}: endpoints under one child
    std::int64_t under = 1;   // M_l
    std::int64_t copies = 1;  // W_l
    std::int64_t sets = 1;    // sets of M_{l-1} endpoints
    LinkId first_link = 0;    // up from level l - 1
    NodeId first_switch = 0;
    std::int64_t merged = 1;  // of `copies` on one switch
  };
  static std::vector<Level> levels_of(std::int64_t endpoints, const FatTreeShape& shape);
  static std::int64_t switches_of(const std::vector<Level>& levels);
  static std::int64_t links_of(const std::vector<Level>& levels);
  FatTree(std::int64_t endpoints, FatTreeShape shape, std::vector<Level> levels);

  NodeId node(std::size_t level, std::int64_t set, std::int64_t copy) const;

  FatTreeShape shape_;
  std::vector<Level> levels_;  // 1, 2, ... at 0, 1, ...
};

// Keys that all trees of switches have.
struct TreeKeys {
  std::optional<double> oversubscription = {};
  RoutingKeys routing{.plain = "d-mod-k", .by_hash = "ecmp"};

  void describe(config::Fields& fields);
  double down_over_up() const { return oversubscription.value_or(1.0); }
};

struct FatTreeLeaf {
  std::int64_t down = 1, up = 1;  // endpoints and uplinks
  double up_bandwidth = 0.0;      // [byte/s] of an uplink
};
// A leaf of `down` endpoints of bandwidth B whose uplinks carry down B / oversubscription, neither more nor less: the
// fewest cables of at most B that do, all of one bandwidth.
FatTreeLeaf leaf_of(std::int64_t down, double bandwidth, double oversubscription);

// Leaf switches, above them as many full levels as `endpoints` need, of switches with `radix` ports; with radix 0 one
// level above, whose switches have as many ports as a leaf, or a port for every leaf where that is more.
FatTreeShape fat_tree_shape(std::int64_t endpoints, const FatTreeLeaf& leaf, std::int64_t radix,
                            std::optional<std::int64_t> height, const LevelInput& level, const RoutingKeys& routing);

}  // namespace cairn::topology
