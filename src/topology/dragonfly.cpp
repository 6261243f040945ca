// dragonfly: groups of `a` routers with `p` endpoints and `h` global links each; routers of a group are all linked, and
// so are all groups.
//
//   groups g <= a h + 1; between every two groups c = floor(a h / (g - 1)) cables. Global port q of a group (0 .. c
//   (g-1)
//   - 1; the rest stay empty) leads to the group q mod (g - 1) + 1 further on, from router q / h.
// All links have the endpoints' bandwidth B. Among c parallel cables (source + destination) mod c decides.
//   minimal   endpoint, [local], [global], [local], endpoint
//   valiant   minimal to a group chosen by hash(seed, source, destination), from there minimal
//   diameter 5; bisection ceil(g/2) c / (a p); all-to-all load = max((P - 1) / B, (a p)^2 / (c B) of a global link
//   between full groups, (p^2 + 2 p (P - a p) h' / (c (g - 1))) / B of a local link to a router with h' global ports in
//   use)
// Source: Kim, Dally, Scott, Abts 2008, "Technology-driven, highly-scalable dragonfly topology", ISCA.
#include <algorithm>

#include "kinds.h"

namespace cairn::topology {
namespace {

struct DragonflySizes {
  std::int64_t a = 1, p = 1, h = 1;
  std::int64_t groups = 1;
  std::int64_t cables = 0;  // between two groups
  std::int64_t routers() const { return groups * a; }
  std::int64_t ports() const { return cables * (groups - 1); }  // global, of a group, in use
};

class Dragonfly final : public Topology {
 public:
  Dragonfly(const LevelInput& level, const DragonflySizes& sizes, const RoutingKeys& routing)
      : Topology(level.endpoints(), sizes.routers(),
                 2 * level.endpoints() + sizes.routers() * (sizes.a - 1) + sizes.groups * sizes.ports()),
        s_(sizes),
        bandwidth_(level.bandwidth),
        end_latency_(level.end_latency()),
        inner_latency_(level.inner_latency()),
        valiant_(routing.is_hashed()),
        seed_(routing.number()),
        planes_(level.planes) {}

  Link link(LinkId id) const override {
    const std::int64_t n = endpoints();
    Link link{.from = 0, .to = 0, .bandwidth = bandwidth_, .latency = inner_latency_};
    if (id < 2 * n) {
      const NodeId endpoint = id % n, router = n + endpoint / s_.p;
      link.from = id < n ? endpoint : router;
      link.to = id < n ? router : endpoint;
      link.latency = end_latency_;
    } else if (id < first_global()) {
      const std::int64_t at = (id - 2 * n) / (s_.a - 1), other = (id - 2 * n) % (s_.a - 1), own = at % s_.a;
      link.from = n + at;
      link.to = n + at - own + (other < own ? other : other + 1);
    } else {
      const std::int64_t group = (id - first_global()) / s_.ports(), port = (id - first_global()) % s_.ports();
      const std::int64_t other = (group + port % (s_.groups - 1) + 1) % s_.groups;
      link.from = n + group * s_.a + port / s_.h;
      link.to = n + other * s_.a + port_to(other, group, port / (s_.groups - 1)) / s_.h;
    }
    return link;
  }

  void route(NodeId from, NodeId to, std::vector<LinkId>& out) const override {
    out.push_back(from);
    std::int64_t at = from / s_.p;
    const std::int64_t target = to / s_.p, source_group = at / s_.a, target_group = target / s_.a;
    if (valiant_ && source_group != target_group && s_.groups > 2) {
      std::int64_t via =
          static_cast<std::int64_t>(route_hash(seed_, from, to, 0) % static_cast<std::uint64_t>(s_.groups - 2));
      for (const std::int64_t taken : {std::min(source_group, target_group), std::max(source_group, target_group)})
        if (via >= taken) ++via;
      at = to_group(at, via, from + to, out);
    }
    if (at / s_.a != target_group) at = to_group(at, target_group, from + to, out);
    if (at != target) out.push_back(local(at, target));
    out.push_back(endpoints() + to);
  }

