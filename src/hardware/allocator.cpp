#include "cairn/hardware/allocator.h"

#include <algorithm>

namespace cairn::hardware {
namespace {

constexpr double k_most_capacity = 0x1p60;  // [bytes]

}  // namespace

core::Bytes LibraryWorkspace::on(std::string_view architecture) const {
  const auto own = std::find_if(by_architecture.begin(), by_architecture.end(),
                                [&](const auto& each) { return each.first == architecture; });
  return own == by_architecture.end() ? bytes : own->second;
}

CachingAllocator::Rules Allocator::rules(double capacity) const {
  CachingAllocator::Rules rules{.expandable_segments = expandable_segments, .power2_divisions = power2_divisions};
  if (max_split_size > core::Bytes{}) rules.max_split_size = static_cast<std::int64_t>(max_split_size.base());
  rules.capacity = static_cast<std::int64_t>(std::clamp(capacity, 0.0, k_most_capacity));
  return rules;
}

}  // namespace cairn::hardware
