// Records the utilisation of every link of sim::SharedWork over time.
#pragma once

#include <vector>

#include "cairn/predict/evaluate/usage.h"
#include "cairn/sim/fair_share.h"

namespace cairn::predict {

class UnitUsage {
 public:
  explicit UnitUsage(std::size_t links) : uses_(links) {}
  // Keeps the samples of a link.
  void trace(sim::LinkId link) { uses_[link].traced = true; }
  std::size_t links() const { return uses_.size(); }

  // From `now` on, which never runs backwards for one link.
  void set(sim::LinkId link, core::Picoseconds now, double share);
  const std::vector<UseSample>& samples(sim::LinkId link) const { return uses_[link].samples; }
  // Over [0, end], without samples.
  UnitUse use(sim::LinkId link, core::Picoseconds end) const;

 private:
  struct Use {
    core::Picoseconds since = 0;
    double share = 0.0;
    double used_ps = 0.0;  // integral of the share up to `since`
    double peak = 0.0;     // of shares that lasted
    bool traced = false;
    std::vector<UseSample> samples;
  };
  std::vector<Use> uses_;
};

}  // namespace cairn::predict
