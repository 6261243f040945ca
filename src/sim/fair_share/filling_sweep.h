// Max-min filling of a group of links in the order in which its links filled last time, corrected where that order has
// changed (fair_share.h). "Asking" a link means to sum what its flows take of it.
#pragma once

#include <optional>
#include <vector>

#include "bottleneck_moves.h"
#include "fill_order.h"
#include "link_groups.h"

namespace cairn::sim {

class FillingSweep {
 public:
  FillingSweep(FlowsOnLinks& flows, FillOrder& order, BottleneckMoves& moves)
      : flows_(flows), order_(order), moves_(moves) {}

  // The order has room for as many.
  void make_room(std::size_t links) {
    foreseen_.resize(links);
    loose_.resize(links);
    links_ = flows_.links.data();
    shares_ = order_.shares();
  }
  // Returns the position in the order from which on levels are new. Returns nothing when the order has changed too
  // much: then the caller takes the moves back and fills the group in another way.
  std::optional<std::size_t> fill(LinkGroup& group);

 private:
  using Link = FlowsOnLinks::Link;
  using Member = FlowsOnLinks::Member;
  using Use = FlowsOnLinks::Use;
  using Share = FillOrder::Share;
  struct Loose {            // a link that is no flow's bottleneck
    double until = 0.0;     // it cannot be full before LinkGroup::risen reaches this
    double per_load = 0.0;  // by how much `until` falls per unit of load that its flows add
  };
  struct Taken {  // what the flows of a link take of it
    double settled = 0.0;
    double pull = 0.0;  // per unit of level, by flows that still grow
  };
  struct Left {  // capacity left on a link that is no flow's bottleneck
    LinkId link;
    double amount;
  };

  // plain: every weight and every demand of the group is 1.
  template <bool plain>
  std::optional<std::size_t> sweep(LinkGroup& group);
  std::size_t begin(LinkGroup& group);
  template <bool plain>
  Taken ask(LinkId link) const;
  template <bool plain>
  double level_among(LinkId link, double level) const;
  template <bool plain>
  std::size_t send_back(std::vector<LinkId>& order, std::size_t at, double level);
  bool send_on(std::vector<LinkId>& order, std::size_t at, double level);
  std::size_t place_of(const std::vector<LinkId>& order, std::size_t filled, double level) const;
  void grow_again(const std::vector<LinkId>& order, std::size_t begin, std::size_t end);
  void take_growing(LinkId link);
  template <bool plain>
  std::optional<std::size_t> insert_overfull(LinkGroup& group, std::size_t lowest);
  template <bool plain>
  double spend_slack(const LinkGroup& group, std::size_t lowest);

  FlowsOnLinks& flows_;
  FillOrder& order_;
  BottleneckMoves& moves_;
  // Of the two before, for what is asked of thousands of links: nothing is added to them while a solve goes on.
  const Link* links_ = nullptr;
  FillOrder::Shares shares_;
  std::vector<double> foreseen_;  // by link: the level at which it may fill
  std::vector<Loose> loose_;      // by link
  std::vector<Left> asked_;       // links without held flows
};

}  // namespace cairn::sim
