// Which instances of shared units (price/demands.h) the ranks of an actor use, and how many of its ranks use each.
//
// An actor stands for all ranks of its classes. Ranks r with equal r / SharedUnit::ranks share an instance. Instances
// used by the same actors, with equally many ranks of each, behave alike: they become one link of sim::SharedWork. A
// piece of work of an actor becomes one flow over all links that its ranks use; on each link the amounts of these ranks
// add up, and the flow proceeds at the speed of its slowest rank.
//
// Example: 16 ranks, tp 2 inside, pp 8 outside, NICs shared by 4 ranks each: instance i holds 2 ranks of stage 2i and 2
// of stage 2i + 1. Four links; a transfer of stage 5 that takes amount a per rank takes 2 a of link 2.
// Time O(ranks) for every size of instance.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cairn/predict/price/demands.h"
#include "cairn/sim/shared_work.h"
#include "rank_classes.h"

namespace cairn::predict {

class UnitInstances {
 public:
  struct Seat {
    sim::LinkId link = 0;
    double ranks = 1.0;  // of the actor, on the instance
  };

  UnitInstances(const RankClasses& classes, const std::vector<SharedUnit>& units);
  std::uint32_t links() const { return links_; }
  std::span<const Seat> seats(std::int64_t actor, std::uint16_t unit) const {
    const std::size_t at = static_cast<std::size_t>(actor) * units_ + unit;
    return std::span(seats_).subspan(begin_[at], begin_[at + 1] - begin_[at]);
  }

 private:
  std::size_t units_;
  std::uint32_t links_ = 0;
  std::vector<std::uint32_t> begin_;  // by actor and unit
  std::vector<Seat> seats_;
};

}  // namespace cairn::predict
