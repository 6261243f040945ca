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

// The kinds of parallelism, one mesh axis each: tp, cp, ep, dp, pp, etp, edp.
enum class Axis : std::uint8_t { tensor, context, expert, data, pipeline, expert_tensor, expert_data };
inline constexpr std::size_t k_axes = 7;
using AxisOrder = boost::container::static_vector<Axis, k_axes>;  // inner to outer
// "tp", "cp", "ep", "dp", "pp", "etp", "edp"
std::string_view label(Axis axis);
// The axis under whose label transfers are reported: experts' tensor and data axes count as tensor and data.
Axis reported_as(Axis axis);

// The ranks that take part in a transfer (a process group; `base` differs from group to group and is not stored):
//
//   base + i stride + j apart,   i < size / rows,   j < rows
//
// Most groups lie along one axis and form one row. A group along two axes that are not neighbours in the mesh's order
// has several rows. Where several stages hold the same parameters, each stage is a row, and rows count as equally far.
struct Group {
  Axis axis = Axis::tensor;
  std::int64_t size = 1;
  std::int64_t stride = 1;
  std::int64_t rows = 1;
  std::int64_t apart = 1;

  std::int64_t in_row() const { return size / rows; }
  // Ranks of the group in the fullest domain, a domain being `domain` consecutive ranks that fast links join. Along a
  // row min(size, ceil(domain / stride)), exact where domain and stride divide one another.
  std::int64_t members(std::int64_t domain) const;
  // The least L such that one aligned block of ranks [k L, (k + 1) L) holds the whole group. Exact where the strides of
  // the axes divide each other.
  std::int64_t extent() const;
  // Messages that leave one unit of `unit` consecutive ranks at once where each rank sends to the next of its group, the
  // last to the first, in this group and in all that lie like it, of n ranks at stride s in one row:
  //   0             whole rings fill the unit:  unit = k n s
  //   min(s, unit)  the ring passes k units, each of which every ring leaves once:  n s = k unit
  //   min(2 s, unit) at most: the unit holds the end of one block of rings and the beginning of the next
  // As many come in.
  std::int64_t hops_out(std::int64_t unit) const;
  friend bool operator==(const Group&, const Group&) = default;
};

class Mesh {
 public:
  Mesh() = default;
  // `order`: axes inner to outer; axes left out have size 1.
  Mesh(std::span<const Axis> order, const std::array<std::int64_t, k_axes>& sizes);
  std::int64_t size(Axis axis) const { return groups_[static_cast<std::size_t>(axis)].size; }
  const Group& group(Axis axis) const { return groups_[static_cast<std::size_t>(axis)]; }
  // The group that spans both axes; transfers over it are labelled with the first.
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
