// Device meshes: the ranks of a job arranged along named axes.
//
//   rank = sum over axes of coordinate(axis) * stride(axis),  stride(axis) = product of the sizes of the axes inside it
//
// The order of the axes, inner to outer, decides which of them stay inside a node. An axis of one rank has a stride as
// well; no transfer runs along it.
//
// The same ranks are arranged twice: by the dense mesh (tensor, context, data, pipeline) and, for the layers that hold
// experts, by the expert mesh (expert tensor, expert, expert data, pipeline), so that tensor x context x data = expert
// tensor x expert x expert data. A rank has the same pipeline coordinate in both.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include <boost/container/static_vector.hpp>

namespace cairn::program {

// What an axis carries.
enum class Axis : std::uint8_t { tensor, context, expert, data, pipeline, expert_tensor, expert_data };
inline constexpr std::size_t k_axes = 7;
using AxisOrder = boost::container::static_vector<Axis, k_axes>;  // inner to outer
// "tp", "cp", "ep", "dp", "pp", "etp", "edp"
std::string_view label(Axis axis);
// The axis under whose label transfers are reported: experts' tensor and data axes count as tensor and data.
Axis reported_as(Axis axis);

// The ranks that take part in a transfer:
//
//   base + i stride + j apart,   i < size / rows,   j < rows
//
// Most lie along one axis and form one row. Ranks along two axes of a mesh that stand apart form rows. Where several
// stages hold the same parameters, every stage is a row, and the stages count as spread evenly over the pipeline.
struct Group {
  Axis axis = Axis::tensor;
  std::int64_t size = 1;
  std::int64_t stride = 1;
  std::int64_t rows = 1;
  std::int64_t apart = 1;

  std::int64_t in_row() const { return size / rows; }
  // How many of them share a domain of `domain` consecutive ranks, in the fullest one. Exact where domains and axes
  // nest.
  std::int64_t members(std::int64_t domain) const;
  // Length of the shortest stretch of consecutive ranks, beginning at a multiple of it, that holds them all. Exact
  // where axes nest.
  std::int64_t extent() const;
  friend bool operator==(const Group&, const Group&) = default;
};

class Mesh {
 public:
  Mesh() = default;
  // `order`: axes inner to outer; axes left out have size 1.
  Mesh(std::span<const Axis> order, const std::array<std::int64_t, k_axes>& sizes);
  std::int64_t size(Axis axis) const { return groups_[static_cast<std::size_t>(axis)].size; }
  const Group& group(Axis axis) const { return groups_[static_cast<std::size_t>(axis)]; }
  // The ranks along two axes together, counted as ranks of the first.
  Group group(Axis axis, Axis other) const;
  std::int64_t ranks() const;
  // Coordinate of a rank along an axis.
  std::int64_t coordinate(std::int64_t rank, Axis axis) const {
    const Group& g = group(axis);
    return (rank / g.stride) % g.size;
  }

 private:
  std::array<Group, k_axes> groups_{Group{Axis::tensor, 1, 1},     Group{Axis::context, 1, 1},
                                    Group{Axis::expert, 1, 1},     Group{Axis::data, 1, 1},
                                    Group{Axis::pipeline, 1, 1},   Group{Axis::expert_tensor, 1, 1},
                                    Group{Axis::expert_data, 1, 1}};
};

}  // namespace cairn::program
