// hyperx: one endpoint on each switch of a lattice; along every dimension a switch has a link to every other.
//
// Routes correct one coordinate after the other. All links have the endpoints' bandwidth B.
//   diameter 2 + dimensions; a link carries P / s pairs, s the length of its dimension, less than an endpoint's P - 1;
//   with K = 1 cable and T = 1 endpoint the relative bisection K s / (2 T) is at least 1: the endpoints alone limit
// Source: Ahn et al. 2009, "HyperX: topology, routing, and packaging of efficient large-scale networks", SC09.
#include <algorithm>

#include "lattice.h"

namespace cairn::topology {
namespace {

class HyperX final : public Topology {
 public:
  HyperX(const LevelInput& level, const std::vector<std::int64_t>& dims)
      : Topology(level.size, level.size, level.size * (2 + neighbours(dims))),
        dims_(dims),
        bandwidth_(level.bandwidth),
        end_latency_(level.end_latency()),
        inner_latency_(level.inner_latency()),
        planes_(level.planes) {}

  Link link(LinkId id) const override {
    const std::int64_t p = endpoints();
    if (id < 2 * p) {
      const bool up = id < p;
      const NodeId endpoint = id % p;
      return {.from = up ? endpoint : p + endpoint,
              .to = up ? p + endpoint : endpoint,
              .bandwidth = bandwidth_,
              .latency = end_latency_};
    }
    const std::int64_t each = neighbours(dims_);
    const std::int64_t at = (id - 2 * p) / each;
    std::int64_t other = (id - 2 * p) % each, stride = 1;
    std::size_t d = 0;
    for (; other >= dims_[d] - 1; ++d) {
      other -= dims_[d] - 1;
      stride *= dims_[d];
    }
    const std::int64_t own = at / stride % dims_[d];
    if (other >= own) ++other;
    return {.from = p + at, .to = p + at + (other - own) * stride, .bandwidth = bandwidth_, .latency = inner_latency_};
  }
  void route(NodeId from, NodeId to, std::vector<LinkId>& out) const override {
    const std::int64_t p = endpoints(), each = neighbours(dims_);
    out.push_back(from);
    std::int64_t at = from, stride = 1, first = 0;
    for (const std::int64_t s : dims_) {
      const std::int64_t own = at / stride % s, other = to / stride % s;
      if (own != other) {
        out.push_back(2 * p + at * each + first + (other > own ? other - 1 : other));
        at += (other - own) * stride;
      }
      first += s - 1;
      stride *= s;
    }
    out.push_back(p + to);
  }
  Limits limits(std::int64_t /*group*/) const override {
    const std::int64_t p = endpoints();
    Limits limits{.injection = bandwidth_,
                  .diameter = 2,
                  .bisection_fraction = 1.0,
                  .alltoall_load = static_cast<double>(p - 1) / bandwidth_,
                  .narrowest_cut = bandwidth_};
    for (const std::int64_t s : dims_)
      if (s > 1) ++limits.diameter;
    return limits;
  }
  std::optional<Inventory> inventory(std::int64_t /*board*/) const override {
    return Inventory{.stages = {{.count = endpoints(), .ports = 1 + neighbours(dims_)}},
                     .short_cables = endpoints(),
                     .long_cables = endpoints() * neighbours(dims_) / 2,
                     .planes = planes_};
  }
  bool deadlock_free() const override { return true; }
  std::optional<std::array<double, 2>> place(NodeId node) const override {
    constexpr double k_beside = 0.3;  // an endpoint by its switch
    std::array<double, 2> at = lattice_place(node % endpoints(), dims_);
    if (node < endpoints()) at = {at[0] - k_beside, at[1] + k_beside};
    return at;
  }

 private:
  static std::int64_t neighbours(const std::vector<std::int64_t>& dims) {
    std::int64_t sum = 0;
    for (const std::int64_t s : dims) sum += s - 1;
    return sum;
  }

  std::vector<std::int64_t> dims_;
  double bandwidth_;
  double end_latency_;
  double inner_latency_;
  std::int64_t planes_;
};

class HyperXKind final : public Lattice {
 public:
  std::unique_ptr<Kind> copy() const override { return std::make_unique<HyperXKind>(*this); }
  std::string_view name() const override { return "hyperx"; }
  std::optional<std::int64_t> longest_route(std::int64_t, std::int64_t) const override {
    return 2 + sum([](std::int64_t extent) { return std::int64_t{extent > 1 ? 1 : 0}; });
  }
  std::unique_ptr<Topology> build(const LevelInput& level) const override {
    return std::make_unique<HyperX>(level, dims());
  }
};

}  // namespace

std::unique_ptr<Kind> kinds::hyperx() { return std::make_unique<HyperXKind>(); }

}  // namespace cairn::topology
