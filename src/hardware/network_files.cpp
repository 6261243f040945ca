#include "cairn/hardware/network_files.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/config/read.h"
#include "cairn/core/diagnostics.h"
#include "cairn/topology/graph.h"

namespace cairn::hardware {
namespace {

using topology::Composite;
using topology::CompositeLevel;

CompositeLevel build_level(const config::Loader& loader, const NetworkLevel& level, const config::Place& place) {
  CompositeLevel out{.name = level.name,
                     .key_path = level.key_path,
                     .shape = level.shape,
                     .network = {},
                     .unit = level.unit,
                     .domain = level.domain};
  out.ports = level.shape->entry() == topology::Entry::whole ? 1 : std::min(level.nics, level.unit);
  out.port_bandwidth = level.unit_bandwidth().base() / static_cast<double>(out.ports);
  out.attach_bandwidth = std::max(level.nic_bandwidth.base(), level.gpu_bandwidth().base());
  topology::LevelInput input{.loader = loader,
                             .place = place,
                             .key_path = level.key_path,
                             .size = level.size,
                             .ports = out.ports,
                             .planes = level.shape->planes(),
                             .bandwidth = out.port_bandwidth,
                             .latency = level.latency.base(),
                             .hop_latency = {}};
  if (level.hop_latency) input.hop_latency = level.hop_latency->base();
  out.network = level.shape->build(input);
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

topology::Network read_graph_file(const config::Node& node, core::Diagnostics& diagnostics) {
  topology::Network result;
  topology::GraphFile file;
  const std::size_t before = diagnostics.error_count();
  const config::Origins origins = config::read(node, file, diagnostics);
  if (diagnostics.error_count() != before) return result;
  result.name = file.name;
  located(origins, {}, diagnostics, [&] { result.topology = topology::make_machine(file); });
  return result;
}

topology::Network read_one_level(const config::Loader& loader, const config::Node& node,
                                 core::Diagnostics& diagnostics) {
  static const std::string k_prefix = "levels[0]";
  topology::Network result;
  NetworkFile file;
  const std::size_t before = diagnostics.error_count();
  const config::Origins origins = config::read(node, file, diagnostics);
  if (diagnostics.error_count() != before) return result;
  result.name = file.name;
  Cluster cluster;
  cluster.levels = {file.level};
  LevelSpec& spec = cluster.levels.front();
  if (!spec.size) spec.size = spec.shape->size();
  if (!spec.size) {
    diagnostics.add(
        config::error_at(node.place, "size", "missing: the kind does not say how many endpoints it joins", "give it"));
    return result;
  }
  located(origins, k_prefix, diagnostics, [&] { result.topology = build(loader, network(cluster), node.place); });
  return result;
}

topology::Network read_cluster(const config::Loader& loader, const config::Node& node, core::Diagnostics& diagnostics) {
  topology::Network result;
  const std::size_t before = diagnostics.error_count();
  Cluster cluster;
  const config::Origins origins = config::read(node, cluster, diagnostics);
  if (diagnostics.error_count() != before) return result;
  result.name = cluster.name;
  located(origins, {}, diagnostics, [&] { result.topology = build(loader, network(cluster), node.place); });
  return result;
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

std::unique_ptr<Composite> build(const config::Loader& loader, const Network& network, const config::Place& place) {
  if (network.gpus() < 2)
    throw core::ConfigurationError("nodes", "a single accelerator has no network",
                                   "give nodes or sizes that make several");
  if (network.gpus() > k_most_endpoints)
    throw core::ConfigurationError("nodes", std::to_string(network.gpus()) + " endpoints are more than 2^31",
                                   "give fewer");
  std::vector<CompositeLevel> levels;
  for (const NetworkLevel& level : network.levels)
    if (level.size > 1) levels.push_back(build_level(loader, level, place));
  return std::make_unique<Composite>(std::move(levels));
}

topology::Network read_network(const config::Loader& loader, const config::Node& node, core::Diagnostics& diagnostics) {
  // Keys that no network of one level has: a file with any of them is a cluster, finished or not.
  constexpr std::string_view k_of_clusters[] = {"accelerator", "nodes", "gpus_per_node", "intra", "inter",
                                                "groups",      "host",  "price",         "power"};
  const auto has = [&node](std::string_view key) { return node.find(key) != nullptr; };
  const bool is_cluster =
      !has("kind") && (has("levels") || std::any_of(std::begin(k_of_clusters), std::end(k_of_clusters), has));
  const std::size_t before = diagnostics.error_count();
  topology::Network result = has("endpoints") || has("links") ? read_graph_file(node, diagnostics)
                             : is_cluster                     ? read_cluster(loader, node, diagnostics)
                                                              : read_one_level(loader, node, diagnostics);
  if (diagnostics.error_count() == before) result.assumptions = result.topology->assumptions();
  return result;
}

topology::Network load_network(const config::Loader& loader, std::string_view name,
                               const std::vector<std::string>& overrides) {
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
  topology::Network network = read_network(loader, node, diagnostics);
  diagnostics.raise_if_errors();
  // The name in the file is that of the values in the file.
  const auto names_it = [](const std::string& assignment) { return assignment.starts_with("name="); };
  if (!overrides.empty() && std::none_of(overrides.begin(), overrides.end(), names_it))
    network.name = fmt::format("{} with {}", std::filesystem::path(name).stem().string(), fmt::join(overrides, ", "));
  return network;
}

}  // namespace cairn::hardware
