// nvswitch, star: every endpoint has one link to and one from a switch that never limits.
//   diameter 2, bisection 1, all-to-all 1.
#include "kinds.h"

namespace cairn::topology {
namespace {

class Crossbar final : public Topology {
 public:
  explicit Crossbar(const LevelInput& level)
      : Topology(level.endpoints(), 1, 2 * level.endpoints()),
        bandwidth_(level.bandwidth),
        latency_(level.end_latency()),
        planes_(level.planes) {}

  Link link(LinkId id) const override {
    const bool up = id < endpoints();
    const NodeId endpoint = up ? id : id - endpoints();
    return {.from = up ? endpoint : endpoints(),
            .to = up ? endpoints() : endpoint,
            .bandwidth = bandwidth_,
            .latency = latency_};
  }
  void route(NodeId from, NodeId to, std::vector<LinkId>& out) const override {
    out.push_back(from);
    out.push_back(endpoints() + to);
  }
  Limits limits(std::int64_t group) const override { return switch_limits(endpoints(), group, bandwidth_); }
  std::optional<Inventory> inventory(std::int64_t /*board*/) const override {
    return Inventory{.stages = {{.count = 1, .ports = endpoints()}},
                     .short_cables = endpoints(),
                     .long_cables = 0,
                     .planes = planes_};
  }
  bool deadlock_free() const override { return true; }

 private:
  double bandwidth_;
  double latency_;
  std::int64_t planes_;
};

class CrossbarKind final : public KindOf<CrossbarKind> {
 public:
  CrossbarKind(std::string_view name, Parts parts) : name_(name), parts_(parts) {}

  std::string_view name() const override { return name_; }
  Parts parts() const override { return parts_; }
  std::optional<std::int64_t> longest_route(std::int64_t, std::int64_t) const override { return 2; }  // up, down
  std::unique_ptr<Topology> build(const LevelInput& level) const override { return std::make_unique<Crossbar>(level); }

 private:
  std::string_view name_;
  Parts parts_;
};

}  // namespace

std::unique_ptr<Kind> kinds::nvswitch() { return std::make_unique<CrossbarKind>("nvswitch", Parts::of_accelerators); }
std::unique_ptr<Kind> kinds::star() { return std::make_unique<CrossbarKind>("star", Parts::bought); }

}  // namespace cairn::topology
