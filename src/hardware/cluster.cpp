#include "cairn/hardware/cluster.h"

#include <algorithm>
#include <array>

#include "cairn/core/assert.h"

namespace cairn::hardware {
namespace {

const config::Choices<LevelKind> k_kinds{{"nvswitch", LevelKind::nvswitch},
                                         {"pcie-tree", LevelKind::pcie_tree},
                                         {"hybrid-cube-mesh", LevelKind::hybrid_cube_mesh},
                                         {"star", LevelKind::star},
                                         {"fat-tree", LevelKind::fat_tree},
                                         {"rail-optimized", LevelKind::rail_optimized},
                                         {"rail-only", LevelKind::rail_only},
                                         {"dragonfly", LevelKind::dragonfly},
                                         {"torus", LevelKind::torus},
                                         {"mesh", LevelKind::mesh},
                                         {"hyperx", LevelKind::hyperx},
                                         {"hammingmesh", LevelKind::hammingmesh},
                                         {"graph", LevelKind::graph}};

struct KindKey {
  std::string_view key;
  bool present;
  unsigned kinds;  // that have the key: bit per kind
};

template <class... Kinds>
constexpr unsigned kinds(Kinds... kind) {
  return ((1U << static_cast<unsigned>(kind)) | ...);
}

// The keys that only some kinds have.
std::array<KindKey, 20> kind_keys(const LevelSpec& level) {
  using enum LevelKind;
  return {{{"switches", level.switches.has_value(), kinds(pcie_tree)},
           {"uplink", level.uplink.has_value(), kinds(pcie_tree)},
           {"pairs", level.pairs.has_value(), kinds(pcie_tree)},
           {"radix", level.radix.has_value(), kinds(fat_tree)},
           {"leaf", level.leaf.has_value(), kinds(fat_tree)},
           {"levels", level.levels.has_value(), kinds(fat_tree)},
           {"oversubscription", level.oversubscription.has_value(), kinds(fat_tree, rail_optimized)},
           {"pod", level.pod.has_value(), kinds(rail_optimized)},
           {"routers_per_group", level.routers_per_group.has_value(), kinds(dragonfly)},
           {"hosts_per_router", level.hosts_per_router.has_value(), kinds(dragonfly)},
           {"global_links", level.global_links.has_value(), kinds(dragonfly)},
           {"dims", level.dims.has_value(), kinds(torus, mesh, hyperx)},
           {"a", level.a.has_value(), kinds(hammingmesh)},
           {"b", level.b.has_value(), kinds(hammingmesh)},
           {"x", level.x.has_value(), kinds(hammingmesh)},
           {"y", level.y.has_value(), kinds(hammingmesh)},
           {"planes", level.planes.has_value(),
            kinds(star, fat_tree, rail_optimized, rail_only, dragonfly, torus, mesh, hyperx, hammingmesh)},
           {"routing", level.routing.has_value(), kinds(fat_tree, rail_optimized, dragonfly)},
           {"seed", level.seed.has_value(), kinds(fat_tree, rail_optimized, dragonfly)},
           {"file", level.file.has_value(), kinds(graph)}}};
}

// Keys without which a kind has no shape.
bool is_required(std::string_view key) {
  return key != "switches" && key != "uplink" && key != "pairs" && key != "radix" && key != "leaf" && key != "levels" &&
         key != "oversubscription" && key != "pod" && key != "planes" && key != "routing" && key != "seed";
}

void check_kind_keys(config::Fields& fields, const LevelSpec& level) {
  const auto belongs = [&level](const KindKey& key) { return (key.kinds & kinds(level.kind)) != 0; };
  for (const KindKey& key : kind_keys(level)) {
    fields.check(
        key.key, [&] { return !key.present || belongs(key); },
        "kind '" + std::string(name(level.kind)) + "' has no such key", "remove it, or choose another kind");
    fields.check(
        key.key, [&] { return key.present || !belongs(key) || !is_required(key.key); },
        "kind '" + std::string(name(level.kind)) + "' needs this key", "add it");
  }
}

}  // namespace

std::string_view name(LevelKind kind) {
  const auto found =
      std::find_if(k_kinds.begin(), k_kinds.end(), [kind](const auto& choice) { return choice.second == kind; });
  CAIRN_ASSERT(found != k_kinds.end());
  return found->first;
}
bool is_of_accelerators(LevelKind kind) {
  return kind == LevelKind::nvswitch || kind == LevelKind::pcie_tree || kind == LevelKind::hybrid_cube_mesh;
}

void describe(config::Fields& fields, PairLink& pair) {
  fields.quantity("bandwidth", pair.bandwidth,
                  {.doc = "per accelerator, per direction", .required = true, .positive = true});
  fields.quantity(
      "latency", pair.latency,
      {.doc = "one way, of a zero-byte send; usual: 0.6 us over NVLink (NCCL's tuning model, 2024)", .required = true});
}

void describe(config::Fields& fields, LevelSpec& level) {
  const config::CountRule positive{.minimum = 1, .maximum = std::int64_t{1} << 30};
  const auto count = [&](std::string_view key, std::optional<std::int64_t>& x, std::string_view doc) {
    config::CountRule rule = positive;
    rule.doc = doc;
    fields.count(key, x, rule);
  };
  fields.text("name", level.name, {.doc = "label of a level of the general form"});
  fields.choice("kind", level.kind, k_kinds, {.doc = "shape of the network", .required = true});
  count("size", level.size, "units of the level below that one domain joins");
  fields.quantity(
      "bandwidth", level.bandwidth,
      {.doc = "per direction, of one accelerator (innermost level) or one NIC", .required = true, .positive = true});
  fields.quantity(
      "latency", level.latency,
      {.doc =
           "one way, endpoint to endpoint, of a zero-byte send; usual: 0.6 us over NVLink, 1.9 us over PCIe, 5 us over "
           "InfiniBand or RoCE (hardware latencies of NCCL's tuning model, 2024), 15 us over EFA (as reported 2022 to "
           "2024)"});
  fields.quantity("hop_latency", level.hop_latency, {.doc = "per link, summed over the route; in place of latency"});
  fields.check(
      "latency", [&] { return level.latency.has_value() != level.hop_latency.has_value(); },
      level.latency ? "given beside hop_latency" : "missing",
      level.latency
          ? "give either latency or hop_latency"
          : "give either latency or hop_latency; usual latencies: 0.6 us over NVLink, 1.9 us over PCIe, 5 us over "
            "InfiniBand");
  count("nics_per_node", level.nics_per_node, "NICs of one unit of the level below; default one per accelerator");
  fields.number("oversubscription", level.oversubscription,
                {.doc = "downward over upward bandwidth of a leaf; 1 = none", .minimum = 1.0});
  fields.text("fabric", level.fabric, {.doc = "its entry among the calibrated fabrics"});
  count("switches", level.switches, "pcie-tree: switches the accelerators are spread over");
  fields.quantity(
      "uplink", level.uplink,
      {.doc = "pcie-tree: per direction, of one switch to the root complex; default: bandwidth", .positive = true});
  fields.check(
      "uplink", [&] { return !level.uplink || level.kind != LevelKind::pcie_tree || level.switches.value_or(1) > 1; },
      "given for fewer than two switches", "give switches, or remove it");
  fields.object("pairs", level.pairs, {.doc = "pcie-tree: direct links between accelerators 2i and 2i+1"});
  count("radix", level.radix, "fat-tree: ports of a switch");
  count("leaf", level.leaf, "fat-tree: endpoints under a leaf switch");
  count("levels", level.levels, "fat-tree: switch levels");
  fields.check(
      "leaf", [&] { return !(level.radix && level.leaf); }, "given beside radix", "give either radix or leaf");
  count("pod", level.pod, "rail-optimized: nodes under one set of leaf switches");
  count("routers_per_group", level.routers_per_group, "dragonfly: routers of a group, each linked to every other");
  count("hosts_per_router", level.hosts_per_router, "dragonfly: endpoints at one router");
  count("global_links", level.global_links, "dragonfly: links of one router to other groups");
  fields.counts("dims", level.dims, {.doc = "torus, mesh, hyperx: extents", .minimum = 1, .maximum = 1 << 20},
                {.minimum_size = 1, .maximum_size = 8});
  count("a", level.a, "hammingmesh: accelerators of a board side by side");
  count("b", level.b, "hammingmesh: accelerators of a board above one another");
  count("x", level.x, "hammingmesh: boards side by side");
  count("y", level.y, "hammingmesh: boards above one another");
  count("planes", level.planes, "equal copies of the network, over which traffic is spread evenly");
  fields.choice(
      "routing", level.routing,
      {{"d-mod-k", Routing::d_mod_k},
       {"ecmp", Routing::ecmp},
       {"minimal", Routing::minimal},
       {"valiant", Routing::valiant}},
      {.doc = "fat-tree, rail-optimized: d-mod-k (default) or ecmp; dragonfly: minimal (default) or valiant"});
  fields.check(
      "routing",
      [&] {
        const bool direct = level.routing == Routing::minimal || level.routing == Routing::valiant;
        return !level.routing || direct == (level.kind == LevelKind::dragonfly);
      },
      "not a way through this kind of network", "fat trees take d-mod-k or ecmp, a dragonfly minimal or valiant");
  fields.count("seed", level.seed, {.doc = "of ecmp and valiant; default 0"});
  fields.text("file", level.file, {.doc = "graph: the file that holds it"});
  check_kind_keys(fields, level);
}

void describe(config::Fields& fields, HostLink& link) {
  fields.text("kind", link.kind, {.doc = "a label, such as pcie5-x16"});
  fields.quantity("bandwidth", link.bandwidth, {.doc = "per direction", .required = true, .positive = true});
  fields.quantity("latency", link.latency, {.doc = "of one copy"});
  fields.count("shared_by", link.shared_by, {.doc = "accelerators on one link", .minimum = 1, .maximum = 1 << 20});
}

void describe(config::Fields& fields, Nvme& nvme) {
  fields.quantity("bandwidth", nvme.bandwidth,
                  {.doc = "of all drives of a node, reading", .required = true, .positive = true});
  fields.quantity("write", nvme.write, {.doc = "writing; default: as reading", .positive = true});
  fields.quantity("capacity", nvme.capacity, {.doc = "of all drives of a node; default: unlimited", .positive = true});
}

void describe(config::Fields& fields, Host& host) {
  fields.quantity("memory", host.memory, {.doc = "of a node", .required = true, .positive = true});
  fields.quantity("memory_bandwidth", host.memory_bandwidth, {.doc = "of a node", .required = true, .positive = true});
  fields.quantity("flops", host.flops,
                  {.doc = "of a node's processors, fp32; default: memory limits them", .positive = true});
  fields.object("link", host.link, {.doc = "between accelerator and host", .required = true});
  fields.object("nvme", host.nvme, {.doc = "drives, to which state can be offloaded"});
}

void describe(config::Fields& fields, Price& price) {
  fields.quantity("accelerator_hour", price.accelerator_hour,
                  {.doc = "one accelerator for one hour; default: the accelerator's own price"});
}

void describe(config::Fields& fields, Power& power) {
  fields.quantity("accelerator", power.accelerator,
                  {.doc = "that one draws; default: the accelerator's own limit", .positive = true});
  fields.quantity("node_overhead", power.node_overhead, {.doc = "of a node beside its accelerators"});
  fields.number("pue", power.pue, {.doc = "total over computing power of the site", .minimum = 1.0});
}

void describe(config::Fields& fields, Cluster& cluster) {
  const auto short_form = [&cluster] { return cluster.intra || cluster.inter; };
  std::int64_t version = 1;
  fields.count("version", version, {.doc = "of the file format", .minimum = 1, .maximum = 1});
  fields.text("name", cluster.name, {.doc = "shown in reports", .required = true});
  fields.node("accelerator", cluster.accelerator,
              {.doc = "a name, {file: name, overriding keys} or a whole block", .required = true});
  fields.count("nodes", cluster.nodes, {.doc = "how many nodes; default 1", .minimum = 1, .maximum = 1 << 24});
  fields.count("gpus_per_node", cluster.gpus_per_node,
               {.doc = "accelerators that share a host", .minimum = 1, .maximum = 1 << 20});
  fields.object("intra", cluster.intra, {.doc = "the network inside a node"});
  fields.object("inter", cluster.inter, {.doc = "the network between nodes"});
  fields.objects("levels", cluster.levels, {.doc = "general form: networks, inner to outer", .maximum_size = 8});
  fields.node("groups", cluster.groups, {.doc = "mixed clusters"});
  fields.object("host", cluster.host, {.doc = "memory, processors and drives of a node: for what is offloaded"});
  fields.object("price", cluster.price, {.doc = "what an hour costs: for the cost of a step"});
  fields.object("power", cluster.power, {.doc = "what a node draws: for the energy of a step"});
  fields.check(
      "groups", [&] { return cluster.groups.is_null(); }, "mixed clusters are not modelled yet",
      "describe one kind of accelerator");
  fields.check(
      "levels", [&] { return short_form() == cluster.levels.empty(); },
      short_form() ? "given beside intra or inter" : "no network", "give either intra and inter, or levels");
  fields.check(
      "gpus_per_node", [&] { return !short_form() || cluster.gpus_per_node.has_value(); }, "missing",
      "give the accelerators of a node");
}

}  // namespace cairn::hardware
