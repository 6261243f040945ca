// A machine: levels of networks, inner to outer, each joining units of the level below.
//
// A pair of accelerators uses the lowest level whose domain holds both. How a unit enters a level (Entry):
//   by_port, by_rail  through its NICs. With at least one NIC for each accelerator, every accelerator has a port (whose
//                     NICs share its traffic evenly); with fewer, every NIC is a port that neighbours share
//   whole             through all NICs as one endpoint: kinds whose units are linked to one another
// Rails carry traffic on the destination's rail alone: the sender first forwards it inside its unit.
//
// Limits of the machine, as fractions of what an accelerator injects into the innermost level:
//   bisection   of the outermost level that joins more than one unit
//   alltoall    the busiest link of any level; what rails pass on loads the levels inside
//   allreduce   the narrowest cut around whole units of any level
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cairn/topology/kind.h"
#include "cairn/topology/topology.h"

namespace cairn::topology {

struct CompositeLevel {
  std::string name = {};
  std::string key_path = {};
  Shape shape = {};
  std::unique_ptr<Topology> network = {};  // of one domain
  std::int64_t unit = 1;                   // accelerators
  std::int64_t domain = 1;                 // accelerators
  std::int64_t ports = 1;                  // endpoints of the network for each unit
  double port_bandwidth = 0.0;             // [byte/s]
  double attach_bandwidth = 0.0;           // [byte/s] of an accelerator's way to a port that it shares

  bool shares_ports() const { return ports != unit; }
  bool is_rails() const { return ports > 1 && shape->entry() == Entry::by_rail; }
};

class Composite final : public Topology {
 public:
  // At least one level; the domain of each is a multiple of the unit of the next, which is the domain before.
  explicit Composite(std::vector<CompositeLevel> levels);

  const std::vector<CompositeLevel>& levels() const { return levels_; }
  std::int64_t domains(const CompositeLevel& level) const { return endpoints() / level.domain; }
  // What its figures rest on, each said once.
  std::vector<std::string> assumptions() const;

  Link link(LinkId id) const override;
  void route(NodeId from, NodeId to, std::vector<LinkId>& out) const override;
  Limits limits(std::int64_t group = 1) const override;
  bool deadlock_free() const override;
  bool minimal() const override;
  std::string node_name(NodeId node) const override;
  std::size_t tier(NodeId node) const override;
  std::optional<std::array<double, 2>> place(NodeId node) const override {
    if (levels_.size() > 1) return {};
    return levels_.front().network->place(node);
  }

 private:
  struct Numbers {
    NodeId first_switch = 0;
    NodeId first_port = 0;
    LinkId first_link = 0;  // of shared ports, both ways, then of the networks
  };
  struct Counts;
  static Counts count(const std::vector<CompositeLevel>& levels);
  Composite(std::vector<CompositeLevel>&& levels, const Counts& counts);

  std::int64_t port_of(const CompositeLevel& level, NodeId accelerator) const {
    return accelerator % level.unit * level.ports / level.unit;
  }
  NodeId node(std::size_t level, std::int64_t domain, NodeId inner) const;
  void route_below(std::size_t levels, NodeId from, NodeId to, std::vector<LinkId>& out) const;

  std::vector<CompositeLevel> levels_;
  std::vector<Numbers> numbers_;
};

// A machine or network under its name.
struct Network {
  std::string name = {};
  std::unique_ptr<Composite> topology = {};
  std::vector<std::string> assumptions = {};
};

}  // namespace cairn::topology
