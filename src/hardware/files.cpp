#include "cairn/hardware/files.h"

#include <filesystem>
#include <string>
#include <utility>

namespace cairn::hardware {
namespace {

using config::Node;

Node scalar(std::string_view name) { return config::make_scalar(std::string(name), {}); }

}  // namespace

const config::Origin* provenance(const config::Origins& origins, std::string_view key_path) {
  for (;;) {
    const config::Origin* origin = origins.find(key_path);
    if (origin == nullptr) return nullptr;
    if (origin->source != config::Source::unstated) return origin;
    const std::string_view at = origin->key_path;
    if (at.empty()) return nullptr;
    const std::size_t cut = at.find_last_of(".[");
    key_path = cut == std::string_view::npos ? std::string_view() : at.substr(0, cut);
  }
}

std::string source_text(const config::Origins& origins, std::string_view key_path) {
  const std::string inlined = "." + std::string(key_path);
  for (const config::Origin& key : origins.all()) {
    if (key.key_path != key_path && !key.key_path.ends_with(inlined)) continue;
    const config::Origin* basis = provenance(origins, key.key_path);
    if (basis == nullptr || basis->source == config::Source::unstated) continue;
    const std::string source(config::name(basis->source));
    return basis->reference.empty() ? source : source + ": " + basis->reference;
  }
  return {};
}

Loaded<Accelerator> read_accelerator(const config::Loader& loader, const Node& reference, std::string_view key_path,
                                     core::Diagnostics& diagnostics) {
  const Node node = loader.resolve(reference, "accelerators", key_path, diagnostics);
  if (node.is_null()) return {};
  return config::read_loaded<Accelerator>(node, config::root_path(reference, key_path), diagnostics);
}

Machine read_machine(const config::Loader& loader, const Node& reference, std::string_view key_path,
                     core::Diagnostics& diagnostics) {
  Machine machine;
  const Node node = loader.resolve(reference, "clusters", key_path, diagnostics);
  if (node.is_null()) return machine;
  const std::string root = config::root_path(reference, key_path);
  const std::size_t errors_before = diagnostics.error_count();
  machine.cluster = config::read_loaded<Cluster>(node, root, diagnostics);
  const Cluster& cluster = machine.cluster.value;
  if (!cluster.accelerator.is_null()) {
    machine.accelerator =
        read_accelerator(loader, cluster.accelerator, config::join_path(root, "accelerator"), diagnostics);
  }
  if (diagnostics.error_count() != errors_before) return machine;
  try {
    machine.network = network(cluster);
  } catch (const core::ConfigurationError& error) {
    for (const core::Diagnostic& found : error.diagnostics()) {
      diagnostics.add(
          machine.cluster.origins.error(config::join_path(root, found.key_path), found.message, found.hint));
    }
  }
  return machine;
}

Machine load_machine(const config::Loader& loader, std::string_view name, const std::vector<std::string>& overrides) {
  return config::read_or_raise([&](core::Diagnostics& diagnostics) {
    Node reference = scalar(name);
    for (const std::string& each : overrides) config::apply_override(reference, each, diagnostics, {{"", "file"}});
    return read_machine(loader, reference, "cluster", diagnostics);
  });
}
Accelerator load_accelerator(const config::Loader& loader, std::string_view name) {
  return config::read_or_raise([&](core::Diagnostics& diagnostics) {
           return read_accelerator(loader, scalar(name), "accelerator", diagnostics);
         })
      .value;
}
}  // namespace cairn::hardware
