#include "cairn/plan/mesh.h"

#include "cairn/core/assert.h"

namespace cairn::plan {

std::string_view label(Axis axis) {
  constexpr std::array<std::string_view, k_axes> k_labels{"tp", "cp", "ep", "dp", "pp", "etp", "edp"};
  return k_labels[static_cast<std::size_t>(axis)];
}

Axis reported_as(Axis axis) {
  if (axis == Axis::expert_tensor) return Axis::tensor;
  if (axis == Axis::expert_data) return Axis::data;
  return axis;
}

Mesh::Mesh(std::span<const Axis> order, const std::array<std::int64_t, k_axes>& sizes) {
  std::int64_t stride = 1;
  for (const Axis axis : order) {
    Group& group = groups_[static_cast<std::size_t>(axis)];
    group.size = sizes[static_cast<std::size_t>(axis)];
    CAIRN_ASSERT(group.size >= 1);
    group.stride = stride;
    stride *= group.size;
  }
  for (Group& group : groups_)
    if (group.size == 1) group.stride = stride;
}

std::int64_t Mesh::ranks() const {
  std::int64_t product = 1;
  for (const Group& group : groups_) product *= group.size;
  return product;
}

}  // namespace cairn::plan
