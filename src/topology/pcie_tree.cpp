// pcie-tree: accelerators under switches, each switch with one link to a common root complex.
//
//   m = endpoints of a switch, U = bandwidth of its uplink, B = of an endpoint
//   bisection min(1, U / (m B)); all-to-all load max((P - 1) / B, m (P - m) / U)
#include <algorithm>

#include "kinds.h"
#include "lattice.h"

namespace cairn::topology {
namespace {

class PcieTree final : public Topology {
 public:
  PcieTree(const LevelInput& level, std::int64_t groups, double uplink)
      : Topology(level.endpoints(), groups > 1 ? groups + 1 : 1, 2 * (level.endpoints() + (groups > 1 ? groups : 0))),
        groups_(groups),
        under_(level.endpoints() / groups),
        bandwidth_(level.bandwidth),
        uplink_(uplink),
        end_latency_(level.end_latency()),
        inner_latency_(level.inner_latency()) {}

  Link link(LinkId id) const override {
    const LinkId half = links() / 2;
    const bool up = id < half;
    const LinkId at = up ? id : id - half;
    Link link = at < endpoints()
                    ? Link{.from = at, .to = switch_of(at), .bandwidth = bandwidth_, .latency = end_latency_}
                    : Link{.from = at, .to = root(), .bandwidth = uplink_, .latency = inner_latency_};
    if (!up) std::swap(link.from, link.to);
    return link;
  }
  void route(NodeId from, NodeId to, std::vector<LinkId>& out) const override {
    const LinkId half = links() / 2;
    out.push_back(from);
    if (switch_of(from) != switch_of(to)) {
      out.push_back(switch_of(from));
      out.push_back(half + switch_of(to));
    }
    out.push_back(half + to);
  }
  Limits limits(std::int64_t group) const override {
    const auto p = static_cast<double>(endpoints()), m = static_cast<double>(under_);
    const double host = (p - static_cast<double>(group)) / bandwidth_;
    Limits limits{.injection = bandwidth_,
                  .diameter = groups_ > 1 ? 4 : 2,
                  .bisection_fraction = 1.0,
                  .alltoall_load = host,
                  .narrowest_cut = bandwidth_};
    if (groups_ == 1) return limits;
    limits.bisection_fraction = std::min(1.0, uplink_ / (m * bandwidth_));
    limits.alltoall_load = std::max(host, m * (p - m) / uplink_);
    limits.narrowest_cut = std::min(bandwidth_, uplink_);
    return limits;
  }
  bool deadlock_free() const override { return true; }
  std::string node_name(NodeId node) const override {
    return groups_ > 1 && node == root() ? "root" : Topology::node_name(node);
  }

 private:
  // Uplinks have the numbers of their switches.
  NodeId switch_of(NodeId endpoint) const { return endpoints() + endpoint / under_; }
  NodeId root() const { return endpoints() + groups_; }

  std::int64_t groups_;
  std::int64_t under_;
  double bandwidth_;
  double uplink_;
  double end_latency_;
  double inner_latency_;
};

struct PairLink {
  core::BytesPerSecond bandwidth = {};
  core::Seconds latency = {};
};
void describe(config::Fields& fields, PairLink& pair) {
  fields.quantity("bandwidth", pair.bandwidth,
                  {.doc = "per accelerator, per direction", .required = true, .positive = true});
  fields.quantity(
      "latency", pair.latency,
      {.doc = "one way, of a zero-byte send; usual: 0.6 us over NVLink (NCCL's tuning model, 2024)", .required = true});
}

class PcieTreeKind final : public KindOf<PcieTreeKind> {
 public:
  std::string_view name() const override { return "pcie-tree"; }
  Parts parts() const override { return Parts::of_accelerators; }

  void check(std::int64_t size, const std::string& key_path) const override {
    if (size % groups() != 0)
      refuse(key_path, "switches",
             std::to_string(size) + (pairs_ ? " pairs" : " accelerators") + " do not spread evenly",
             "choose a divisor");
  }
  std::optional<std::int64_t> longest_route(std::int64_t, std::int64_t) const override { return groups() > 1 ? 4 : 2; }
  std::unique_ptr<Topology> build(const LevelInput& level) const override {
    if (level.endpoints() % groups() != 0)
      refuse(level, "switches", std::to_string(level.endpoints()) + " accelerators do not spread evenly",
             "choose a divisor");
    return std::make_unique<PcieTree>(level, groups(), uplink_ ? uplink_->base() : level.bandwidth);
  }
  Uplinks uplinks() const override { return {.switches = groups(), .bandwidth = uplink_}; }
  std::optional<Pairs> pairs() const override {
    if (!pairs_) return {};
    return Pairs{.shape = Shape(mesh_of({2})), .bandwidth = pairs_->bandwidth, .latency = pairs_->latency};
  }

 private:
  void describe_own(config::Fields& fields) override {
    fields.count("switches", switches_, some("switches the accelerators are spread over"));
    fields.quantity("uplink", uplink_,
                    {.doc = "per direction, of one switch to the root complex; default: bandwidth", .positive = true});
    fields.check(
        "uplink", [&] { return !uplink_ || groups() > 1; }, "given for fewer than two switches",
        "give switches, or remove it");
    fields.object("pairs", pairs_, {.doc = "direct links between accelerators 2i and 2i+1"});
  }
  std::int64_t groups() const { return switches_.value_or(1); }

  std::optional<std::int64_t> switches_ = {};
  std::optional<core::BytesPerSecond> uplink_ = {};
  std::optional<PairLink> pairs_ = {};
};

}  // namespace

std::unique_ptr<Kind> kinds::pcie_tree() { return std::make_unique<PcieTreeKind>(); }

}  // namespace cairn::topology
