// Max-min filling of only the links that a change reaches: the touched links, then their neighbours, ring by ring,
// until the rates outside need not change (fair_share.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bottleneck_moves.h"
#include "fill_moments.h"
#include "fill_order.h"
#include "link_groups.h"

namespace cairn::sim {

class NearbyFilling {
 public:
  NearbyFilling(FlowsOnLinks& flows, FillOrder& order, BottleneckMoves& moves)
      : flows_(flows), order_(order), moves_(moves) {}

  void make_room(std::size_t links, std::size_t flows) {
    filling_.resize(links);
    place_.resize(links, Place::beyond);
    level_.resize(links);
    near_.resize(flows);
    bottleneck_.resize(flows);
  }
  // Fills what the touched links of the group reach. False, with nothing changed, when the change reaches too far.
  bool fill(LinkGroup& group);
  // The links that the last fill() renewed.
  std::span<const LinkId> renewed() const { return filled_; }

 private:
  using Filling = FlowsOnLinks::Filling;
  using Member = FlowsOnLinks::Member;
  using Use = FlowsOnLinks::Use;
  enum class Place : std::uint8_t { beyond, border, open, open_full, border_full };

  void open(LinkId link);
  void close_all();
  void gather();
  void weigh(LinkId link);
  void fill_open();
  bool disturbs(LinkId border) const;
  bool reach_further();
  void adopt(LinkGroup& group);
  bool stands(FlowId flow) const { return flows_.standing[flow].grouped && near_[flow] < now_; }

  FlowsOnLinks& flows_;
  FillOrder& order_;
  BottleneckMoves& moves_;
  FillMoments moments_;
  std::vector<Filling> filling_;     // by link
  std::vector<Place> place_;         // by link
  std::vector<double> level_;        // by link
  std::vector<std::uint32_t> near_;  // by flow: now_ when it grows, now_ + 1 when it has settled
  std::vector<LinkId> bottleneck_;   // by flow
  std::uint32_t now_ = 1;
  std::vector<LinkId> open_, border_, filled_;
  std::vector<FlowId> growing_;
};

}  // namespace cairn::sim
