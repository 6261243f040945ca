// Where every link stands in the order in which the links of its group filled, and what it then gave its flows.
#pragma once

#include <cstdint>
#include <vector>

#include "cairn/sim/fair_share.h"

namespace cairn::sim {

class FillOrder {
 public:
  struct Share {         // during a sweep, what a flow gets whose bottleneck is a given link
    double level = 0.0;  // the link's level, once the link has filled
    double grows = 1.0;  // 0 once the link has filled
  };

  // Shares by link; the entry of k_no_link is for flows without a bottleneck, which grow.
  class Shares {
   public:
    Shares() = default;
    explicit Shares(Share* first) : first_(first) {}
    Share& operator[](LinkId link) const { return first_[slot(link)]; }

   private:
    Share* first_ = nullptr;
  };

  void make_room(std::size_t links) {
    ranks_.resize(links + 1, k_unfilled);
    shares_.resize(links + 1);
  }

  bool has(LinkId link) const { return ranks_[slot(link)] != k_unfilled; }
  std::uint32_t rank(LinkId link) const { return ranks_[slot(link)]; }
  void set_rank(LinkId link, std::size_t rank) { ranks_[slot(link)] = static_cast<std::uint32_t>(rank); }
  // Valid until make_room().
  Shares shares() { return Shares(shares_.data()); }

  // `order` is that of a group.
  void append(std::vector<LinkId>& order, LinkId link) {
    set_rank(link, order.size());
    order.push_back(link);
  }
  // The last of the order takes the place of the link.
  void replace_by_last(std::vector<LinkId>& order, LinkId link) {
    const LinkId last = order.back();
    order[rank(link)] = last;
    set_rank(last, rank(link));
    leave(link);
    order.pop_back();
  }
  // The link is in no order any more.
  void leave(LinkId link) {
    ranks_[slot(link)] = k_unfilled;
    shares_[slot(link)] = {};
  }
  void forget(std::vector<LinkId>& order) {
    for (const LinkId link : order) leave(link);
    order.clear();
  }

 private:
  static constexpr std::uint32_t k_unfilled = ~std::uint32_t{0};
  // So that k_no_link comes first.
  static constexpr LinkId slot(LinkId link) { return link + 1; }

  std::vector<std::uint32_t> ranks_;  // by slot
  std::vector<Share> shares_;         // by slot
};

}  // namespace cairn::sim
