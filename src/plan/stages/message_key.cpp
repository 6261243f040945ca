#include "message_key.h"

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

bool leaves_domain(const Group& pipeline, std::int64_t domain) { return domain > 0 && pipeline.crosses(domain); }

MessageKey message_key(std::int64_t chunks, const MessageSettings& settings, const FrameworkBehaviour& behaviour,
                       const Group& tensor, const StageDistances& distances) {
  return {.host_waits_for_arrival = behaviour.host_waits == HostWaits::always ||
                                    (behaviour.host_waits == HostWaits::unless_interleaved && chunks == 1),
          .settings = settings,
          .tensor = tensor,
          .inside = distances.stages_in_domain > 1 ? distances.inside : Group{.axis = Axis::pipeline},
          .across = distances.across,
          .behaviour = &behaviour};
}

std::size_t MessageKey::hash() const {
  core::Hash hash;
  hash.add(host_waits_for_arrival).add(settings.overlap_sends);
  add(hash, tensor);
  add(hash, inside);
  add(hash, across);
  return hash.value();
}

}  // namespace cairn::plan
