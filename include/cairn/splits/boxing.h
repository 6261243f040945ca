// Boxing: a tensor that is made in one placement and wanted in another.
//
// Over p devices a tensor of T bytes is S(i), each device holds a p-th of it along dimension i; B, each holds all of it
// (program::Placement: replicate); or P, each holds a summand of all of it. The bytes that all devices together
// receive, at the least, where the devices stay the same p, and where p1 of them hand it to p2 others:
//
//   same p      to S(j)                    to B         to P        p1 to p2    to S     to B             to P
//   from S(i)   i = j: 0, (p-1)/p T else   (p-1) T      0           from S      T        p2 T             T
//   from B      0                          0            0           from B      T        p2 T             T
//   from P      (p-1) T                    2 (p-1) T    0           from P      p1 T     (p1+p2-1) T      p1 T
//
// Where nothing is added, each device receives what it lacks. Where summands are added, count the messages of one
// element: each of the p devices that hold one must have sent it before anyone has the sum, p - 1 messages at least for
// one of them and p for a device outside. The message that completes one device completes no other, so that each
// further device that wants the sum needs one more. Trees reach both.
// Source: the placements of J. Yuan et al., "OneFlow", 2021 (arXiv 2110.15032); the bytes are counted in
// tests/splits/boxing_test.cpp.
//
// On a mesh of several axes a tensor has a placement for each. One collective changes the placement along one axis,
// while each group along that axis works on the part of the tensor that the others leave it. Axes that split the same
// dimension nest, the outer one first, so that an axis enters or leaves S(i) only while no axis inside it is in S(i).
// Boxing takes the cheapest sequence of such changes, which may pass through placements that neither side has: (P, P)
// to (B, B) becomes a reduce-scatter inside, an all-reduce of a p-th outside and an all-gather inside where that is
// faster. A placement on the way splits evenly, too.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/container/static_vector.hpp>

#include "cairn/core/quantity.h"
#include "cairn/core/time.h"
#include "cairn/predict/price/price.h"
#include "cairn/program/placement.h"
#include "cairn/program/work.h"

namespace cairn::splits {

using program::Placement;

// `devices`: at least 1; `bytes`: of the whole tensor. Both sides P: of the same monoid.
core::Bytes boxing_bytes(const Placement& from, const Placement& to, std::int64_t devices, core::Bytes bytes);
// From `senders` devices to `receivers` others.
core::Bytes boxing_bytes_apart(const Placement& from, const Placement& to, std::int64_t senders, std::int64_t receivers,
                               core::Bytes bytes);

inline constexpr std::size_t k_max_mesh_axes = 4;

struct MeshAxis {
  std::string name;
  std::int64_t devices = 1;
};
// Outermost axis first. At most k_max_mesh_axes. Ranks are numbered along the innermost axis first.
using Mesh = std::vector<MeshAxis>;

std::int64_t devices(const Mesh& mesh);
// The ranks along one axis.
program::Group group_of(const Mesh& mesh, std::size_t axis);

// program::redistribute, and `none` for what becomes a partial sum, which is cheap: all devices but one hold zeros
// where they hold nothing.
program::Collective boxing_collective(const Placement& from, const Placement& to);

// One placement per mesh axis.
using NdPlacement = boost::container::static_vector<Placement, k_max_mesh_axes>;
// "S(0) B P"
std::string text(const NdPlacement& placement);

struct BoxingStep {
  std::size_t axis = 0;
  program::Transfer transfer = {};  // of the bytes that the axis' devices share; no collective where nothing moves
  core::Picoseconds time = 0;
};
using BoxingSteps = std::vector<BoxingStep>;

// The boxings of one tensor on a mesh. Partial sums are sums.
class TensorBoxing {
 public:
  // `pricer`: of the collectives; it must outlive this.
  TensorBoxing(std::vector<std::int64_t> extents, core::Bytes bytes, Mesh mesh, predict::Pricer& pricer);

  // Whether each dimension divides by the devices that split it.
  bool fits(const NdPlacement& placement) const;
  // Least time, 0 where nothing moves. Both placements fit.
  core::Picoseconds time(const NdPlacement& from, const NdPlacement& to);
  bool moves(const NdPlacement& from, const NdPlacement& to);  // whether something does
  // The changes behind it that move something.
  BoxingSteps steps(const NdPlacement& from, const NdPlacement& to);
  // The placements without P that fit.
  std::vector<NdPlacement> wholes() const;
  // That of these on the cheapest way that passes through one: of a result that leaves the graph on its way out, and of
  // its gradient, if it has one, on its way in.
  NdPlacement whole_between(const NdPlacement& from, const std::optional<NdPlacement>& to);

 private:
  struct Change {
    std::size_t to = 0;
    BoxingStep step = {};
  };
  struct Reached {
    std::vector<core::Picoseconds> times;
    std::vector<std::size_t> before;
    std::vector<char> moved;  // whether something did on the way
  };
  std::size_t state(const NdPlacement& placement) const;
  NdPlacement placement(std::size_t state) const;
  core::Bytes shared_bytes(const NdPlacement& placement, std::size_t axis) const;
  bool may_change(const NdPlacement& from, std::size_t axis, const Placement& to) const;
  const Reached& reach(std::size_t from);
  BoxingStep step(const NdPlacement& from, std::size_t axis, const Placement& to) const;
  // What one collective, or none, makes of a placement.
  const std::vector<Change>& changes(std::size_t from);

  std::vector<std::int64_t> extents_;
  core::Bytes bytes_;
  Mesh mesh_;
  predict::Pricer& pricer_;
  std::vector<Placement> placements_;  // of one axis
  std::size_t states_ = 1;
  std::vector<char> fits_;                                   // of each placement
  std::vector<std::optional<std::vector<Change>>> changes_;  // of each placement, once asked for
  std::map<std::size_t, Reached> reached_;
};

}  // namespace cairn::splits
