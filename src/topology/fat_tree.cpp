#include "fat_tree.h"

#include <algorithm>
#include <cmath>

#include "cairn/core/assert.h"

namespace cairn::topology {
namespace {

// Leaf ports of a switch of `radix` ports with `oversubscription` = down / up.
std::int64_t up_ports(std::int64_t radix, double oversubscription) {
  return std::clamp<std::int64_t>(std::llround(static_cast<double>(radix) / (1.0 + oversubscription)), 1, radix - 1);
}

}  // namespace

std::vector<FatTree::Level> FatTree::levels_of(std::int64_t endpoints, const FatTreeShape& shape) {
  std::vector<Level> levels;
  std::int64_t under = 1, copies = 1;
  LinkId link = 0;
  NodeId next = endpoints;
  for (std::size_t i = 0; i < shape.children.size(); ++i) {
    Level level;
    level.below = under;
    level.sets = ceil_div(endpoints, under);
    under *= shape.children[i];
    copies *= shape.parents[i];
    level.under = under;
    level.copies = copies;
    level.first_link = link;
    level.first_switch = next;
    if (i + 1 == shape.children.size() && shape.top_ports > 0)
      level.merged = std::max<std::int64_t>(1, shape.top_ports / level.sets);
    link += level.sets * copies;
    next += ceil_div(endpoints, under) * ceil_div(copies, level.merged);
    levels.push_back(level);
  }
  return levels;
}

std::int64_t FatTree::links_of(const std::vector<Level>& levels) {
  const Level& top = levels.back();
  return 2 * (top.first_link + top.sets * top.copies);
}

FatTree::FatTree(std::int64_t endpoints, const FatTreeShape& shape)
    : FatTree(endpoints, shape, levels_of(endpoints, shape)) {}

FatTree::FatTree(std::int64_t endpoints, FatTreeShape shape, std::vector<Level> levels)
    : Topology(endpoints, levels.back().first_switch - endpoints + ceil_div(levels.back().copies, levels.back().merged),
               links_of(levels)),
      shape_(std::move(shape)),
      levels_(std::move(levels)) {
  CAIRN_ASSERT(levels_.back().under >= endpoints && shape_.parents.front() == 1);
}

NodeId FatTree::node(std::size_t level, std::int64_t set, std::int64_t copy) const {
  if (level == 0) return set;
  const Level& at = levels_[level - 1];
  return at.first_switch + set * ceil_div(at.copies, at.merged) + copy / at.merged;
}

Link FatTree::link(LinkId id) const {
  const LinkId half = links() / 2;
  const LinkId at = id % half;
  std::size_t l = levels_.size();
  while (levels_[l - 1].first_link > at) --l;
  const Level& level = levels_[l - 1];
  const std::int64_t set = (at - level.first_link) / level.copies;
  const std::int64_t copy = (at - level.first_link) % level.copies;
  Link link{.from = node(l - 1, set, copy / shape_.parents[l - 1]),
            .to = node(l, set / shape_.children[l - 1], copy),
            .bandwidth = shape_.bandwidth[l - 1],
            .latency = l == 1 ? shape_.end_latency : shape_.inner_latency};
  if (id >= half) std::swap(link.from, link.to);
  return link;
}

void FatTree::route(NodeId from, NodeId to, std::vector<LinkId>& out) const {
  const LinkId half = links() / 2;
  const std::size_t start = out.size();
  std::int64_t copy = 0, copies_below = 1;
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const Level& level = levels_[i];
    const std::int64_t parents = shape_.parents[i];
    const std::int64_t choice =
        shape_.hashed ? static_cast<std::int64_t>(route_hash(shape_.seed, from, to, static_cast<std::int64_t>(i)) %
                                                  static_cast<std::uint64_t>(parents))
                      : to / copies_below % parents;
    copy = copy * parents + choice;
    copies_below = level.copies;
    out.push_back(level.first_link + from / level.below * level.copies + copy);
    if (from / level.under == to / level.under) break;
  }
  for (std::size_t i = out.size() - start; i > 0; --i) {
    const Level& level = levels_[i - 1];
    const std::int64_t below = from / level.below * level.copies;
    out.push_back(half + out[start + i - 1] - below + to / level.below * level.copies);
  }
}

