// Parameter groups: parameters that the same ranks hold copies of.
//
// A parameter belongs to the group of the mesh its operators are split on: experts to the expert mesh, everything else
// to the dense one. Copies of a parameter lie along the group's data axis; over that axis its gradient is summed once
// per step, and over it whatever is kept once instead of everywhere (optimizer state, gradients, parameters) is cut
// into shards. Elements, gradient transfers, parameter gathers and shards are therefore accounted group by group, and
// sums over groups are taken last.
#pragma once

#include <array>
#include <cstdint>

#include "cairn/program/mesh.h"

namespace cairn::program {

enum class ParameterGroup : std::uint8_t { dense, expert };
inline constexpr std::size_t k_parameter_groups = 2;
inline constexpr std::array<ParameterGroup, k_parameter_groups> k_all_parameter_groups{ParameterGroup::dense,
                                                                                       ParameterGroup::expert};

// One value for each group.
template <class T>
class PerGroup {
 public:
  PerGroup() : values_() {}
  T& operator[](ParameterGroup group) { return values_[static_cast<std::size_t>(group)]; }
  const T& operator[](ParameterGroup group) const { return values_[static_cast<std::size_t>(group)]; }
  auto begin() { return values_.begin(); }
  auto end() { return values_.end(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  friend bool operator==(const PerGroup&, const PerGroup&) = default;

 private:
  std::array<T, k_parameter_groups> values_;
};

inline double sum(const PerGroup<double>& values) {
  double total = 0.0;
  for (const double value : values) total += value;
  return total;
}

// The group whose operators this axis splits.
inline ParameterGroup group_of(Axis axis) {
  return axis == Axis::expert || axis == Axis::expert_tensor || axis == Axis::expert_data ? ParameterGroup::expert
                                                                                          : ParameterGroup::dense;
}

}  // namespace cairn::program
