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
// The ring algorithms move those bytes, an equal share into each device. On an axis of p devices, latency a and
// bandwidth b, with the T bytes that its devices share:
//
//   all-gather, reduce-scatter   (p-1) a + (p-1)/p T/b        all-to-all   (p-1) a + (p-1)/p (T/p)/b
//   all-reduce                   2 (p-1) a + 2 (p-1)/p T/b
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
#include "cairn/program/placement.h"

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
  core::Seconds latency = {};           // of one message
  core::BytesPerSecond bandwidth = {};  // of one device, each direction
};
// Outermost axis first. At most k_max_mesh_axes.
using Mesh = std::vector<MeshAxis>;

// program::redistribute, and `none` for what becomes a partial sum, which is cheap: all devices but one hold zeros
// where they hold nothing.
program::Collective boxing_collective(const Placement& from, const Placement& to);
// Time of one change along one axis; `bytes`: what the axis' devices share.
core::Seconds boxing_time(const Placement& from, const Placement& to, const MeshAxis& axis, core::Bytes bytes);

// One placement per mesh axis.
using NdPlacement = boost::container::static_vector<Placement, k_max_mesh_axes>;
// "S(0) B P"
std::string text(const NdPlacement& placement);

struct BoxingStep {
  std::size_t axis = 0;
  program::Collective collective = program::Collective::none;
  core::Bytes bytes = {};  // what the axis' devices share
  core::Seconds time = {};
};

// The boxings of one tensor on a mesh. Partial sums are sums.
class TensorBoxing {
 public:
  TensorBoxing(std::vector<std::int64_t> extents, core::Bytes bytes, Mesh mesh);

  // Whether each dimension divides by the devices that split it.
  bool fits(const NdPlacement& placement) const;
  // Least time, 0 where nothing moves. Both placements fit.
  core::Seconds time(const NdPlacement& from, const NdPlacement& to);
  // The changes behind it, those included that move nothing.
  std::vector<BoxingStep> steps(const NdPlacement& from, const NdPlacement& to);
  // The cheapest way to a placement without P and from there to another: a result that leaves the graph, and its
  // gradient.
  core::Seconds time_through_whole(const NdPlacement& from, const NdPlacement& to);

 private:
  struct Change {
    std::size_t to = 0;
    double seconds = 0.0;
  };
  struct Reached {
    std::vector<double> seconds;
    std::vector<std::size_t> before;
  };
  std::size_t state(const NdPlacement& placement) const;
  NdPlacement placement(std::size_t state) const;
  core::Bytes shared_bytes(const NdPlacement& placement, std::size_t axis) const;
  bool may_change(const NdPlacement& from, std::size_t axis, const Placement& to) const;
  const Reached& reach(std::size_t from);
  // What one collective, or none, makes of a placement.
  const std::vector<Change>& changes(std::size_t from);

  std::vector<std::int64_t> extents_;
  core::Bytes bytes_;
  Mesh mesh_;
  std::vector<Placement> placements_;  // of one axis
  std::size_t states_ = 1;
  std::vector<std::optional<std::vector<Change>>> changes_;  // of each placement, once asked for
  std::map<std::size_t, Reached> reached_;
};

}  // namespace cairn::splits