Limits FatTree::limits(std::int64_t group) const {
  const double injection = shape_.bandwidth.front();
  const std::int64_t p = endpoints();
  Limits limits{.injection = injection,
                .diameter = 2 * height(),
                .bisection_fraction = 1.0,
                .alltoall_load = static_cast<double>(p - group) / injection,
                .narrowest_cut = static_cast<double>(group) * injection};
  for (std::size_t i = 1; i < levels_.size(); ++i) {
    const Level& level = levels_[i];
    if (level.sets == 1) continue;
    const double out = static_cast<double>(level.copies) * shape_.bandwidth[i];
    const std::int64_t inside = std::min(level.below, p);
    const std::int64_t away = std::max<std::int64_t>(0, p - std::max(inside, group));
    limits.alltoall_load =
        std::max(limits.alltoall_load, static_cast<double>(inside) * static_cast<double>(away) / out);
    // Around as many sets as a group spans.
    limits.narrowest_cut =
        std::min(limits.narrowest_cut, out * static_cast<double>(std::max<std::int64_t>(1, group / inside)));
    limits.bisection_fraction = std::min(1.0, out / (static_cast<double>(inside) * injection));
  }
  return limits;
}

// All above the leaves is one core: every level there has as much bandwidth up as down.
std::optional<Inventory> FatTree::inventory(std::int64_t /*board*/) const {
  const bool is_single = levels_.size() == 1;
  const std::int64_t leaves = ceil_div(endpoints(), levels_.front().under);
  SwitchStage leaf{.count = leaves, .ports = std::min(endpoints(), shape_.children.front())};
  SwitchStage core{.packing = Packing::core, .leaves = leaves};
  for (std::size_t i = 1; i < levels_.size(); ++i) {
    const Level& level = levels_[i];
    const std::int64_t cables = level.sets * level.copies;
    const std::int64_t ports =
        level.merged * std::min(level.sets, shape_.children[i]) + (i + 1 < levels_.size() ? shape_.parents[i + 1] : 0);
    (i == 1 ? core.cables : core.inner_cables) += cables;
    core.count += ceil_div(endpoints(), level.under) * ceil_div(level.copies, level.merged);
    core.ports = std::max(core.ports, ports);
  }
  Inventory inventory{
      .stages = {leaf}, .short_cables = endpoints(), .long_cables = core.cables, .planes = shape_.planes};
  if (is_single) return inventory;
  inventory.stages.front().ports += shape_.parents[1];
  inventory.stages.push_back(core);
  return inventory;
}

void TreeKeys::describe(config::Fields& fields) {
  fields.number("oversubscription", oversubscription,
                {.doc = "downward over upward bandwidth of a leaf; 1 = none", .minimum = 1.0});
  routing.describe(fields);
}

FatTreeLeaf leaf_of(std::int64_t down, double bandwidth, double oversubscription) {
  const double full = static_cast<double>(down) / oversubscription;  // cables at full bandwidth
  // Ratios that are whole but for rounding take no further cable.
  constexpr double k_rounding = 1e-9;
  const auto up = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(full * (1.0 - k_rounding))));
  return {.down = down, .up = up, .up_bandwidth = bandwidth * full / static_cast<double>(up)};
}

