#include "cairn/program/mesh.h"

#include <algorithm>
#include <numeric>

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

std::int64_t Group::fewest_members(std::int64_t domain) const {
  const auto along = [domain](std::int64_t count, std::int64_t step) {
    return std::max<std::int64_t>(1, std::gcd(count * step, domain) / step);
  };
  return along(in_row(), stride) * along(rows, apart);
}

std::int64_t Group::hops_out(std::int64_t unit, std::int64_t reach) const {
  CAIRN_ASSERT(unit > 0 && rows == 1 && reach >= 0 && reach <= size);
  const std::int64_t block = size * stride, far = stride * std::min(reach, size - reach);
  const std::int64_t step = std::gcd(block, unit);
  const auto out = [&](std::int64_t stretch) { return std::min({stretch, block - stretch, far}); };
  std::int64_t most = 0;
  for (std::int64_t ends = unit % block; ends <= std::min(unit, 2 * block - 1); ends += block) {
    const std::int64_t half = ends / step / 2 * step;
    most = std::max(most, out(half) + out(ends - half));
  }
  return most;
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

Group Mesh::group(Axis axis, Axis other) const {
  const Group& a = group(axis);
  const Group& b = group(other);
  if (b.size == 1) return a;
  if (a.size == 1) return {.axis = axis, .size = b.size, .stride = b.stride};
  const Group& inner = a.stride < b.stride ? a : b;
  const Group& outer = a.stride < b.stride ? b : a;
  Group both{.axis = axis, .size = a.size * b.size, .stride = inner.stride};
  if (outer.stride == inner.stride * inner.size) return both;
  both.rows = outer.size;
  both.apart = outer.stride;
  return both;
}

std::int64_t Mesh::ranks() const {
  std::int64_t product = 1;
  for (const Group& group : groups_) product *= group.size;
  return product;
}

}  // namespace cairn::program
