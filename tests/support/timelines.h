// Timelines are equal in every instant.
#pragma once

#include <algorithm>

#include "cairn/predict/evaluate/timeline.h"
#include "catch.h"

namespace cairn::testing {

inline bool same(const predict::Span& a, const predict::Span& b) { return a.start == b.start && a.end == b.end; }

inline void require_same(const predict::StageTimeline& a, const predict::StageTimeline& b) {
  REQUIRE(a.stage == b.stage);
  REQUIRE(a.end == b.end);
  REQUIRE(std::equal(a.arrivals.begin(), a.arrivals.end(), b.arrivals.begin(), b.arrivals.end(), same));
  for (std::size_t stream = 0; stream < program::k_streams; ++stream) {
    INFO("stream " << stream);
    REQUIRE(std::equal(a.steps[stream].begin(), a.steps[stream].end(), b.steps[stream].begin(), b.steps[stream].end(),
                       same));
  }
}

}  // namespace cairn::testing