FatTreeShape fat_tree_shape(std::int64_t endpoints, const FatTreeLeaf& leaf, std::int64_t radix,
                            std::optional<std::int64_t> height, const LevelInput& level, const RoutingKeys& routing) {
  FatTreeShape shape{.children = {leaf.down},
                     .parents = {1},
                     .bandwidth = {level.bandwidth},
                     .top_ports = radix > 0 ? radix : leaf.down + leaf.up,
                     .end_latency = level.end_latency(),
                     .inner_latency = level.inner_latency(),
                     .hashed = routing.is_hashed(),
                     .seed = routing.number(),
                     .planes = level.planes};
  const auto add = [&](std::int64_t children, std::int64_t parents) {
    shape.children.push_back(children);
    shape.parents.push_back(parents);
    shape.bandwidth.push_back(leaf.up_bandwidth);
  };
  std::int64_t under = leaf.down, parents = leaf.up;
  const std::int64_t half = radix / 2;
  while (under < endpoints) {
    if (radix == 0) {
      add(ceil_div(endpoints, under), parents);
      break;
    }
    // The top level turns all its ports down.
    const bool is_top = under * radix >= endpoints;
    add(is_top ? radix : half, parents);
    under *= is_top ? radix : half;
    parents = half;
  }
  const auto needed = static_cast<std::int64_t>(shape.children.size());
  if (height && needed > *height)
    refuse(level, "levels",
           std::to_string(*height) + " levels join fewer than " + std::to_string(endpoints) + " endpoints",
           "give " + std::to_string(needed) + ", or a larger radix");
  return shape;
}

namespace {

class FatTreeKind final : public KindOf<FatTreeKind> {
 public:
  std::string_view name() const override { return "fat-tree"; }
  std::optional<std::int64_t> longest_route(std::int64_t size, std::int64_t nics) const override;
  std::unique_ptr<Topology> build(const LevelInput& level) const override;
  double oversubscription() const override { return tree_.down_over_up(); }
  std::optional<Routing> routing() const override { return tree_.routing.chosen(); }

 private:
  void describe_own(config::Fields& fields) override {
    fields.count("radix", radix_, some("ports of a switch"));
    fields.count("leaf", leaf_, some("endpoints under a leaf switch"));
    fields.count("levels", levels_, some("switch levels"));
    fields.check(
        "leaf", [&] { return !(radix_ && leaf_); }, "given beside radix", "give either radix or leaf");
    tree_.describe(fields);
  }

  std::optional<std::int64_t> radix_ = {};
  std::optional<std::int64_t> leaf_ = {};
  std::optional<std::int64_t> levels_ = {};
  TreeKeys tree_ = {};
};

std::optional<std::int64_t> FatTreeKind::longest_route(std::int64_t size, std::int64_t nics) const {
  if (levels_) return 2 * *levels_;
  const std::int64_t ends = size * nics;
  if (leaf_) return ends > *leaf_ ? 4 : 2;
  if (!radix_) return std::nullopt;
  // Leaves of the radix's lower ports; the levels above turn half of theirs down, the topmost all.
  const auto up = static_cast<double>(*radix_) / (1.0 + tree_.down_over_up());
  std::int64_t under = *radix_ - std::max<std::int64_t>(1, std::llround(up)), links = 2;
  if (under < 1) return std::nullopt;  // makes no tree, which is refused where it is built
  for (std::int64_t half = std::max<std::int64_t>(2, *radix_ / 2); under < ends; links += 2)
    under *= under * *radix_ >= ends ? *radix_ : half;
  return links;
}

std::unique_ptr<Topology> FatTreeKind::build(const LevelInput& level) const {
  const std::int64_t p = level.endpoints();
  const double over = tree_.down_over_up();
  const auto tree = [&](const FatTreeLeaf& leaf, std::int64_t radix) {
    return std::make_unique<FatTree>(p, fat_tree_shape(p, leaf, radix, levels_, level, tree_.routing));
  };
  if (radix_) {
    if (*radix_ < 4)
      refuse(level, "radix", "a switch of fewer than 4 ports makes no tree", "give the ports of a switch");
    const std::int64_t up = up_ports(*radix_, over);
    return tree({.down = *radix_ - up, .up = up, .up_bandwidth = level.bandwidth}, *radix_);
  }
  if (levels_.value_or(2) > 2)
    refuse(level, "levels", "a tree of more than two levels needs the ports of its switches",
           "give radix in place of leaf");
  // Without a leaf size: every unit is a leaf where uplinks are fewer, else one switch that never limits.
  return tree(leaf_of(std::min(p, leaf_.value_or(over > 1.0 ? level.ports : p)), level.bandwidth, over), 0);
}

}  // namespace

std::unique_ptr<Kind> kinds::fat_tree() { return std::make_unique<FatTreeKind>(); }

}  // namespace cairn::topology
