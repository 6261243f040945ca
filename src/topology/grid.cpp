// torus, mesh: endpoints on a lattice, linked to their neighbours in every dimension; a torus closes its lines to
// rings.
//
//   number of an endpoint = x + X (y + Y (z + ...)), the first of `dims` innermost
//   ports of an endpoint = 2 for each dimension longer than 2, 1 for each of 2; they share its bandwidth evenly, also
//   where a mesh leaves some of them empty
// Routes go dimension by dimension, the shorter way round; on rings of even length k the opposite point t is reached in
// + direction from coordinate m if m < t or m > k/2. (An artefact of the widely used simulator SimGrid, kept so that
// figures compare.)
//   torus    diameter sum of k/2; bisection 2 N/k links each way for the longest k; all-to-all load N k / 8 pairs a
//            link (N (k^2 - 1) / (8 k) for odd k), so 8/k links' worth for each endpoint
//   mesh     diameter sum of k - 1; bisection N/k links; load N floor(k/2) ceil(k/2) / k
// Source: Dally, Towles 2004, ch. 5.
#include <algorithm>
#include <limits>

#include "lattice.h"

namespace cairn::topology {
namespace {

// Links between the two farthest of a line.
std::int64_t longest(std::int64_t extent, bool closed) { return closed ? extent / 2 : extent - 1; }

class Grid final : public Topology {
 public:
  Grid(const LevelInput& level, const std::vector<std::int64_t>& dims, bool closed)
      : Topology(level.size, 0, level.size * 2 * static_cast<std::int64_t>(dims.size())),
        dims_(dims),
        closed_(closed),
        injection_(level.bandwidth),
        planes_(level.planes) {
    for (const std::int64_t k : dims_) {
      ports_ += k > 2 ? 2 : k - 1;
      diameter_ += longest(k, closed_);
    }
    bandwidth_ = injection_ / static_cast<double>(std::max<std::int64_t>(1, ports_));
    latency_ = level.link_latency(diameter_);
  }

  Link link(LinkId id) const override {
    const auto slots = 2 * static_cast<std::int64_t>(dims_.size());
    const NodeId from = id / slots;
    const auto d = static_cast<std::size_t>(id % slots / 2);
    const bool down = id % 2 != 0;
    const std::int64_t k = dims_[d], stride = stride_of(d), at = from / stride % k;
    // A pair of neighbours has one cable: the link + of the first, - of the second in a mesh, + of both on a ring of 2.
    if (k == 1 || (closed_ && k == 2 && down)) return {};
    if (!closed_ && (down ? at == 0 : at == k - 1)) return {};
    const std::int64_t next = (at + (down ? k - 1 : 1)) % k;
    return {.from = from, .to = from + (next - at) * stride, .bandwidth = bandwidth_, .latency = latency_};
  }

  void route(NodeId from, NodeId to, std::vector<LinkId>& out) const override {
    const auto slots = 2 * static_cast<std::int64_t>(dims_.size());
    std::int64_t stride = 1;
    NodeId here = from;
    for (std::size_t d = 0; d < dims_.size(); stride *= dims_[d], ++d) {
      const std::int64_t k = dims_[d], target = to / stride % k;
      std::int64_t at = here / stride % k;
      const bool up = goes_up(at, target, k);
      while (at != target) {
        out.push_back(here * slots + 2 * static_cast<std::int64_t>(d) + (up ? 0 : 1));
        const std::int64_t next = (at + (up ? 1 : k - 1)) % k;
        here += (next - at) * stride;
        at = next;
      }
    }
  }

  Limits limits(std::int64_t /*group*/) const override {
    const auto p = static_cast<double>(endpoints());
    Limits limits{.injection = injection_,
                  .diameter = diameter_,
                  .bisection_fraction = 1.0,
                  .alltoall_load = 0.0,
                  .narrowest_cut = closed_ ? injection_ : 0.0};
    for (const std::int64_t extent : dims_) {
      if (extent == 1) continue;
      const auto k = static_cast<double>(extent), half = static_cast<double>(extent / 2);
      const double cables = closed_ && extent > 2 ? 2.0 : 1.0;
      limits.bisection_fraction = std::min(limits.bisection_fraction, cables * bandwidth_ / (half * injection_));
      const double pairs = closed_ && extent > 2 ? (extent % 2 == 0 ? p * k / 8.0 : p * (k * k - 1.0) / (8.0 * k))
                                                 : p * half * (k - half) / k;
      limits.alltoall_load = std::max(limits.alltoall_load, pairs / bandwidth_);
      // A corner has one port in each dimension.
      if (!closed_) limits.narrowest_cut += bandwidth_;
    }
    return limits;
  }

  // Links along boards of `board` a side are printed; all others are long.
  std::optional<Inventory> inventory(std::int64_t board) const override {
    Inventory inventory{.stages = {}, .short_cables = 0, .long_cables = 0, .planes = planes_};
    for (const std::int64_t k : dims_) {
      const std::int64_t lines = endpoints() / k;
      const std::int64_t cables = closed_ && k > 2 ? k : k - 1;
      const std::int64_t boards = (k + board - 1) / board;
      inventory.long_cables += lines * (cables - (k - boards));
    }
    return inventory;
  }
  std::optional<std::array<double, 2>> place(NodeId node) const override { return lattice_place(node, dims_); }
  bool deadlock_free() const override {
    return !closed_ || std::all_of(dims_.begin(), dims_.end(), [](std::int64_t k) { return k <= 3; });
  }

 private:
  std::int64_t stride_of(std::size_t d) const {
    std::int64_t stride = 1;
    for (std::size_t i = 0; i < d; ++i) stride *= dims_[i];
    return stride;
  }
  bool goes_up(std::int64_t at, std::int64_t target, std::int64_t k) const {
    if (!closed_) return target > at;
    if (k == 2) return true;
    return (target > at && target <= at + k / 2) || (at > k / 2 && (at + k / 2) % k >= target);
  }

  std::vector<std::int64_t> dims_;
  bool closed_;
  double injection_;
  std::int64_t planes_;
  std::int64_t ports_ = 0;
  std::int64_t diameter_ = 0;
  double bandwidth_ = 0.0;
  double latency_ = 0.0;
};

class GridKind final : public Lattice {
 public:
  explicit GridKind(bool closed) : closed_(closed) {}
  explicit GridKind(std::vector<std::int64_t> dims) : Lattice(std::move(dims)) {}
  std::unique_ptr<Kind> copy() const override { return std::make_unique<GridKind>(*this); }

  std::string_view name() const override { return closed_ ? "torus" : "mesh"; }
  std::optional<std::int64_t> longest_route(std::int64_t, std::int64_t) const override {
    return sum([this](std::int64_t extent) { return longest(extent, closed_); });
  }
  std::unique_ptr<Topology> build(const LevelInput& level) const override {
    return std::make_unique<Grid>(level, dims(), closed_);
  }

 private:
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<Kind> kinds::torus() { return std::make_unique<GridKind>(true); }
std::unique_ptr<Kind> kinds::mesh() { return std::make_unique<GridKind>(false); }
std::unique_ptr<Kind> mesh_of(std::vector<std::int64_t> dims) { return std::make_unique<GridKind>(std::move(dims)); }

}  // namespace cairn::topology
