// Collectives between actors: each starts when the last of its actors is ready for it.
#pragma once

#include <algorithm>
#include <vector>

#include "cairn/core/time.h"
#include "rank_classes.h"
#include "rank_times.h"

namespace cairn::predict {

class Meetings {
 public:
  explicit Meetings(const RankClasses& classes) : classes_(classes), meetings_(classes.meeting_places()) {}

  // Notes that one more actor of the communicator is ready for its next collective on the stream. Returns its start, or
  // k_unknown while others are not ready.
  core::Picoseconds join(const Communicator& communicator, std::size_t stream, core::Picoseconds ready) {
    Meeting& meeting = meetings_[classes_.meeting_place(communicator, stream)];
    meeting.latest = std::max(meeting.latest, ready);
    if (++meeting.present < communicator.size) return k_unknown;
    const core::Picoseconds start = meeting.latest;
    meeting = Meeting{};
    return start;
  }

 private:
  struct Meeting {
    std::int64_t present = 0;
    core::Picoseconds latest = 0;
  };
  const RankClasses& classes_;
  std::vector<Meeting> meetings_;  // by first member, stream and level
};

}  // namespace cairn::predict
