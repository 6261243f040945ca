// A network as a graph of directed links with a route for every pair of endpoints.
//
// Nodes are numbered: endpoints 0 .. P-1, switches, then the ports of nodes that several endpoints share. Links have
// one direction each; a cable is two of them. What a kind of network is made of follows from its sizes, so links and
// routes are computed when they are asked for: a fat tree of 10^7 endpoints takes no memory. Only a graph read from a
// file holds its links.
//
//   endpoint --injection--> [ switches and links ] --> endpoint
//
// `bandwidth` of an endpoint (its injection) is the sum over its ports in all planes; the ports of a direct network
// share it evenly. Planes are equal copies of a network over which traffic is spread evenly: they multiply what is
// bought and change no figure.
//
// The limits of a network, for any P >= 2, by the kind's closed form, routes taken as evenly spread as the kind allows:
//
//   bisection   least bandwidth, one direction, between two halves of the endpoints / what the smaller half injects
//   alltoall    every ordered pair exchanges the same amount; the busiest link decides:
//               share = ((P - 1) / injection) / max over links (pairs that cross it / its bandwidth)
//   allreduce   amount / time / injection of a bandwidth-optimal all-reduce = P / (2 (P - 1)) x min(1, narrowest cut /
//               injection): what any set of endpoints sends must pass its cut once in each direction
// Source: Dally, Towles, "Principles and Practices of Interconnection Networks", 2004, ch. 3 (cuts, channel load).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cairn::topology {

using NodeId = std::int64_t;
using LinkId = std::int64_t;

struct Link {
  NodeId from = 0;
  NodeId to = 0;
  double bandwidth = 0.0;  // [byte/s]; 0: the number names no link of this network
  double latency = 0.0;    // [s]
};

struct Limits {
  double injection = 0.0;           // [byte/s] of one endpoint
  std::int64_t diameter = 0;        // links of the longest minimal route between endpoints
  double bisection_fraction = 1.0;  // at most 1
  double alltoall_load = 0.0;       // [s per byte and pair]: pairs over bandwidth of the busiest link
  double narrowest_cut = 0.0;       // [byte/s] least bandwidth out of any proper set of endpoints
};

// Shares of injection, of `endpoints` > 1.
double alltoall_fraction(const Limits& limits, std::int64_t endpoints);
double allreduce_fraction(const Limits& limits, std::int64_t endpoints);

// How switches of a network may be built from those that are sold.
enum class Packing : std::uint8_t {
  alone,  // each is one switch
  whole,  // each stands for a network that never limits: several on a switch, or a tree of two levels of switches
  core    // together they never limit: cables from below spread over as few switches, or stages of them, as have the
          // ports
};
// Switches of one plane that are alike.
struct SwitchStage {
  std::int64_t count = 0;
  std::int64_t ports = 0;  // of each, where all are in use
  Packing packing = Packing::alone;
  // Of a core: the switches below, each of which reaches all others through it, the cables from them, and those inside.
  std::int64_t leaves = 0;
  std::int64_t cables = 0;
  std::int64_t inner_cables = 0;
};
// What a network is made of. The counts of the stages are the switches of the graph, the cables its links between
// nodes, two directions to a cable; links on boards and inside nodes are none.
struct Inventory {
  std::vector<SwitchStage> stages = {};
  std::int64_t short_cables = 0;  // copper within a few racks
  std::int64_t long_cables = 0;   // optical, without those inside a core
  std::int64_t planes = 1;        // everything is there so many times
};

class Topology {
 public:
  virtual ~Topology() = default;

  std::int64_t endpoints() const { return endpoints_; }
  std::int64_t switches() const { return switches_; }
  std::int64_t nodes() const { return endpoints_ + switches_ + shared_ports_; }
  // Numbers of links are below this; some kinds leave some unused.
  std::int64_t links() const { return links_; }

  virtual Link link(LinkId id) const = 0;
  // Appends the links from `from` to `to`, two different endpoints.
  virtual void route(NodeId from, NodeId to, std::vector<LinkId>& out) const = 0;
  // Where `group` > 1, aligned groups of so many endpoints have a network of their own: they exchange nothing here, and
  // the narrowest cut is one around whole groups. Kinds that join whole units ignore it.
  virtual Limits limits(std::int64_t group = 1) const = 0;
  // `board`: accelerators along the side of a board of a torus or mesh, whose links need no cable. Nothing for what
  // comes as part of a node.
  virtual std::optional<Inventory> inventory(std::int64_t /*board*/) const { return {}; }
  // No cycle of links that wait for each other, without virtual channels. Source: Dally, Seitz 1987.
  virtual bool deadlock_free() const { return false; }
  // Every route has as few links as there can be.
  virtual bool minimal() const { return true; }
  // A label of a node, for pictures and messages.
  virtual std::string node_name(NodeId node) const;
  // Of a machine: the level whose network the node belongs to.
  virtual std::size_t tier(NodeId /*node*/) const { return 0; }
  // Where a node of a lattice lies in a picture, neighbours one apart; nothing for networks without such places.
  virtual std::optional<std::array<double, 2>> place(NodeId /*node*/) const { return {}; }

 protected:
  Topology(std::int64_t endpoints, std::int64_t switches, std::int64_t links, std::int64_t shared_ports = 0)
      : endpoints_(endpoints), switches_(switches), links_(links), shared_ports_(shared_ports) {}

 private:
  std::int64_t endpoints_;
  std::int64_t switches_;
  std::int64_t links_;
  std::int64_t shared_ports_;
};

}  // namespace cairn::topology