  Limits limits(std::int64_t /*group*/) const override {
    const auto n = static_cast<double>(endpoints()), a = static_cast<double>(s_.a), p = static_cast<double>(s_.p);
    Limits limits{.injection = bandwidth_,
                  .diameter = s_.groups > 1 ? 5 : 3,
                  .bisection_fraction = 1.0,
                  .alltoall_load = (n - 1.0) / bandwidth_,
                  .narrowest_cut = bandwidth_};
    if (s_.a == 1) limits.diameter -= s_.groups > 1 ? 2 : 1;
    double local_pairs = p * p;
    if (s_.groups > 1) {
      const auto c = static_cast<double>(s_.cables);
      const auto used = static_cast<double>(std::min(s_.h, s_.ports()));
      limits.bisection_fraction = std::min(1.0, static_cast<double>((s_.groups + 1) / 2) * c / (a * p));
      // Of two groups the second may be partly filled, of more at least two are full.
      const double other = s_.groups > 2 ? a * p : n - a * p;
      limits.alltoall_load = std::max(limits.alltoall_load, a * p * other / (c * bandwidth_));
      local_pairs += 2.0 * p * (n - a * p) * used / static_cast<double>(s_.ports());
    } else if (s_.a > 1) {
      limits.bisection_fraction = std::min(1.0, static_cast<double>((s_.a + 1) / 2) / p);
    }
    if (s_.a > 1) limits.alltoall_load = std::max(limits.alltoall_load, local_pairs / bandwidth_);
    return limits;
  }
  std::optional<Inventory> inventory(std::int64_t /*board*/) const override {
    return Inventory{.stages = {{.count = s_.routers(), .ports = s_.p + s_.a - 1 + s_.h}},
                     .short_cables = endpoints() + s_.routers() * (s_.a - 1) / 2,
                     .long_cables = s_.groups * s_.ports() / 2,
                     .planes = planes_};
  }
  bool minimal() const override { return !valiant_ && s_.groups == 1; }

 private:
  LinkId first_global() const { return 2 * endpoints() + s_.routers() * (s_.a - 1); }
  LinkId local(std::int64_t from, std::int64_t to) const {
    const std::int64_t own = from % s_.a, other = to % s_.a;
    return 2 * endpoints() + from * (s_.a - 1) + (other < own ? other : other - 1);
  }
  // The port by which `group` reaches `other` over one of their cables.
  std::int64_t port_to(std::int64_t group, std::int64_t other, std::int64_t cable) const {
    return cable * (s_.groups - 1) + (other - group + s_.groups) % s_.groups - 1;
  }
  // From router `at` to the router of `group` at the other end of a global link.
  std::int64_t to_group(std::int64_t at, std::int64_t group, std::int64_t pair, std::vector<LinkId>& out) const {
    const std::int64_t own = at / s_.a, cable = pair % s_.cables;
    const std::int64_t port = port_to(own, group, cable), gateway = own * s_.a + port / s_.h;
    if (at != gateway) out.push_back(local(at, gateway));
    out.push_back(first_global() + own * s_.ports() + port);
    return group * s_.a + port_to(group, own, cable) / s_.h;
  }

  DragonflySizes s_;
  double bandwidth_;
  double end_latency_;
  double inner_latency_;
  bool valiant_;
  std::uint64_t seed_;
  std::int64_t planes_;
};

std::unique_ptr<Topology> make_dragonfly(const LevelInput& level, DragonflySizes s, const RoutingKeys& routing) {
  const std::int64_t in_group = s.a * s.p, n = level.endpoints();
  s.groups = (n + in_group - 1) / in_group;
  if (s.groups > s.a * s.h + 1)
    refuse(level, "global_links",
           std::to_string(s.groups) + " groups for " + std::to_string(n) + " endpoints, and global links to only " +
               std::to_string(s.a * s.h),
           "give more, or larger groups");
  s.cables = s.groups > 1 ? s.a * s.h / (s.groups - 1) : 0;
  return std::make_unique<Dragonfly>(level, s, routing);
}

class DragonflyKind final : public KindOf<DragonflyKind> {
 public:
  std::string_view name() const override { return "dragonfly"; }
  Entry entry() const override { return Entry::whole; }
  std::optional<std::int64_t> size() const override {
    return product_of({sizes_.a, sizes_.p, product_of({sizes_.a, sizes_.h}) + 1});
  }
  // Host, local, global, local, host.
  std::optional<std::int64_t> longest_route(std::int64_t, std::int64_t) const override { return 5; }
  std::unique_ptr<Topology> build(const LevelInput& level) const override {
    return make_dragonfly(level, sizes_, routing_);
  }
  std::optional<Routing> routing() const override { return routing_.chosen(); }

 private:
  void describe_own(config::Fields& fields) override {
    constexpr bool k_required = true;
    fields.count("routers_per_group", sizes_.a, some("routers of a group, each linked to every other", k_required));
    fields.count("hosts_per_router", sizes_.p, some("endpoints at one router", k_required));
    fields.count("global_links", sizes_.h, some("links of one router to other groups", k_required));
    routing_.describe(fields);
  }

  DragonflySizes sizes_;
  RoutingKeys routing_{.plain = "minimal", .by_hash = "valiant"};
};

}  // namespace

std::unique_ptr<Kind> kinds::dragonfly() { return std::make_unique<DragonflyKind>(); }

}  // namespace cairn::topology
