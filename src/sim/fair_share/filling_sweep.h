// Filling in the order of before, put right where it has changed: every link asks what its flows take.
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
  // Where the levels that are new begin in the order; nothing when the order has changed too much: then moves are to be
  // taken back, and the group is to be filled otherwise.
  std::optional<std::size_t> fill(LinkGroup& group);

 private:
  using Link = FlowsOnLinks::Link;
  using Member = FlowsOnLinks::Member;
  using Use = FlowsOnLinks::Use;
  using Share = FillOrder::Share;
  struct Loose {            // of a link that holds nothing back
    double until = 0.0;     // it stays so while its group has risen by less
    double per_load = 0.0;  // by which what flows take more brings that nearer
  };
  struct Taken {  // of a link by its flows
    double settled = 0.0;
    double pull = 0.0;  // of those that grow
  };
  struct Left {  // of a link that holds nothing back
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
