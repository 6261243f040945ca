#include <algorithm>
#include <string>

#include "cairn/core/diagnostics.h"
#include "cairn/hardware/cluster.h"

namespace cairn::hardware {
namespace {

constexpr std::int64_t k_most_gpus = std::int64_t{1} << 40;

[[noreturn]] void fail(const std::string& key_path, std::string message, std::string hint) {
  throw core::ConfigurationError(key_path, std::move(message), std::move(hint));
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
    if (levels[i].spec.shape->pairs())
      fail(levels[i].key_path + ".pairs", "direct links join accelerators, which the innermost level does",
           "describe them there, or remove them");
  Described& outer = levels.front();
  const std::optional<topology::Pairs> pairs = outer.spec.shape->pairs();
  if (!pairs) return;
  if (outer.size % 2 != 0) fail(outer.key_path + ".pairs", "an odd number of accelerators", "remove pairs");
  LevelSpec pair;
  pair.name = outer.spec.name + "-pair";
  pair.shape = pairs->shape;
  pair.bandwidth = pairs->bandwidth;
  pair.latency = pairs->latency;
  const std::string key = outer.key_path + ".pairs";
  outer.size /= 2;
  levels.insert(levels.begin(), Described{pair, key, 2});
}

core::Seconds latency(const Described& level) {
  if (level.spec.latency) return *level.spec.latency;
  const topology::Shape& shape = level.spec.shape;
  const std::optional<std::int64_t> links = shape->longest_route(level.size, level.spec.nics_per_node.value_or(1));
  if (!links) {
    fail(level.key_path + ".hop_latency", "the routes of kind '" + std::string(shape->name()) + "' have no closed form",
         "give latency instead");
  }
  return *level.spec.hop_latency * static_cast<double>(*links);
}

// Levels inside a domain.
std::size_t inner_levels(const Network& network) {
  const auto first = std::find_if(network.levels.begin(), network.levels.end(),
                                  [](const NetworkLevel& level) { return level.size > 1; });
  if (first == network.levels.end()) return network.levels.size();
  const bool joins_nodes =
      first->unit % network.gpus_per_node == 0 && first->shape->parts() != topology::Parts::of_accelerators;
  return static_cast<std::size_t>(first - network.levels.begin()) + (joins_nodes ? 0 : 1);
}

}  // namespace

Network network(const Cluster& cluster) {
  if (!cluster.groups.is_null())
    fail("groups", "a mixed cluster runs no single plan", "describe one kind of accelerator");
  const bool general = !cluster.levels.empty();
  if (!general && !cluster.gpus_per_node) fail("gpus_per_node", "missing", "give the accelerators of a node");
  std::vector<Described> levels = general ? general_form(cluster) : short_form(cluster);
  if (levels.empty()) fail("intra", "no network", "describe intra, inter or levels");
  const std::int64_t innermost = levels.front().size;
  split_pairs(levels);

  Network result;
  std::int64_t unit = 1;
  for (const Described& level : levels) {
    level.spec.shape->check(level.size, level.key_path);
    const topology::Uplinks uplinks = level.spec.shape->uplinks();
    NetworkLevel out{.name = level.spec.name,
                     .key_path = level.key_path,
                     .shape = level.spec.shape,
                     .size = level.size,
                     .unit = unit,
                     .domain = unit * level.size,
                     .nics = level.spec.nics_per_node.value_or(unit),
                     .nic_bandwidth = level.spec.bandwidth,
                     .latency = latency(level),
                     .hop_latency = level.spec.hop_latency,
                     .oversubscription = level.spec.shape->oversubscription(),
                     .fabric = level.spec.fabric,
                     .switches = uplinks.switches,
                     .uplink = uplinks.bandwidth.value_or(level.spec.bandwidth)};
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
