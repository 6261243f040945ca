// Filling a group from nothing: links fill in the order of their levels, found by a heap, and the flows of a link that
// is full settle.
#pragma once

#include <vector>

#include "bottleneck_moves.h"
#include "fill_moments.h"
#include "fill_order.h"
#include "link_groups.h"

namespace cairn::sim {

class ProgressiveFilling {
 public:
  ProgressiveFilling(FlowsOnLinks& flows, FillOrder& order, BottleneckMoves& moves)
      : flows_(flows), order_(order), moves_(moves) {}

  void make_room(std::size_t links) {
    filling_.resize(links);
    pull_.resize(links);
  }
  void fill(LinkGroup& group);

 private:
  using Filling = FlowsOnLinks::Filling;

  // plain: every weight and every demand of the group is 1.
  template <bool plain>
  void fill_by_heap(LinkGroup& group);
  template <bool plain>
  double level_now(LinkId link);
  template <bool plain>
  void settle_link(LinkGroup& group, LinkId id, double level);
  void renew(LinkId id);
  // Whether a link of the flow has filled. Then its bottleneck has, be it that of before.
  bool settled(FlowId flow) const { return order_.has(flows_.rates.bottleneck[flow]); }

  FlowsOnLinks& flows_;
  FillOrder& order_;
  BottleneckMoves& moves_;
  FillMoments moments_;
  std::vector<Filling> filling_;  // by link
  std::vector<double> pull_;      // by link: of growing flows; not kept while all flows are plain
  std::vector<FlowId> settling_;
};

}  // namespace cairn::sim
