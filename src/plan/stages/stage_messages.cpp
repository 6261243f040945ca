#include "stage_messages.h"

#include <algorithm>

namespace cairn::plan {

StageDistances stage_distances(const Group& pipeline, std::int64_t domain) {
  const std::int64_t stride = pipeline.stride;
  const std::int64_t extent = stride * pipeline.size;
  const bool aligned =
      domain == 0 || (domain % stride == 0 && extent % domain == 0) || (extent <= domain && domain % extent == 0);
  return {
      .stages_in_domain = domain == 0                  ? pipeline.size
                          : aligned && stride < domain ? domain / stride
                                                       : 1,
      .inside = {.axis = Axis::pipeline, .size = 2, .stride = std::min(stride, std::max<std::int64_t>(1, domain / 2))},
      .across = {.axis = Axis::pipeline, .size = 2, .stride = domain}};
}

bool leaves_domain(const Group& pipeline, std::int64_t domain) {
  return pipeline.size > 1 && domain > 0 && pipeline.stride * pipeline.size > domain;
}

MessageKey message_key(const Strategy& strategy, const FrameworkBehaviour& behaviour, const Group& tensor,
                       const StageDistances& distances) {
  return {.host_waits_for_arrival = behaviour.host_waits == HostWaits::always ||
                                    (behaviour.host_waits == HostWaits::unless_interleaved && strategy.chunks == 1),
          .host_waits_for_computation = behaviour.host_waits_for_computation,
          .scatter_sends = behaviour.scatter_sends,
          .overlap_sends = strategy.overlap_sends,
          .tensor = tensor,
          .inside = distances.stages_in_domain > 1 ? distances.inside : Group{.axis = Axis::pipeline},
          .across = distances.across};
}

std::size_t MessageKey::hash() const {
  core::Hash hash;
  hash.add(host_waits_for_arrival).add(host_waits_for_computation).add(scatter_sends).add(overlap_sends);
  add(hash, tensor);
  add(hash, inside);
  add(hash, across);
  return hash.value();
}

const Block* StageMessages::begin(const MessageKey& key, bool receives, bool forward, const Border& arriving) {
  const BeginOptions options{.receives = receives,
                             .forward = forward,
                             .host_waits = key.host_waits_for_arrival,
                             .host_synchronises = key.host_waits_for_computation,
                             // A message that arrives whole needs no gather, so its size does not matter.
                             .border = receives && arriving.sliced ? arriving : Border{},
                             .tensor = key.tensor};
  auto& slot = begins_[options];
  if (!slot) slot = std::make_unique<Block>(plan::begin(options));
  return slot.get();
}

const Block* StageMessages::send(const MessageKey& key, bool forward, Hop hop, const Border& leaving) {
  const SendOptions options{.stream = forward ? Stream::next : Stream::previous,
                            .border = leaving,
                            .beside_computation = key.overlap_sends,
                            .pipeline = key.between(hop),
                            .tensor = key.tensor};
  auto& slot = sends_[options];
  if (!slot) slot = std::make_unique<Block>(plan::send(options));
  return slot.get();
}

}  // namespace cairn::plan
