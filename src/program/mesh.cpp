#include "cairn/program/mesh.h"

#include <algorithm>

#include "cairn/core/assert.h"

namespace cairn::program {

std::string_view label(Axis axis) {
  constexpr std::array<std::string_view, k_axes> k_labels{"tp", "cp", "ep", "dp", "pp", "etp", "edp"};
  return k_labels[static_cast<std::size_t>(axis)];
}

Axis reported_as(Axis axis) {
  if (axis == Axis::expert_tensor) return Axis::tensor;
  if (axis == Axis::expert_data) return Axis::data;
  return axis;
}

std::int64_t Group::members(std::int64_t domain) const {
  const auto along = [domain](std::int64_t count, std::int64_t step) {
    return step >= domain ? 1 : std::min(count, (domain + step - 1) / step);
  };
  return along(in_row(), stride) * along(rows, apart);
}

std::int64_t Group::extent() const {
  const auto along = [](std::int64_t count, std::int64_t step) { return count > 1 ? count * step : 1; };
  return std::max(along(in_row(), stride), along(rows, apart));
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
}

std::int64_t Mesh::ranks() const {
  std::int64_t product = 1;
  for (const Group& group : groups_) product *= group.size;
  return product;
}

}  // namespace cairn::program
