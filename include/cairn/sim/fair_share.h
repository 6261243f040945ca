// Max-min fair sharing of resources (links, memory bandwidth, processor share) among flows.
//
//   flow f runs at rate x_f >= 0 and takes a_lf x_f of resource l, for the few resources l it uses
//   feasible:  sum over f of a_lf x_f <= C_l  for every l,   x_f <= bound_f
//   max-min:   no x_f / w_f can grow without another x_g / w_g <= x_f / w_f shrinking
//
// Such rates exist and are unique; they are found by filling. Let all rates grow as x_f = w_f t. When a resource is
// used up, at t_l = (C_l - what settled flows take of it) / (sum of a_lf w_f over its growing flows), its flows settle;
// a flow also settles at its bound. The others grow on. So in the end every flow is at its bound or uses a resource
// that is full and on which no flow has a larger x_f / w_f: its bottleneck b, and x_f = w_f t_b.
//
// Example: resources A of 10 and B of 4; flow 1 uses A and B, flow 2 only A, flow 3 only B (all a = w = 1).
//   t_A = 10/2 = 5, t_B = 4/2 = 2: B fills first, x_1 = x_3 = 2. Then t_A = (10 - 2)/1 = 8: x_2 = 8.
//
// Uses: flows over links (a = 1, x in bytes/s; w = 1, or 1/round-trip time where the protocol shares so); work on
// shared units (x = speed relative to running alone, bound 1, a_l = share of l that it takes at full speed).
//
// Incremental: flows that share no resource, directly or through others, do not influence each other. Links are kept in
// groups closed under sharing; only groups touched since the last solve are solved again, and a flow that is alone on
// its links needs no solve. A group joins others when a flow spans them, and is taken apart into its connected
// components once half of its flows have left, so that searching for components costs O(1) per flow. Source: Bertsekas,
// Gallager, "Data Networks", 2nd ed. 1992, section 6.5.2.
//
// Within a group, a change shows only from the level on at which a link of a flow that came or went fills; what filled
// before stays. So a group remembers the order in which its links filled and sweeps through it from there on, asking
// each link anew for its level: t_l from what the flows that links before it have settled take of it. A link whose
// level lies below that of the one before it goes back to its place, one whose level lies beyond the next ones goes on
// to its own, and what it passes is asked again. When levels do not fall from link to link and no link is overfull, the
// rates are max-min: every flow is settled by a full link on which nobody is faster. A link that holds no flow back is
// asked only once levels have risen by what it had left. Orders that change too much, and new ones, are found by a
// heap.
//
// In a large group with few flows per link a change reaches few others. Then only the touched links are opened: the
// flows that they held back are settled afresh among themselves, the rates of all others standing, and a link is opened
// too when this would leave it not full, or a flow on it faster than those it holds back. When no link is left to open,
// all rates are max-min.
//
// What a solve says is kept by link, not by flow: a level t_l per link and a bottleneck per flow. When one of n flows
// leaves, the levels of many links change a little but few flows change their bottleneck.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace cairn::sim {

using FlowId = std::uint32_t;
using LinkId = std::uint32_t;
using GroupId = std::uint32_t;
inline constexpr LinkId k_no_link = ~LinkId{0};

struct Demand {
  LinkId link = 0;
  double amount = 1.0;  // a_lf > 0: of the resource per unit of rate
};

class FairShare {
 public:
  static constexpr double k_unbounded = std::numeric_limits<double>::infinity();

  // capacity >= 0, finite; 0 stops the flows that use it.
  LinkId add_link(double capacity);
  void set_capacity(LinkId link, double capacity);

  // Every link at most once; weight > 0, finite; bound >= 0. Without links the bound must be finite. A bound is a link
  // of its own. Ids are reused.
  FlowId add_flow(std::span<const Demand> demands, double weight = 1.0, double bound = k_unbounded);
  // a = 1 on every link of the route; at least one link.
  FlowId add_routed(std::span<const LinkId> route, double weight = 1.0);
  void remove_flow(FlowId id);

  // Links whose flows were settled together, closed under sharing; reproducible order.
  struct Solved {
    GroupId group;                    // who the links are until the next solve; k_alone: those of one flow
    std::span<const LinkId> links;    // those that are the bottleneck of some flow
    std::span<const LinkId> renewed;  // those of them whose level may differ from before
  };
  static constexpr GroupId k_alone = ~GroupId{0};
  struct Moved {  // a flow whose bottleneck differs from before
    FlowId flow;
    LinkId from;  // k_no_link for a new flow
  };

