// rail-optimized, rail-only: NIC r of every node is on rail r; the nodes of a pod share one leaf switch for each rail.
//
// rail-optimized: leaves below common spines, a fat tree whose endpoints are counted pod by pod, rail by rail.
// rail-only:      nothing joins the rails; what must change its rail does so inside a node (CompositeTopology).
// One pod needs no spines. As levels of a machine both carry traffic on the destination's rail alone: the sender passes
// it on inside its node first. Source: NVIDIA, "Doubling all2all performance with NCCL 2.12", 2022 (PXN); Wang et al.
// 2023, arXiv 2307.12169.
//   all-to-all load, R rails, n nodes, pods of p: max(R (n - 1) / B, p R (n - p) / uplinks) for traffic between nodes
#include <algorithm>

#include "cairn/core/assert.h"
#include "fat_tree.h"

namespace cairn::topology {
namespace {

struct Rails {
  std::int64_t nodes = 1;
  std::int64_t rails = 1;
  std::int64_t pod = 1;  // nodes
  std::int64_t pods() const { return (nodes + pod - 1) / pod; }
  std::int64_t slots() const {
    return pods() * rails * pod;
  }  // of the tree; those of nodes that a last pod lacks are empty

  NodeId slot(NodeId endpoint) const {
    const std::int64_t node = endpoint / rails;
    return (node / pod * rails + endpoint % rails) * pod + node % pod;
  }
  // Endpoint of a slot, or -1 of an empty one.
  NodeId endpoint(NodeId slot) const {
    const std::int64_t leaf = slot / pod, node = leaf / rails * pod + slot % pod;
    return node < nodes ? node * rails + leaf % rails : -1;
  }
};

// Leaves of every rail and pod below common spines.
class JoinedRails final : public Topology {
 public:
  JoinedRails(const Rails& rails, double uplinks, const FatTree& tree)
      : Topology(rails.nodes * rails.rails, tree.switches(), tree.links()),
        rails_(rails),
        uplinks_(uplinks),
        tree_(tree) {}

  Link link(LinkId id) const override {
    Link link = tree_.link(id);
    for (NodeId* node : {&link.from, &link.to}) {
      if (*node >= tree_.endpoints())
        *node += endpoints() - tree_.endpoints();
      else if ((*node = rails_.endpoint(*node)) < 0)
        return {};
    }
    return link;
  }
  void route(NodeId from, NodeId to, std::vector<LinkId>& out) const override {
    tree_.route(rails_.slot(from), rails_.slot(to), out);
  }
  Limits limits(std::int64_t group) const override {
    Limits limits = tree_.limits(1);
    const bool by_rail = group == rails_.rails && group > 1;
    const std::int64_t near = rails_.pod * (by_rail ? rails_.rails : 1);
    const auto p = static_cast<double>(endpoints());
    limits.narrowest_cut = std::min(static_cast<double>(group) * limits.injection,
                                    static_cast<double>(by_rail ? rails_.rails : 1) * uplinks_);
    limits.alltoall_load = std::max((p - static_cast<double>(group)) / limits.injection,
                                    static_cast<double>(rails_.pod) * (p - static_cast<double>(near)) / uplinks_);
    return limits;
  }
  std::optional<Inventory> inventory(std::int64_t board) const override {
    std::optional<Inventory> inventory = tree_.inventory(board);
    inventory->short_cables = endpoints();  // not those of nodes that the last pod lacks
    return inventory;
  }
  bool deadlock_free() const override { return true; }

 private:
  Rails rails_;
  double uplinks_;  // [byte/s] out of a leaf
  FatTree tree_;
};

// One switch for each rail.
class SeparateRails final : public Topology {
 public:
  SeparateRails(const Rails& rails, const LevelInput& level)
      : Topology(rails.nodes * rails.rails, rails.rails, 2 * rails.nodes * rails.rails),
        rails_(rails),
        bandwidth_(level.bandwidth),
        latency_(level.end_latency()),
        planes_(level.planes) {}

  Link link(LinkId id) const override {
    const bool up = id < endpoints();
    const NodeId endpoint = up ? id : id - endpoints(), rail = endpoints() + endpoint % rails_.rails;
    return {.from = up ? endpoint : rail, .to = up ? rail : endpoint, .bandwidth = bandwidth_, .latency = latency_};
  }
  void route(NodeId from, NodeId to, std::vector<LinkId>& out) const override {
    CAIRN_ASSERT(from % rails_.rails == to % rails_.rails);
    out.push_back(from);
    out.push_back(endpoints() + to);
  }
  Limits limits(std::int64_t group) const override { return switch_limits(endpoints(), group, bandwidth_); }
  std::optional<Inventory> inventory(std::int64_t /*board*/) const override {
    return Inventory{.stages = {{.count = rails_.rails, .ports = rails_.nodes}},
                     .short_cables = endpoints(),
                     .long_cables = 0,
                     .planes = planes_};
  }
  bool deadlock_free() const override { return true; }

 private:
  Rails rails_;
  double bandwidth_;
  double latency_;
  std::int64_t planes_;
};

class RailOptimized final : public KindOf<RailOptimized> {
 public:
  std::string_view name() const override { return "rail-optimized"; }
  Entry entry() const override { return Entry::by_rail; }
  std::optional<std::int64_t> longest_route(std::int64_t size, std::int64_t) const override {
    return pod_.value_or(size) < size ? 4 : 2;
  }
  std::unique_ptr<Topology> build(const LevelInput& level) const override {
    const Rails rails{
        .nodes = level.size, .rails = level.ports, .pod = std::min(level.size, pod_.value_or(level.size))};
    if (rails.pods() == 1) return std::make_unique<SeparateRails>(rails, level);
    const FatTreeLeaf leaf = leaf_of(rails.pod, level.bandwidth, tree_.down_over_up());
    FatTree tree(rails.slots(), fat_tree_shape(rails.slots(), leaf, 0, {}, level, tree_.routing));
    return std::make_unique<JoinedRails>(rails, static_cast<double>(leaf.up) * leaf.up_bandwidth, tree);
  }
  double oversubscription() const override { return tree_.down_over_up(); }
  std::optional<Routing> routing() const override { return tree_.routing.chosen(); }

 private:
  void describe_own(config::Fields& fields) override {
    fields.count("pod", pod_, some("nodes under one set of leaf switches"));
    tree_.describe(fields);
  }

  std::optional<std::int64_t> pod_ = {};
  TreeKeys tree_ = {};
};

class RailOnly final : public KindOf<RailOnly> {
 public:
  std::string_view name() const override { return "rail-only"; }
  Entry entry() const override { return Entry::by_rail; }
  std::optional<std::int64_t> longest_route(std::int64_t, std::int64_t) const override { return 2; }
  std::unique_ptr<Topology> build(const LevelInput& level) const override {
    return std::make_unique<SeparateRails>(Rails{.nodes = level.size, .rails = level.ports, .pod = level.size}, level);
  }
};

}  // namespace

std::unique_ptr<Kind> kinds::rail_optimized() { return std::make_unique<RailOptimized>(); }
std::unique_ptr<Kind> kinds::rail_only() { return std::make_unique<RailOnly>(); }

}  // namespace cairn::topology
