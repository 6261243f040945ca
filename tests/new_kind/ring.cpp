// ring: every endpoint has one-way links to the next `reach` ones, which share its bandwidth evenly. A kind that the
// program does not have: this file and its line in kinds.def are all of it.
//
//   P endpoints, reach r, link s of endpoint i leads to i + s mod P; a route takes links r as long as it can
//   diameter ceil((P - 1) / r)
//   bisection: from a half to the next of it cross 1 + 2 + ... + r links of B / r: (r + 1) / 2 B of P / 2 B
//   all-to-all: link r of an endpoint carries floor(k / r) pairs of every distance k
#include <algorithm>

#include "kinds.h"

namespace cairn::topology {
namespace {

class Ring final : public Topology {
 public:
  Ring(const LevelInput& level, std::int64_t reach, std::int64_t longest)
      : Topology(level.size, 0, level.size * reach),
        reach_(reach),
        longest_(longest),
        injection_(level.bandwidth),
        latency_(level.link_latency(longest)),
        planes_(level.planes) {}

  Link link(LinkId id) const override {
    const NodeId from = id / reach_;
    return {.from = from,
            .to = (from + id % reach_ + 1) % endpoints(),
            .bandwidth = injection_ / static_cast<double>(reach_),
            .latency = latency_};
  }
  void route(NodeId from, NodeId to, std::vector<LinkId>& out) const override {
    while (from != to) {
      const std::int64_t step = std::min(reach_, (to - from + endpoints()) % endpoints());
      out.push_back(from * reach_ + step - 1);
      from = (from + step) % endpoints();
    }
  }
  Limits limits(std::int64_t /*group*/) const override {
    const auto p = static_cast<double>(endpoints()), r = static_cast<double>(reach_);
    std::int64_t pairs = 0;
    for (std::int64_t distance = 1; distance < endpoints(); ++distance) pairs += distance / reach_;
    return {.injection = injection_,
            .diameter = longest_,
            .bisection_fraction = std::min(1.0, (r + 1.0) / p),
            .alltoall_load = static_cast<double>(pairs) * r / injection_,
            .narrowest_cut = injection_};
  }
  std::optional<Inventory> inventory(std::int64_t /*board*/) const override {
    return Inventory{.stages = {}, .short_cables = 0, .long_cables = links(), .planes = planes_};
  }

 private:
  std::int64_t reach_;
  std::int64_t longest_;
  double injection_;
  double latency_;
  std::int64_t planes_;
};

class RingKind final : public KindOf<RingKind> {
 public:
  std::string_view name() const override { return "ring"; }
  Entry entry() const override { return Entry::whole; }
  void check(std::int64_t size, const std::string& key_path) const override {
    if (reach_ >= size)
      refuse(key_path, "reach", std::to_string(size) + " units are within reach of themselves", "give less");
  }
  std::optional<std::int64_t> longest_route(std::int64_t size, std::int64_t) const override {
    return ceil_div(size - 1, reach_);
  }
  std::unique_ptr<Topology> build(const LevelInput& level) const override {
    return std::make_unique<Ring>(level, reach_, *longest_route(level.size, 1));
  }
  std::vector<std::string> assumptions(std::string_view, const Topology&, bool) const override {
    return {"nothing flows backwards"};
  }

 private:
  void describe_own(config::Fields& fields) override {
    fields.count("reach", reach_, some("next ones that each is linked to", true));
  }

  std::int64_t reach_ = 1;
};

}  // namespace

std::unique_ptr<Kind> kinds::ring() { return std::make_unique<RingKind>(); }

}  // namespace cairn::topology
