#include "cairn/plan/program.h"

#include <algorithm>

#include "cairn/core/assert.h"

namespace cairn::plan {

Stream stream_of(Axis axis) {
  switch (axis) {
    case Axis::tensor: return Stream::tensor;
    case Axis::context: return Stream::context;
    case Axis::data: return Stream::data;
    case Axis::expert:
    case Axis::pipeline: break;
  }
  CAIRN_ASSERT(!"axis has a communicator stream");
  return Stream::tensor;
}

MemoryProfile then(const MemoryProfile& first, const MemoryProfile& second) {
  return {first.delta + second.delta, std::max(first.peak, first.delta + second.peak)};
}

MemoryProfile repeated(const MemoryProfile& profile, std::int64_t times) {
  if (times == 0) return {};
  const auto n = static_cast<double>(times);
  return {n * profile.delta, profile.peak + std::max(0.0, (n - 1.0) * profile.delta)};
}

}  // namespace cairn::plan
