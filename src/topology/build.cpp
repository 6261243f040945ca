#include "cairn/topology/build.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "cairn/config/read.h"
#include "cairn/core/diagnostics.h"
#include "cairn/topology/graph.h"
#include "kinds.h"

namespace cairn::topology {
namespace {

using hardware::LevelKind;

bool is_direct(LevelKind kind) {
  return kind == LevelKind::dragonfly || kind == LevelKind::torus || kind == LevelKind::mesh ||
         kind == LevelKind::hyperx || kind == LevelKind::hammingmesh;
}

// The product, or the largest number when it is larger.
std::int64_t product(const std::vector<std::int64_t>& factors) {
  std::int64_t result = 1;
  for (const std::int64_t factor : factors) {
    if (factor > std::numeric_limits<std::int64_t>::max() / result) return std::numeric_limits<std::int64_t>::max();
    result *= factor;
  }
  return result;
}

// Endpoints that the keys of a kind alone describe.
std::optional<std::int64_t> size_of(const hardware::LevelSpec& spec) {
  switch (spec.kind) {
    case LevelKind::torus:
    case LevelKind::mesh:
    case LevelKind::hyperx:
      return product(*spec.dims);
    case LevelKind::hammingmesh:
      return product({*spec.a, *spec.b, *spec.x, *spec.y});
    case LevelKind::hybrid_cube_mesh:
      return 8;
    case LevelKind::dragonfly: {
      const std::int64_t global = product({*spec.routers_per_group, *spec.global_links});
      return product({*spec.routers_per_group, *spec.hosts_per_router, global + 1});
    }
    default:
      return {};
  }
}

std::unique_ptr<Topology> read_graph(const config::Loader& loader, const LevelInput& level,
                                     const config::Place& place) {
  core::Diagnostics diagnostics;
  GraphFile file;
  const std::string key = level.key_path.empty() ? "file" : level.key_path + ".file";
  const std::filesystem::path path = loader.find(*level.spec.file, "topologies", place, key, diagnostics);
  const config::Node node = path.empty() ? config::Node{} : loader.load(path, diagnostics, "topologies");
  diagnostics.raise_if_errors();
  const config::Origins origins = config::read(node, file, diagnostics);
  diagnostics.raise_if_errors();
  try {
    auto graph = make_graph(file);
    if (graph->endpoints() != level.endpoints())
      refuse(level, "file",
             "the graph has " + std::to_string(graph->endpoints()) + " endpoints, the level " +
                 std::to_string(level.endpoints()),
             "make them equal");
    return graph;
  } catch (const core::ConfigurationError& error) {
    for (const core::Diagnostic& found : error.diagnostics())
      diagnostics.add(found.key_path == key ? found : origins.error(found.key_path, found.message, found.hint));
  }
  diagnostics.raise_if_errors();
  return nullptr;
}

CompositeLevel build_level(const config::Loader& loader, const hardware::NetworkLevel& level,
                           const config::Place& place) {
  CompositeLevel out{.name = level.name,
                     .key_path = level.key_path,
                     .kind = level.kind,
                     .spec = level.spec,
                     .network = {},
                     .unit = level.unit,
                     .domain = level.domain};
  out.ports = is_direct(level.kind) ? 1 : std::min(level.nics, level.unit);
  out.port_bandwidth = level.unit_bandwidth().base() / static_cast<double>(out.ports);
  out.attach_bandwidth = std::max(level.nic_bandwidth.base(), level.gpu_bandwidth().base());
  LevelInput input{.spec = level.spec,
                   .key_path = level.key_path,
                   .size = level.size,
                   .ports = out.ports,
                   .bandwidth = out.port_bandwidth,
                   .latency = level.latency.base(),
                   .hop_latency = {}};
  if (level.spec.hop_latency) input.hop_latency = level.spec.hop_latency->base();
  const Kind make = kind(level.kind);
  out.network = make != nullptr ? make(input) : read_graph(loader, input, place);
  return out;
}

// Diagnostics of what `body` raises, at the places `origins` knows. `prefix` of their key paths is cut off.
template <class Body>
void located(const config::Origins& origins, const std::string& prefix, core::Diagnostics& diagnostics, Body body) {
  try {
    body();
  } catch (const core::ConfigurationError& error) {
    for (core::Diagnostic found : error.diagnostics()) {
      if (found.file.empty()) {
        std::string path = found.key_path;
        if (!prefix.empty() && path.starts_with(prefix)) path.erase(0, std::min(path.size(), prefix.size() + 1));
        found = origins.error(path, found.message, found.hint);
      }
      diagnostics.add(std::move(found));
    }
  }
}

Network read_graph_file(const config::Node& node, core::Diagnostics& diagnostics) {
  Network result;
  GraphFile file;
  const std::size_t before = diagnostics.error_count();
  const config::Origins origins = config::read(node, file, diagnostics);
  if (diagnostics.error_count() != before) return result;
  result.name = file.name;
  located(origins, {}, diagnostics, [&] {
    std::vector<CompositeLevel> levels(1);
    CompositeLevel& level = levels.front();
    level.name = "graph";
    level.kind = LevelKind::graph;
    level.network = make_graph(file);
    level.domain = level.network->endpoints();
    level.port_bandwidth = level.network->limits().injection;
    result.topology = std::make_unique<Composite>(std::move(levels));
  });
  return result;
}

Network read_one_level(const config::Loader& loader, const config::Node& node, core::Diagnostics& diagnostics) {
  static const std::string k_prefix = "levels[0]";
  Network result;
  NetworkFile file;
  const std::size_t before = diagnostics.error_count();
  const config::Origins origins = config::read(node, file, diagnostics);
  if (diagnostics.error_count() != before) return result;
  result.name = file.name;
  hardware::Cluster cluster;
  cluster.levels = {file.level};
  hardware::LevelSpec& spec = cluster.levels.front();
  if (!spec.size) spec.size = size_of(spec);
  if (!spec.size) {
    diagnostics.add(
        config::error_at(node.place, "size", "missing: the kind does not say how many endpoints it joins", "give it"));
    return result;
  }
  located(origins, k_prefix, diagnostics,
          [&] { result.topology = build(loader, hardware::network(cluster), node.place); });
  return result;
}

Network read_cluster(const config::Loader& loader, const config::Node& node, core::Diagnostics& diagnostics) {
  Network result;
  const std::size_t before = diagnostics.error_count();
  hardware::Cluster cluster;
  const config::Origins origins = config::read(node, cluster, diagnostics);
  if (diagnostics.error_count() != before) return result;
  result.name = cluster.name;
  located(origins, {}, diagnostics, [&] { result.topology = build(loader, hardware::network(cluster), node.place); });
  return result;
}

void note_assumptions(Network& network) {
  const auto note = [&network](std::string text) {
    if (std::find(network.assumptions.begin(), network.assumptions.end(), text) == network.assumptions.end())
      network.assumptions.push_back(std::move(text));
  };
  for (const CompositeLevel& level : network.topology->levels()) {
    if (level.spec.routing == hardware::Routing::ecmp || level.spec.routing == hardware::Routing::valiant)
      note(level.name + ": routes chosen by a hash of both ends with seed " +
           std::to_string(level.spec.seed.value_or(0)));
    if (level.is_rails()) note("traffic between rails changes its rail inside the sender's node");
    if (level.kind == LevelKind::hammingmesh) note("the network of a line of boards never limits");
    if (level.kind == LevelKind::graph && network.topology->levels().size() > 1)
      note(level.name + ": latencies are those of the graph's links");
    if (level.kind == LevelKind::graph && level.network->endpoints() > 12)
      note("the bisection of a graph this large is the best cut found; a narrower one may exist");
  }
}

}  // namespace

void describe(config::Fields& fields, NetworkFile& file) {
  std::int64_t version = 1;
  fields.count("version", version, {.doc = "of the file format", .minimum = 1, .maximum = 1});
  describe(fields, file.level);
  fields.check(
      "name", [&] { return !file.level.name.empty(); }, "missing", "name the network");
  file.name = file.level.name;
}

std::unique_ptr<Composite> build(const config::Loader& loader, const hardware::Network& network,
                                 const config::Place& place) {
  if (network.gpus() < 2)
    throw core::ConfigurationError("nodes", "a single accelerator has no network",
                                   "give nodes or sizes that make several");
  if (network.gpus() > k_most_endpoints)
    throw core::ConfigurationError("nodes", std::to_string(network.gpus()) + " endpoints are more than 2^31",
                                   "give fewer");
  std::vector<CompositeLevel> levels;
  for (const hardware::NetworkLevel& level : network.levels)
    if (level.size > 1) levels.push_back(build_level(loader, level, place));
  return std::make_unique<Composite>(std::move(levels));
}

Network read_network(const config::Loader& loader, const config::Node& node, core::Diagnostics& diagnostics) {
  // Keys that no network of one level has: a file with any of them is a cluster, finished or not.
  constexpr std::string_view k_of_clusters[] = {"accelerator", "nodes", "gpus_per_node", "intra", "inter",
                                                "groups",      "host",  "price",         "power"};
  const auto has = [&node](std::string_view key) { return node.find(key) != nullptr; };
  const bool is_cluster =
      !has("kind") && (has("levels") || std::any_of(std::begin(k_of_clusters), std::end(k_of_clusters), has));
  const std::size_t before = diagnostics.error_count();
  Network result = has("endpoints") || has("links") ? read_graph_file(node, diagnostics)
                   : is_cluster                     ? read_cluster(loader, node, diagnostics)
                                                    : read_one_level(loader, node, diagnostics);
  if (diagnostics.error_count() == before) note_assumptions(result);
  return result;
}

Network load_network(const config::Loader& loader, std::string_view name, const std::vector<std::string>& overrides) {
  core::Diagnostics diagnostics;
  // A name that is neither a network's nor a cluster's is looked for where the nearest one is.
  const std::vector<std::string> networks = loader.names("topologies");
  const std::vector<std::string> clusters = loader.names("clusters");
  const auto holds = [](const std::vector<std::string>& names, std::string_view wanted) {
    return std::find(names.begin(), names.end(), wanted) != names.end();
  };
  std::vector<std::string> all = networks;
  all.insert(all.end(), clusters.begin(), clusters.end());
  const std::string near = holds(all, name) ? std::string(name) : core::nearest(std::string(name), all);
  const std::string_view kind = !holds(networks, near) && holds(clusters, near) ? "clusters" : "topologies";
  config::Node node = loader.load_named(name, kind, diagnostics);
  diagnostics.raise_if_errors();
  for (const std::string& assignment : overrides) config::apply_override(node, assignment, diagnostics);
  Network network = read_network(loader, node, diagnostics);
  diagnostics.raise_if_errors();
  // The name in the file is that of the values in the file.
  const auto names_it = [](const std::string& assignment) { return assignment.starts_with("name="); };
  if (!overrides.empty() && std::none_of(overrides.begin(), overrides.end(), names_it))
    network.name = fmt::format("{} with {}", std::filesystem::path(name).stem().string(), fmt::join(overrides, ", "));
  return network;
}

}  // namespace cairn::topology