  // Brings levels and bottlenecks up to date.
  void solve();
  // Of the last solve(); valid until the next call of a function that is not const.
  std::span<const Moved> moved() const { return moved_; }
  // All links of a group of the last solve(), those of bounds included; none for k_alone. The load of any of them may
  // have changed.
  std::span<const LinkId> links_of(GroupId group) const {
    return group == k_alone ? std::span<const LinkId>() : std::span<const LinkId>(groups_[group].links);
  }
  std::size_t solved_groups() const { return solved_.size(); }
  Solved solved(std::size_t i) const;

  // As of the last solve().
  LinkId bottleneck(FlowId flow) const { return bottleneck_[flow]; }
  double level(LinkId link) const { return level_[link]; }  // of a link that is a bottleneck
  double rate(FlowId flow) const {
    return bottleneck_[flow] == k_no_link ? 0.0 : weight_[flow] * level_[bottleneck_[flow]];
  }
  double weight(FlowId flow) const { return weight_[flow]; }
  // What the flows take of a resource now.
  double load(LinkId link) const;
  double capacity(LinkId link) const { return links_[link].capacity; }
  // Resources, those that stand for bounds included.
  std::size_t links() const { return links_.size(); }
  GroupId group(LinkId link) const { return links_[link].group; }

 private:
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
    std::uint32_t holds = 0;  // flows whose bottleneck it is
    bool touched = false;
    bool bounds_flow = false;  // stands for the bound of one flow
    std::vector<Member> members;
    std::vector<LinkId> held;  // bottlenecks of the members
  };
  struct Filling {  // of a link, while solving
    double left = 0.0;
    std::uint32_t growing = 0;  // flows
  };
  struct Share {         // of a flow on the links that it crosses, by its bottleneck, while sweeping
    double level = 0.0;  // once that has filled
    double grows = 1.0;  // 0 from then on
  };
  struct Loose {            // of a link that holds nothing back
    double until = 0.0;     // it stays so while its group has risen by less
    double per_load = 0.0;  // by which what flows take more brings that nearer
  };
  struct Taken {  // of a link by its flows
    double settled = 0.0;
    double pull = 0.0;  // of those that grow
  };
  struct Moment {  // of the filling, at which a link may be full
    double level;
    LinkId link;
  };
  struct Later {
    bool operator()(const Moment& a, const Moment& b) const {
      return a.level != b.level ? a.level > b.level : a.link > b.link;
    }
  };
  struct Group {
    std::vector<LinkId> links;
    std::vector<LinkId> order;        // links that hold flows back; as they filled, unless solved nearby since
    std::vector<LinkId> free_bounds;  // links of it that stand for no bound now
    std::uint32_t flows = 0;
    std::uint32_t uneven = 0;      // flows that are not plain
    std::uint32_t departures = 0;  // since it was known to be connected
    std::uint64_t solved = 0;      // the solve that filled it last
    std::vector<LinkId> touched;   // links, since then
    std::uint32_t patience = 0;    // solves to wait before trying to solve nearby again
    std::uint32_t spread = 0;      // times in a row that a change reached too far
    bool busy = false;             // many flows per link: a change reaches far
    bool swept = false;            // the order ascends, shares_ and loose_ hold
    double risen = 0.0;            // sum over sweeps of the largest common rise of a level
  };
  struct Filled {
    GroupId group;
    LinkId link;                 // of one flow alone
    std::uint32_t begin, count;  // of what is renewed: in nearby_, or in the group's order
    bool nearby;
  };
  static constexpr std::uint32_t k_unfilled = ~std::uint32_t{0};

  std::span<Use> uses(FlowId flow) { return std::span(uses_).subspan(spans_[flow].first, spans_[flow].count); }
  FlowId allocate_flow(std::uint32_t uses, double weight);
  LinkId allocate_bound(double bound, std::span<const Demand> beside);
  void enter(FlowId id, std::uint32_t use, Demand demand);
  void start(FlowId id);
  void change_pull(Link& link, double change);
  void join_groups(FlowId id);
  GroupId merge(GroupId a, GroupId b);
  GroupId allocate_group();
  void take_apart(GroupId source);
  void collect_component(LinkId from, GroupId source);
  void forget(Group& group);
  void touch(LinkId link);
  void run_alone(FlowId id);
  void count(FlowId flow, std::uint32_t change);
  void fill(GroupId id);
  template <bool plain>
  std::optional<std::size_t> sweep(Group& group);
  std::size_t begin_sweep(Group& group);
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
  std::optional<std::size_t> insert_overfull(Group& group, std::size_t lowest);
  template <bool plain>
  double spend_slack(const Group& group, std::size_t lowest);
  void leave_order(LinkId link);
  template <bool plain>
  void fill_by_heap(Group& group);
  template <bool plain>
  double level_now(LinkId link);
  template <bool plain>
  void settle_link(Group& group, LinkId id, double level);
  void renew(LinkId id);
  void take_back(std::size_t moves);
  bool solve_nearby(Group& group);
  void open(LinkId link);
  void close_all();
  void gather();
  void weigh(LinkId link);
  void fill_nearby();
  bool disturbs(LinkId border) const;
  bool reach_further();
  void adopt(Group& group);
  bool standing(FlowId flow) const { return standing_[flow].grouped && near_[flow] < near_now_; }
  // While filling: whether a link of the flow has filled. Then its bottleneck has, be it that of before.
  bool settled(FlowId flow) const { return rank_[LinkId{bottleneck_[flow] + 1}] != k_unfilled; }
  void settle_at(FlowId flow, LinkId link) {
    if (bottleneck_[flow] == link) return;
    if (moved_in_[flow] != solve_) moved_.push_back({.flow = flow, .from = bottleneck_[flow]});
    moved_in_[flow] = solve_;
    bind(flow, link);
  }
  void bind(FlowId flow, LinkId link);
  // Of the link per unit of level.
  double pull_of(const Member& member) const { return amounts_[member.use] * weight_[member.flow]; }
  bool in_group(LinkId link) const {
    return !links_[link].members.empty() && standing_[links_[link].members.front().flow].grouped;
  }

  std::vector<Link> links_;
  std::vector<Filling> unfilled_;  // by link: capacity and flows of the group, before filling
  std::vector<Filling> filling_;   // by link
  std::vector<double> pull_;       // by link: of growing flows, while solving; not kept while all flows are plain
  std::vector<double> level_;      // by link
  std::vector<Share> shares_;      // by link + 1; while sweeping
  std::vector<double> foreseen_;   // by link: the level at which it may fill, while sweeping
  std::vector<Loose> loose_;       // by link
  enum class Near : std::uint8_t { no, border, open, open_full, border_full };
  std::vector<Near> place_;              // by link, while solving nearby
  std::vector<double> near_level_;       // by link
  std::vector<std::uint32_t> near_;      // by flow: near_now_ when it grows nearby, near_now_ + 1 when it has settled
  std::vector<LinkId> near_bottleneck_;  // by flow
  std::vector<std::uint32_t> rank_;      // by link + 1, so that k_no_link comes first: in the order of its group
  std::vector<Uses> spans_;              // by flow, as the next four
  std::vector<double> weight_;
  std::vector<LinkId> bottleneck_;
  std::vector<std::uint64_t> moved_in_;  // the solve in which it moved last
  std::vector<Standing> standing_;
  std::vector<Use> uses_;
  std::vector<double> amounts_;  // by use
  std::vector<Group> groups_;
  std::vector<std::vector<FlowId>> free_flows_;  // by number of uses
  std::vector<LinkId> free_bounds_;              // that are in no group with others
  std::vector<GroupId> free_groups_;
  std::vector<LinkId> touched_;
  std::vector<FlowId> alone_;  // flows added since the last solve that were alone on their links
  std::vector<FlowId> settling_;
  std::vector<Moved> moved_;
  std::vector<Filled> solved_;
  std::vector<Moment> moments_;  // a heap, earliest first
  std::uint32_t near_now_ = 1;
  std::vector<LinkId> open_, border_, near_filled_;
  std::vector<FlowId> near_flows_;
  std::vector<LinkId> nearby_;  // links renewed nearby, of all groups of this solve
  std::vector<LinkId> asked_;   // links without held flows, of one sweep
  std::uint64_t solve_ = 0;
};

}  // namespace cairn::sim
