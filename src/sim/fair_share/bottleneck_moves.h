// The flows whose bottleneck a solve changes, and what it was before.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flows_on_links.h"

namespace cairn::sim {

class BottleneckMoves {
 public:
  explicit BottleneckMoves(FlowsOnLinks& flows) : flows_(flows) {}

  // A solve begins.
  void begin() {
    moved_.clear();
    moved_in_.resize(flows_.spans.size());
    ++solve_;
  }
  std::uint64_t solve() const { return solve_; }  // its number, from 1

  void settle_at(FlowId flow, LinkId link) {
    const LinkId before = flows_.rates.bottleneck[flow];
    if (before == link) return;
    if (moved_in_[flow] != solve_) moved_.push_back({.flow = flow, .from = before});
    moved_in_[flow] = solve_;
    flows_.bind(flow, link);
  }

  std::size_t count() const { return moved_.size(); }
  // All but the first `count`.
  void take_back(std::size_t count) {
    for (std::size_t i = count; i < moved_.size(); ++i) {
      flows_.bind(moved_[i].flow, moved_[i].from);
      moved_in_[moved_[i].flow] = 0;
    }
    moved_.resize(count);
  }

  // The solve has ended: flows that went and came back have not moved.
  void finish() {
    std::erase_if(moved_,
                  [&](const FairShare::Moved& moved) { return moved.from == flows_.rates.bottleneck[moved.flow]; });
  }
  std::span<const FairShare::Moved> all() const { return moved_; }

 private:
  FlowsOnLinks& flows_;
  std::vector<FairShare::Moved> moved_;
  std::vector<std::uint64_t> moved_in_;  // by flow: the solve in which it moved last
  std::uint64_t solve_ = 0;
};

}  // namespace cairn::sim
