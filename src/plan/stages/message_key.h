// The part of a plan that decides which blocks its passes begin and end with: the cache key of messages.
#pragma once

#include "cairn/plan/framework_behaviour.h"
#include "cairn/plan/strategy.h"
#include "interned.h"
#include "stage_partition.h"
#include "vocabulary.h"

namespace cairn::plan {

// How far neighbouring stages are from each other.
struct StageDistances {
  // Consecutive stages that share a domain. Where some pairs of neighbouring ranks share a domain and others do not,
  // the stages count as apart.
  std::int64_t stages_in_domain = 1;
  // Two ranks placed like the sender and the receiver of a message between stages.
  Group inside;
  Group across;
};
// `domain`: ranks joined by the fastest links; 0: all.
StageDistances stage_distances(const Group& pipeline, std::int64_t domain);
// Whether some message between stages crosses from one domain to another.
bool leaves_domain(const Group& pipeline, std::int64_t domain);

// What messages between stages depend on; members as in Strategy.
struct MessageKey {
  bool host_waits_for_arrival = false;
  MessageSettings settings = {};
  Group tensor;
  Group inside;  // see StageDistances; of size 1 where no domain holds two stages
  Group across;
  const FrameworkBehaviour* behaviour = nullptr;  // the same in all plans of a Lowering
  const Group& between(Hop hop) const { return hop == Hop::inside ? inside : across; }
  friend bool operator==(const MessageKey&, const MessageKey&) = default;
  std::size_t hash() const;
};
MessageKey message_key(std::int64_t chunks, const MessageSettings& settings, const FrameworkBehaviour& behaviour,
                       const Group& tensor, const StageDistances& distances);

}  // namespace cairn::plan
