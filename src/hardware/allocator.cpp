#include "cairn/hardware/allocator.h"

#include <cmath>

namespace cairn::hardware {

core::Bytes Allocator::reserved(core::Bytes held, core::Bytes passing, bool exchanges) const {
  const core::Bytes taken = held + factor(exchanges) * passing;
  if (segment.base() <= 0.0) return taken;
  return core::Bytes::from_base(std::ceil(taken.base() / segment.base()) * segment.base());
}

}  // namespace cairn::hardware
