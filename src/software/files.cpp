#include "cairn/software/files.h"

#include <filesystem>
#include <string>
#include <utility>

namespace cairn::software {
namespace {

using config::Loaded;
using config::Node;

Node named(const config::Loader& loader, const std::string& name, std::string_view kind, const Node& naming,
           std::string_view key_path, core::Diagnostics& diagnostics) {
  const std::filesystem::path file = loader.find(name, kind, naming.place, key_path, diagnostics);
  return file.empty() ? Node{} : loader.load(file, diagnostics, kind);
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

Node scalar(std::string_view name) { return config::make_scalar(std::string(name), {}); }

}  // namespace

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
    // Gradients travel as they lie in memory, unless both are said.
    if (const Node* gradients = over.find("gradients"); gradients != nullptr && over.find("reduce") == nullptr)
      over.put("reduce", Node(*gradients));
    node = config::merge(std::move(node), over);
  }
  return config::read_loaded<PrecisionRecipe>(node, config::root_path(reference, key_path), diagnostics);
}

Loaded<FrameworkProfile> read_framework(const config::Loader& loader, const Node& reference, std::string_view key_path,
                                        core::Diagnostics& diagnostics) {
  if (reference.is_null()) return read_framework(loader, scalar(k_default_framework), key_path, diagnostics);
  const Node* file = reference.is_scalar() ? &reference : reference.find("file");
  if (file == nullptr || !file->is_scalar()) {
    const Node node = loader.resolve(reference, "frameworks", key_path, diagnostics);
    return node.is_null() ? Loaded<FrameworkProfile>{}
                          : config::read_loaded<FrameworkProfile>(node, key_path, diagnostics);
  }
  const std::size_t at = file->text.find('@');
  const std::string file_path = reference.is_scalar() ? std::string(key_path) : config::join_path(key_path, "file");
  Node node = named(loader, file->text.substr(0, at), "frameworks", *file, file_path, diagnostics);
  if (!node.is_null() && at != std::string::npos)
    node = with_release(std::move(node), file->text.substr(at + 1), *file, file_path, diagnostics);
  if (node.is_null()) return {};
  if (reference.is_scalar()) return config::read_loaded<FrameworkProfile>(node, {}, diagnostics);
  Node over = reference;
  over.remove("file");
  return config::read_loaded<FrameworkProfile>(config::merge_within_values(std::move(node), over), key_path,
                                               diagnostics);
}

PrecisionRecipe load_precision(const config::Loader& loader, std::string_view name) {
  return config::read_or_raise([&](core::Diagnostics& diagnostics) {
           return read_precision(loader, scalar(name), "precision", diagnostics);
         })
      .value;
}
FrameworkProfile load_framework(const config::Loader& loader, std::string_view name) {
  return config::read_or_raise([&](core::Diagnostics& diagnostics) {
           return read_framework(loader, scalar(name), "framework", diagnostics);
         })
      .value;
}

Software load_software(const config::Loader& loader, std::string_view framework, std::string_view precision) {
  Software software = together(load_framework(loader, framework), load_precision(loader, precision));
  software.label = framework;
  return software;
}

}  // namespace cairn::software
