// A range of consecutive operators, fused: their shared axes, and the bytes moved and held for given tiles (fusion.h).
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "cairn/cost/fusion.h"
#include "cairn/cost/operator_floor.h"

namespace cairn::cost {

// The operators of a layer and what they touch, worked out once.
class FusedLayer {
 public:
  FusedLayer(const ir::Graph& graph, const loopnest::Sizes& sizes, std::size_t count, const std::vector<char>& kept);

  std::size_t count() const { return uses_.size(); }
  const ir::Graph& graph() const { return graph_; }
  const ir::Operator& op(std::size_t i) const { return graph_.operators()[i]; }
  const Uses& uses(std::size_t i) const { return uses_[i]; }
  const loopnest::Box& box(std::size_t i) const { return boxes_[i]; }
  OperatorClass class_of(std::size_t i) const { return cost::class_of(op(i), graph_); }
  // Read by an operator after `i`, or wanted at the end; another name of the same storage counts.
  bool wanted_after(ir::TensorId id, std::size_t i) const;
  double two_passes(std::size_t i) const;

 private:
  ir::TensorId storage(ir::TensorId id) const;

  const ir::Graph& graph_;
  std::vector<Uses> uses_;
  std::vector<loopnest::Box> boxes_;
  std::vector<std::size_t> last_read_;  // by storage, one past the operator; 0: never
  std::vector<char> kept_;              // by storage
};

struct FusedAxis {
  std::string name;
  std::int64_t extent = 1;
  std::vector<int> dims;  // by operator of the range
};

class FusedRange {
 public:
  FusedRange(const FusedLayer& layer, std::size_t begin, std::size_t end);

  // Longest first.
  const std::vector<FusedAxis>& axes() const { return axes_; }
  // Infinite bytes: does not fit.
  FusedGroup run(const std::vector<std::int64_t>& tile, double on_chip_bytes) const;

 private:
  // A tensor as the range uses it.
  struct Touched {
    ir::TensorId id = ir::k_no_tensor;
    double bytes = 0.0;
    double steps = 1.0;  // slices in which a tile of it is streamed through the chip
    std::uint32_t axes = 0;
    std::size_t first = 0, last = 0;  // operators, from 0
    bool loaded = false, stored = false;
    bool passes = false;  // it is streamed: only one slice is on the chip at a time
  };
  void find_axes();
  void find_tensors();
  bool sums_over(std::size_t i, int dim) const;
  std::set<ir::TensorId> written() const;
  std::vector<std::int64_t> part_of(std::size_t i, const ir::Access& access) const;
  bool may_pass(std::size_t i, const ir::Access& access, double& steps) const;

  const FusedLayer& layer_;
  std::size_t begin_, end_;
  std::vector<FusedAxis> axes_;
  std::vector<Touched> tensors_;
};

}  // namespace cairn::cost
