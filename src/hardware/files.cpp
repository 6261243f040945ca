#include "cairn/hardware/files.h"

#include <filesystem>
#include <string>
#include <utility>

namespace cairn::hardware {
namespace {

using config::Node;

// A named file is its own root; an inline block lies below the key that holds it.
std::string root_path(const Node& reference, std::string_view key_path) {
  return reference.is_scalar() ? std::string() : std::string(key_path);
}

Node named(const config::Loader& loader, const std::string& name, std::string_view kind, const Node& naming,
           std::string_view key_path, core::Diagnostics& diagnostics) {
  const std::filesystem::path file = loader.find(name, kind, naming.place, key_path, diagnostics);
  return file.empty() ? Node{} : loader.load(file, diagnostics, kind);
}

template <class T>
Loaded<T> read_node(const Node& node, std::string_view path, core::Diagnostics& diagnostics) {
  Loaded<T> loaded;
  loaded.origins = config::read(node, loaded.value, diagnostics, path);
  return loaded;
}

// Lays the entry of `release` over the profile and drops the other entries.
Node with_release(Node profile, const std::string& release, const Node& naming, std::string_view key_path,
                  core::Diagnostics& diagnostics) {
  const Node* releases = profile.find("releases");
  const Node* overlay = releases != nullptr ? releases->find(release) : nullptr;
  if (overlay == nullptr) {
    std::string known;
    if (releases != nullptr) {
      for (const config::Entry& entry : releases->entries) known += (known.empty() ? "" : ", ") + entry.key;
    }
    diagnostics.add(config::error_at(naming.place, std::string(key_path), "no release " + config::quote(release),
                                     known.empty() ? "the profile has no releases" : "known: " + known));
    return {};
  }
  const Node over = *overlay;
  profile.remove("releases");
  return over.is_null() ? profile : config::merge(std::move(profile), over);
}

template <class Read>
auto load(Read read) {
  core::Diagnostics diagnostics;
  auto value = read(diagnostics);
  diagnostics.raise_if_errors();
  return value;
}

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
  return read_node<Accelerator>(node, root_path(reference, key_path), diagnostics);
}

Machine read_machine(const config::Loader& loader, const Node& reference, std::string_view key_path,
                     core::Diagnostics& diagnostics) {
  Machine machine;
  const Node node = loader.resolve(reference, "clusters", key_path, diagnostics);
  if (node.is_null()) return machine;
  const std::string root = root_path(reference, key_path);
  const std::size_t errors_before = diagnostics.error_count();
  machine.cluster = read_node<Cluster>(node, root, diagnostics);
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

Loaded<PrecisionRecipe> read_precision(const config::Loader& loader, const Node& reference, std::string_view key_path,
                                       core::Diagnostics& diagnostics) {
  if (reference.is_null()) return read_precision(loader, scalar(k_default_precision), key_path, diagnostics);
  if (!reference.is_scalar() && !reference.is_map()) {
    diagnostics.add(config::error_at(reference.place, std::string(key_path), "expected a recipe's name or a map",
                                     "for example bf16"));
    return {};
  }
  const Node* recipe = reference.is_scalar() ? &reference : reference.find("recipe");
  const std::string recipe_path = reference.is_scalar() ? std::string(key_path) : config::join_path(key_path, "recipe");
  Node node = named(loader, recipe != nullptr ? recipe->text : std::string(k_default_precision), "precision",
                    recipe != nullptr ? *recipe : reference, recipe_path, diagnostics);
  if (node.is_null()) return {};
  if (reference.is_map()) {
    Node over = reference;
    over.remove("recipe");
    node = config::merge(std::move(node), over);
  }
  return read_node<PrecisionRecipe>(node, root_path(reference, key_path), diagnostics);
}

Loaded<FrameworkProfile> read_framework(const config::Loader& loader, const Node& reference, std::string_view key_path,
                                        core::Diagnostics& diagnostics) {
  if (reference.is_null()) return read_framework(loader, scalar(k_default_framework), key_path, diagnostics);
  if (!reference.is_scalar()) {
    const Node node = loader.resolve(reference, "frameworks", key_path, diagnostics);
    return node.is_null() ? Loaded<FrameworkProfile>{} : read_node<FrameworkProfile>(node, key_path, diagnostics);
  }
  const std::size_t at = reference.text.find('@');
  Node node = named(loader, reference.text.substr(0, at), "frameworks", reference, key_path, diagnostics);
  if (!node.is_null() && at != std::string::npos)
    node = with_release(std::move(node), reference.text.substr(at + 1), reference, key_path, diagnostics);
  if (node.is_null()) return {};
  return read_node<FrameworkProfile>(node, {}, diagnostics);
}

Machine load_machine(const config::Loader& loader, std::string_view name, const std::vector<std::string>& overrides) {
  return load([&](core::Diagnostics& diagnostics) {
    Node reference = scalar(name);
    for (const std::string& each : overrides) config::apply_override(reference, each, diagnostics, {{"", "file"}});
    return read_machine(loader, reference, "cluster", diagnostics);
  });
}
Accelerator load_accelerator(const config::Loader& loader, std::string_view name) {
  return load([&](core::Diagnostics& diagnostics) {
           return read_accelerator(loader, scalar(name), "accelerator", diagnostics);
         })
      .value;
}
PrecisionRecipe load_precision(const config::Loader& loader, std::string_view name) {
  return load([&](core::Diagnostics& diagnostics) {
           return read_precision(loader, scalar(name), "precision", diagnostics);
         })
      .value;
}
FrameworkProfile load_framework(const config::Loader& loader, std::string_view name) {
  return load([&](core::Diagnostics& diagnostics) {
           return read_framework(loader, scalar(name), "framework", diagnostics);
         })
      .value;
}

}  // namespace cairn::hardware
