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
  // row min(size, ceil(domain / stride)).
  std::int64_t members(std::int64_t domain) const;
  // Ranks in the emptiest of the domains that the group, or one that lies like it, has ranks in. Blocks of n ranks at
  // stride s begin at all multiples of gcd(n s, domain) in a domain, so that the least piece of one is so long: along a
  // row max(1, floor(gcd(n s, domain) / s)), as many as members() where all domains have equally many. Groups of 4 in
  // domains of 6: 4, but 2 of the second group's. Of several rows no more than there are; exact where `apart` and the
  // domain divide one another.
  std::int64_t fewest_members(std::int64_t domain) const;
  bool fills_evenly(std::int64_t domain) const { return fewest_members(domain) == members(domain); }
  // Whether the group, or one that lies like it, has ranks in several domains.
  bool crosses(std::int64_t domain) const { return fewest_members(domain) < size; }
  // The least L such that one aligned block of ranks [k L, (k + 1) L) holds the whole group. Exact where the strides of
  // the axes divide each other.
  std::int64_t extent() const;
  // Messages that leave one unit of `unit` consecutive ranks at once, of the unit that most leave, where each rank
  // sends `reach` places on around its group, and around all that lie like it, of n ranks at stride s in one row. As
  // many come in. A stretch of L ranks of a block of n s is left by
  //   out(L) = min(L, n s - L, d)    d = s min(reach, n - reach)
  // A unit holds the end of one block and the beginning of another, of together unit mod n s ranks, or of n s more, and
  // between them whole blocks, which nothing leaves. The end may be any multiple of gcd(n s, unit); out is concave, so
  // that the two give most where they are most alike.
  // Example: eight ranks in units of four, reach 1. One ring: 1. Two rings of four: 2. Four pairs of stride 4: 4.
  std::int64_t hops_out(std::int64_t unit, std::int64_t reach) const;
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
