#include "cairn/config/loader.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "reader.h"
#include "text_file.h"

namespace cairn::config {

namespace {

namespace fs = std::filesystem;

bool holds_file(const fs::path& path) {
  std::error_code problem;
  return fs::exists(path, problem) && !fs::is_directory(path, problem);
}

bool is_folder(const fs::path& path) {
  std::error_code problem;
  return fs::is_directory(path, problem);
}

// `name` below `folder`, as written or as a bare name; empty when not there.
fs::path in_folder(const fs::path& folder, std::string_view name) {
  fs::path plain = (folder / name).lexically_normal();
  if (holds_file(plain)) return plain;
  fs::path with_extension = plain;
  with_extension += ".yaml";
  if (holds_file(with_extension)) return with_extension;
  if (holds_file(plain / "config.json")) return plain / "config.json";
  return {};
}

}  // namespace

Node parse_text(std::string_view text, Syntax syntax, const std::string& file_name, core::Diagnostics& diagnostics) {
  const auto file = std::make_shared<const std::string>(file_name);
  Node node = syntax == Syntax::json ? read_json(text, file, diagnostics) : read_yaml(text, file, diagnostics);
  if (!node.place.file) node.place.file = file;  // an empty text
  return node;
}

std::vector<std::string> Loader::names(std::string_view kind) const {
  std::set<std::string> found;
  for (const fs::path& folder : folders_) {
    std::error_code problem;
    for (fs::directory_iterator at(folder / kind, problem), end; !problem && at != end; at.increment(problem)) {
      const fs::path& path = at->path();
      if (path.extension() == ".yaml") found.insert(path.stem().string());
      if (holds_file(path / "config.json")) found.insert(path.filename().string());
    }
  }
  return {found.begin(), found.end()};
}

fs::path Loader::find(std::string_view name, std::string_view kind, const Place& place, std::string_view key_path,
                      core::Diagnostics& diagnostics) const {
  if (name.empty()) {
    diagnostics.add(error_at(place, std::string(key_path), "empty name", "name a file"));
    return {};
  }
  const bool from_option = place.file_name() == "--set";
  const fs::path naming_folder = from_option ? fs::path() : fs::path(place.file_name()).parent_path();
  if (fs::path beside = in_folder(naming_folder, name); !beside.empty()) return beside;
  for (const fs::path& folder : folders_) {
    if (fs::path found = in_folder(folder, name); !found.empty()) return found;
    if (kind.empty()) continue;
    if (fs::path found = in_folder(folder / kind, name); !found.empty()) return found;
  }
  // A directory, or nothing: what is there decides the message.
  if (const fs::path plain = (naming_folder / name).lexically_normal(); is_folder(plain)) {
    diagnostics.add(error_at(place, std::string(key_path), fmt::format("{} is a directory", quote(plain.string())),
                             "name a file in it"));
    return {};
  }
  const std::string near = core::nearest(std::string(name), names(kind));
  std::vector<std::string> asked = {naming_folder.empty() ? "." : naming_folder.string()};
  for (const fs::path& folder : folders_) asked.push_back((folder / kind).string());
  diagnostics.add(error_at(
      place, std::string(key_path), fmt::format("no such file or name: {}", quote(name)),
      near.empty() ? fmt::format("looked in {}", fmt::join(asked, ", ")) : fmt::format("did you mean '{}'?", near)));
  return {};
}

Node Loader::parsed(const fs::path& file, const Place& place, core::Diagnostics& diagnostics) const {
  if (const auto kept = parsed_.find(file); kept != parsed_.end()) return kept->second;
  const std::size_t before = diagnostics.all().size();
  const std::optional<std::string> text = read_text_file(file, place, diagnostics);
  if (!text) return {};
  const Syntax syntax = file.extension() == ".json" ? Syntax::json : Syntax::yaml;
  if (syntax == Syntax::yaml && text->size() > k_yaml_limit) {
    const Place here{.file = std::make_shared<const std::string>(file.string()), .line = 1, .column = 1};
    diagnostics.add(error_at(here, {},
                             fmt::format("larger than {} MiB, the most that is read of YAML", k_yaml_limit >> 20),
                             "is this the right file? Long lists are read as JSON, from a file named .json"));
    return {};
  }
  Node node = parse_text(*text, syntax, file.string(), diagnostics);
  if (node.is_null() && !diagnostics.has_errors())
    diagnostics.add(error_at(node.place, {}, "empty file", "write at least one key: value"));
  const bool sound = diagnostics.all().size() == before;
  if (sound && text->size() <= k_kept_bytes && parsed_.size() < k_kept_files) parsed_.emplace(file, node);
  return node;
}

Node Loader::load_chain(const fs::path& file, std::vector<fs::path>& chain, const Place& place,
                        core::Diagnostics& diagnostics) const {
  std::error_code problem;
  const fs::path identity = fs::weakly_canonical(file, problem);
  if (std::find(chain.begin(), chain.end(), identity) != chain.end()) {
    diagnostics.add(
        error_at(place, "extends", fmt::format("{} extends itself", quote(file.string())), "break the circle"));
    return {};
  }
  Node node = parsed(file, place, diagnostics);
  if (node.is_null()) return node;
  const Node* extends = node.find("extends");
  if (extends == nullptr) return node;
  if (!extends->is_scalar()) {
    diagnostics.add(error_at(extends->place, "extends", "expected the name of a file", "write extends: other.yaml"));
    return {};
  }
  const std::string kind = file.parent_path().filename().string();
  const fs::path base_file = find(extends->text, kind, extends->place, "extends", diagnostics);
  if (base_file.empty()) return {};
  chain.push_back(identity);
  const Node base = load_chain(base_file, chain, extends->place, diagnostics);
  if (base.is_null()) return {};
  node.remove("extends");
  return merge(base, node);
}

Node Loader::load(const fs::path& file, core::Diagnostics& diagnostics) const {
  std::vector<fs::path> chain;
  return load_chain(file, chain, Place{}, diagnostics);
}

Node Loader::load_named(std::string_view name, std::string_view kind, core::Diagnostics& diagnostics) const {
  const fs::path file = find(name, kind, Place{}, {}, diagnostics);
  return file.empty() ? Node{} : load(file, diagnostics);
}

Node Loader::resolve(const Node& reference, std::string_view kind, std::string_view key_path,
                     core::Diagnostics& diagnostics) const {
  const Node* named = reference.is_scalar() ? &reference : reference.find("file");
  if (named == nullptr) return reference;
  const std::string path = reference.is_scalar() ? std::string(key_path) : join_path(key_path, "file");
  if (!named->is_scalar()) {
    diagnostics.add(error_at(named->place, path, "expected the name of a file", "write file: name"));
    return {};
  }
  const fs::path file = find(named->text, kind, named->place, path, diagnostics);
  if (file.empty()) return {};
  std::vector<fs::path> chain;
  Node base = load_chain(file, chain, named->place, diagnostics);
  if (base.is_null() || reference.is_scalar()) return base;
  Node over = reference;
  over.remove("file");
  return merge(std::move(base), over);
}

}  // namespace cairn::config
