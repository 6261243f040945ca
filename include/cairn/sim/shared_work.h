// Work that progresses at max-min fair rates, and the instants at which it ends.
//
// Work f of size B_f (bytes, or seconds alone on its units) progresses at x_f = w_f t_b, where b is its bottleneck (see
// cairn/sim/fair_share.h). Every link keeps the service that one unit of weight has received since the link became a
// bottleneck, V_b(t) = integral of t_b, so work that began or came to b at t0 with R_f left ends when
//
//   V_b(t) = F_f = V_b(t0) + R_f / w_f
//
// A change of levels moves all ends at once; work needs attention only when its bottleneck changes. Service is a real
// number; what ends is reported at the nearest picosecond, and the levels change at the real instant: the service of
// its group is advanced to now + r, where r (|r| <= 1/2 ps) makes the bytes of the pieces ending together come out.
//
// The caller owns the clock. At one instant it says all that begins, ends and changes, then settle() once:
//
//   for each event of the instant:  start(...), set_capacity(...), or wake(slot, now, ended) for a wake that is due
//   settle(now); for each wake of wakes():  let wake(slot) be called at its time
//
// A wake that another change has made obsolete is harmless: it ends nothing.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "cairn/core/time.h"
#include "cairn/sim/fair_share.h"

namespace cairn::sim {

// The end of simulated time, 53 days: work that would end later never ends.
inline constexpr core::Picoseconds k_latest = core::Picoseconds{1} << 62;

class SharedWork {
 public:
  using Tag = std::uint32_t;  // what the caller calls a piece of work

  struct Wake {
    core::Picoseconds time;
    std::uint32_t slot;
  };

  // Capacity in units of work per second, as FairShare::add_link.
  LinkId add_link(double capacity);
  void set_capacity(LinkId link, double capacity);

  // work > 0, finite. Progress begins at the next settle(). Demands, weight and bound as FairShare::add_flow.
  void start(std::span<const LinkId> route, double work, Tag tag, double weight = 1.0);
  void start(std::span<const Demand> demands, double work, Tag tag, double weight = 1.0,
             double bound = FairShare::k_unbounded);

  // Appends the tags of the work that ends now, in a reproducible order, and forgets it.
  void wake(std::uint32_t slot, core::Picoseconds now, std::vector<Tag>& ended);

  // Brings rates up to date at `now`, which never runs backwards.
  void settle(core::Picoseconds now);
  // Of the last settle().
  std::span<const Wake> wakes() const { return wakes_; }

  // Rates, loads and bottlenecks as of the last settle().
  const FairShare& sharing() const { return sharing_; }

 private:
  static constexpr core::Picoseconds k_no_wake = std::numeric_limits<core::Picoseconds>::max();

  struct End {
    double service;  // F
    FlowId work;
  };
  struct EndsLater {
    bool operator()(const End& a, const End& b) const {
      return a.service != b.service ? a.service > b.service : a.work > b.work;
    }
  };
  struct Clock {           // of a link
    double service = 0.0;  // V at since + offset
    double level = 0.0;    // from then on
    core::Picoseconds since = 0;
    double offset = 0.0;                 // [ps], |offset| <= 1/2
    core::Picoseconds next = k_no_wake;  // when the first piece of work that it holds back ends
    double first = 0.0;                  // F of that one
    bool known = false;                  // whether next and first are those of the first of ends
    std::uint32_t works = 0;             // that it holds back
    std::vector<End> ends;               // a heap, earliest first; may hold work that has gone
  };
  struct Work {
    double end = 0.0;  // F; before its first settle the work divided by its weight
    Tag tag = 0;
  };
  struct Watch {  // of a group
    core::Picoseconds time = k_no_wake;
    std::vector<LinkId> links;
  };

  void enroll(FlowId work, double size, Tag tag);
  bool current(const End& end, LinkId link) const;
  void drop_gone(LinkId link);
  void advance(Clock& clock, core::Picoseconds now, double offset);
  void move(const FairShare::Moved& moved, core::Picoseconds now);
  void foresee(LinkId link, core::Picoseconds now);
  core::Picoseconds end_of(const Clock& clock, double service) const;
  void collect(LinkId link, core::Picoseconds now, std::vector<Tag>& ended);
  void watch(const FairShare::Solved& solved, core::Picoseconds now);

  FairShare sharing_;
  std::vector<Clock> clocks_;   // by link
  std::vector<Work> works_;     // by flow of sharing_
  std::vector<Watch> watches_;  // by group
  std::vector<Wake> wakes_;
  double residue_ = 0.0;  // what the work collected last lacked at the reported instant
  double rate_ = 0.0;     // at which it went
};

}  // namespace cairn::sim
