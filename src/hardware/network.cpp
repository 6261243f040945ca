#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "cairn/hardware/cluster.h"

namespace cairn::hardware {
namespace {

constexpr std::int64_t k_most_gpus = std::int64_t{1} << 40;

[[noreturn]] void fail(const std::string& key_path, std::string message, std::string hint) {
  throw core::ConfigurationError(key_path, std::move(message), std::move(hint));
}

// The product, or k_most_gpus + 1 when it is larger than that.
std::int64_t product(const std::vector<std::int64_t>& factors) {
  std::int64_t result = 1;
  for (const std::int64_t factor : factors) {
    if (factor > k_most_gpus / result) return k_most_gpus + 1;
    result *= factor;
  }
  return result;
}

// Levels as written in either form, with the size of each.
struct Described {
  LevelSpec spec;
  std::string key_path;
  std::int64_t size;
};

std::vector<Described> short_form(const Cluster& cluster) {
  std::vector<Described> levels;
  const std::int64_t gpus_per_node = *cluster.gpus_per_node;
  const std::int64_t nodes = cluster.nodes.value_or(1);
  const auto add = [&levels](const std::optional<LevelSpec>& level, const std::string& key, std::int64_t size,
                             std::string_view missing) {
    if (!level) {
      if (size > 1) fail(key, "missing: " + std::string(missing), "describe the network, or leave one");
      return;
    }
    if (level->size) fail(key + ".size", "belongs to the general form", "use nodes and gpus_per_node");
    levels.push_back({*level, key, size});
    if (levels.back().spec.name.empty()) levels.back().spec.name = key;
  };
  add(cluster.intra, "intra", gpus_per_node, std::to_string(gpus_per_node) + " accelerators in a node");
  add(cluster.inter, "inter", nodes, std::to_string(nodes) + " nodes");
  return levels;
}

std::vector<Described> general_form(const Cluster& cluster) {
  std::vector<Described> levels;
  std::int64_t inner = 1;
  for (std::size_t i = 0; i < cluster.levels.size(); ++i) {
    const LevelSpec& spec = cluster.levels[i];
    const std::string key = "levels[" + std::to_string(i) + "]";
    const bool outermost = i + 1 == cluster.levels.size();
    if (!spec.size && !(outermost && cluster.nodes))
      fail(key + ".size", "missing", outermost ? "give it, or nodes" : "give it");
    const std::int64_t host = cluster.gpus_per_node.value_or(i == 0 ? 1 : levels.front().size);
    std::int64_t size = spec.size.value_or(0);
    if (!spec.size) {
      const std::int64_t gpus = *cluster.nodes * host;
      if (gpus % inner != 0) {
        fail("nodes", std::to_string(gpus) + " accelerators do not fill units of " + std::to_string(inner),
             "choose a multiple");
      }
      size = gpus / inner;
    }
    levels.push_back({spec, key, size});
    if (levels.back().spec.name.empty()) levels.back().spec.name = "level" + std::to_string(i);
    if (size > k_most_gpus / inner) fail(key + ".size", "more than 2^40 accelerators", "check the sizes");
    inner *= size;
  }
  return levels;
}

// Direct links between neighbours are a level of their own, of pairs.
void split_pairs(std::vector<Described>& levels) {
  for (std::size_t i = 1; i < levels.size(); ++i)
    if (levels[i].spec.pairs)
      fail(levels[i].key_path + ".pairs", "direct links join accelerators, which the innermost level does",
           "describe them there, or remove them");
  Described& tree = levels.front();
  if (!tree.spec.pairs) return;
  if (tree.size % 2 != 0) fail(tree.key_path + ".pairs", "an odd number of accelerators", "remove pairs");
  LevelSpec pair;
  pair.name = tree.spec.name + "-pair";
  pair.kind = LevelKind::mesh;
  pair.bandwidth = tree.spec.pairs->bandwidth;
  pair.latency = tree.spec.pairs->latency;
  pair.dims = std::vector<std::int64_t>{2};
  const std::string key = tree.key_path + ".pairs";
  tree.size /= 2;
  levels.insert(levels.begin(), Described{pair, key, 2});
}

void check_shape(const Described& level) {
  const LevelSpec& spec = level.spec;
  if (spec.dims) {
    const std::int64_t points = product(*spec.dims);
    if (points != level.size) {
      fail(level.key_path + ".dims",
           "dims have " + std::to_string(points) + " points, the level joins " + std::to_string(level.size),
           "make them equal");
    }
  }
  if (spec.kind == LevelKind::hammingmesh && product({*spec.a, *spec.b, *spec.x, *spec.y}) != level.size) {
    fail(level.key_path, "a b x y is not the size " + std::to_string(level.size), "make them equal");
  }
  if (spec.switches && level.size % *spec.switches != 0) {
    fail(level.key_path + ".switches",
         std::to_string(level.size) + (spec.pairs ? " pairs" : " accelerators") + " do not spread evenly",
         "choose a divisor");
  }
}

core::Seconds latency(const Described& level) {
  if (level.spec.latency) return *level.spec.latency;
  const std::optional<std::int64_t> links = longest_route(level.spec, level.size);
  if (!links) {
    fail(level.key_path + ".hop_latency",
         "the routes of kind '" + std::string(name(level.spec.kind)) + "' have no closed form", "give latency instead");
  }
  return *level.spec.hop_latency * static_cast<double>(*links);
}

// Levels inside a domain.
std::size_t inner_levels(const Network& network) {
  const auto first = std::find_if(network.levels.begin(), network.levels.end(),
                                  [](const NetworkLevel& level) { return level.size > 1; });
  if (first == network.levels.end()) return network.levels.size();
  const bool joins_nodes = first->unit % network.gpus_per_node == 0 && !is_of_accelerators(first->kind);
  return static_cast<std::size_t>(first - network.levels.begin()) + (joins_nodes ? 0 : 1);
}

}  // namespace

std::optional<std::int64_t> longest_route(const LevelSpec& level, std::int64_t size) {
  const auto over_dims = [&level](auto links) {
    return std::accumulate(level.dims->begin(), level.dims->end(), std::int64_t{0},
                           [links](std::int64_t sum, std::int64_t extent) { return sum + links(extent); });
  };
  switch (level.kind) {
    case LevelKind::nvswitch:
    case LevelKind::star:
    case LevelKind::rail_only:
      return 2;  // up, down
    case LevelKind::pcie_tree:
      return level.switches.value_or(1) > 1 ? 4 : 2;
    case LevelKind::rail_optimized:
      return level.pod.value_or(size) < size ? 4 : 2;
    case LevelKind::fat_tree: {
      if (level.levels) return 2 * *level.levels;
      const std::int64_t ends = size * level.nics_per_node.value_or(1);
      if (level.leaf) return ends > *level.leaf ? 4 : 2;
      if (!level.radix) return std::nullopt;
      // Leaves of the radix's lower ports; the levels above turn half of theirs down, the topmost all.
      const auto up = static_cast<double>(*level.radix) / (1.0 + level.oversubscription.value_or(1.0));
      std::int64_t under = *level.radix - std::max<std::int64_t>(1, std::llround(up)), links = 2;
      if (under < 1) return std::nullopt;  // makes no tree, which is refused where it is built
      for (std::int64_t half = std::max<std::int64_t>(2, *level.radix / 2); under < ends; links += 2)
        under *= under * *level.radix >= ends ? *level.radix : half;
      return links;
    }
    case LevelKind::dragonfly:
      return 5;  // host, local, global, local, host
    case LevelKind::torus:
      return over_dims([](std::int64_t extent) { return extent / 2; });
    case LevelKind::mesh:
      return over_dims([](std::int64_t extent) { return extent - 1; });
    case LevelKind::hyperx:
      return 2 + over_dims([](std::int64_t extent) { return extent > 1 ? std::int64_t{1} : std::int64_t{0}; });
    case LevelKind::hybrid_cube_mesh:
      return 2;
    case LevelKind::hammingmesh: {
      // To the nearer edge of the board, over the line's network and in again; or across a lone board.
      const auto line = [](std::int64_t inside, std::int64_t boards) {
        return boards > 1 ? 2 * ((inside - 1) / 2) + 2 : inside - 1;
      };
      return line(*level.a, *level.x) + line(*level.b, *level.y);
    }
    case LevelKind::graph:
      return std::nullopt;
  }
  return std::nullopt;
}

Network network(const Cluster& cluster) {
  if (!cluster.groups.is_null())
    fail("groups", "mixed clusters are not modelled yet", "describe one kind of accelerator");
  const bool general = !cluster.levels.empty();
  if (!general && !cluster.gpus_per_node) fail("gpus_per_node", "missing", "give the accelerators of a node");
  std::vector<Described> levels = general ? general_form(cluster) : short_form(cluster);
  if (levels.empty()) fail("intra", "no network", "describe intra, inter or levels");
  const std::int64_t innermost = levels.front().size;
  split_pairs(levels);

  Network result;
  std::int64_t unit = 1;
  for (const Described& level : levels) {
    check_shape(level);
    NetworkLevel out{.name = level.spec.name,
                     .key_path = level.key_path,
                     .kind = level.spec.kind,
                     .size = level.size,
                     .unit = unit,
                     .domain = unit * level.size,
                     .nics = level.spec.nics_per_node.value_or(unit),
                     .nic_bandwidth = level.spec.bandwidth,
                     .latency = latency(level),
                     .oversubscription = level.spec.oversubscription.value_or(1.0),
                     .fabric = level.spec.fabric,
                     .switches = level.spec.switches.value_or(1),
                     .uplink = level.spec.uplink.value_or(level.spec.bandwidth),
                     .spec = level.spec};
    unit = out.domain;
    result.levels.push_back(std::move(out));
  }
  const std::int64_t gpus = result.gpus();
  result.gpus_per_node = cluster.gpus_per_node.value_or(innermost);
  if (gpus % result.gpus_per_node != 0) {
    fail("gpus_per_node",
         std::to_string(result.gpus_per_node) + " does not divide the " + std::to_string(gpus) + " accelerators",
         "choose a divisor");
  }
  result.nodes = gpus / result.gpus_per_node;
  result.inner = inner_levels(result);
  if (cluster.nodes && *cluster.nodes != result.nodes) {
    fail("nodes", std::to_string(*cluster.nodes) + " nodes given, the levels make " + std::to_string(result.nodes),
         "leave nodes or the outermost size away");
  }
  return result;
}

}  // namespace cairn::hardware
