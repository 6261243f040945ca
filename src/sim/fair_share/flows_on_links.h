// Which flows use which links, how much of each, and which of its links holds each flow back.
//
// A flow lists its links and a link its flows; either entry knows the place of the other, so a flow comes and goes in
// time proportional to its own links.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cairn/sim/fair_share.h"

namespace cairn::sim {

// Resources are a_lf x_f of each unit of rate; ids of flows that have left are used again, by flows of as many links.
struct FlowsOnLinks {
  struct Use {  // of a link by a flow
    LinkId link;
    std::uint32_t place;  // where the link lists the flow
  };
  struct Uses {  // of a flow
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  struct Member {  // a flow of a link
    FlowId flow;
    std::uint32_t use;  // where the flow lists the link
  };
  struct Standing {
    bool grouped = false;  // its links are in one group; not so while it has always been alone on them
    bool active = false;   // added and not removed
    bool plain = true;     // weight 1 and every demand 1
  };
  struct Link {
    double capacity = 0.0;
    double pull = 0.0;          // sum of amount x weight over its flows
    std::uint32_t changes = 0;  // of pull since it was last summed afresh
    GroupId group = 0;
    std::uint32_t holds = 0;   // flows whose bottleneck it is
    bool touched = false;      // since the last solve
    bool bounds_flow = false;  // stands for the bound of one flow
    std::vector<Member> members;
    std::vector<LinkId> held;  // bottlenecks of the members
  };
  struct Filling {  // of a link
    double left = 0.0;
    std::uint32_t growing = 0;  // flows
  };

  std::vector<Link> links;
  std::vector<Filling> unfilled;  // by link: its capacity and its flows that are in groups, before any filling
  std::vector<Uses> spans;        // by flow, as the next
  std::vector<Standing> standing;
  std::vector<Use> uses;
  std::vector<double> amounts;  // by use
  Rates rates;

  LinkId add_link(double capacity);
  void set_capacity(LinkId link, double capacity) { links[link].capacity = unfilled[link].left = capacity; }

  // A flow that uses nothing yet: enter() with each of its uses, from spans[flow].first on.
  FlowId allocate(std::uint32_t uses, double weight);
  void enter(FlowId flow, std::uint32_t use, Demand demand);
  // Off its link.
  void leave(FlowId flow, std::uint32_t use);
  // Behind the last leave(): its id is free.
  void release(FlowId flow);

  // The flow's bottleneck, as all its links know it.
  void bind(FlowId flow, LinkId link);
  // One flow more or less grows on its links; change is 1, or -1 modulo 2^32.
  void count(FlowId flow, std::uint32_t change) {
    for (const Use& use : uses_of(flow)) unfilled[use.link].growing += change;
  }

  std::span<const Use> uses_of(FlowId flow) const {
    return std::span(uses).subspan(spans[flow].first, spans[flow].count);
  }
  // Of the link per unit of level.
  double pull_of(const Member& member) const { return amounts[member.use] * rates.weight[member.flow]; }
  bool in_group(LinkId link) const {
    return !links[link].members.empty() && standing[links[link].members.front().flow].grouped;
  }
  // What the flows take of a link now.
  double load(LinkId link) const;

 private:
  void change_pull(Link& link, double change);

  std::vector<std::vector<FlowId>> free_;  // by number of uses
};

inline void FlowsOnLinks::bind(FlowId flow, LinkId link) {
  LinkId& bottleneck = rates.bottleneck[flow];
  if (bottleneck != k_no_link) --links[bottleneck].holds;
  if (link != k_no_link) ++links[link].holds;
  bottleneck = link;
  for (const Use& use : uses_of(flow)) links[use.link].held[use.place] = link;
}

}  // namespace cairn::sim
