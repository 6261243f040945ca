#include "unit_usage.h"

#include <algorithm>

namespace cairn::predict {

void UnitUsage::set(sim::LinkId link, core::Picoseconds now, double share) {
  Use& use = uses_[link];
  share = std::min(share, 1.0);  // sums of shares may end an ulp above
  if (share == use.share) return;
  if (now > use.since) {
    use.used_ps += use.share * static_cast<double>(now - use.since);
    use.peak = std::max(use.peak, use.share);
    use.since = now;
  }
  use.share = share;
  if (!use.traced) return;
  if (!use.samples.empty() && use.samples.back().time == now)
    use.samples.back().share = share;
  else
    use.samples.push_back({.time = now, .share = share});
}

UnitUse UnitUsage::use(sim::LinkId link, core::Picoseconds end) const {
  const Use& use = uses_[link];
  UnitUse result;
  result.peak = use.peak;
  if (end <= 0) return result;
  double used = use.used_ps;
  if (end > use.since) {
    used += use.share * static_cast<double>(end - use.since);
    result.peak = std::max(result.peak, use.share);
  }
  result.mean = used / static_cast<double>(end);
  return result;
}

}  // namespace cairn::predict
