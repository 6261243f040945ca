#include "cairn/config/loader.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/core/read_file.h"
#include "cairn/core/sha256.h"
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

bool is_standard_input(const fs::path& file) { return file == core::k_standard_input; }

bool is_option(const Place& place) { return place.file_name() == "--set"; }

// Whether a name typed on the command line is that of a file as a shell means it.
bool is_path(std::string_view name, const Place& place) {
  if (name.find('/') != std::string_view::npos) return true;
  const fs::path extension = fs::path(name).extension();
  return !is_option(place) && (extension == ".yaml" || extension == ".yml" || extension == ".json");
}

// The folder against which `name` is a path; none: it is looked for in the search folders alone.
std::optional<fs::path> naming_folder(std::string_view name, const Place& place) {
  if (place.file && !is_option(place) && !is_standard_input(*place.file)) return fs::path(*place.file).parent_path();
  return is_path(name, place) ? std::optional(fs::path()) : std::nullopt;
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
  if (const auto folder = naming_folder(name, place))
    if (fs::path beside = in_folder(*folder, name); !beside.empty()) return beside;
  if (fs::path shipped = find_shipped(name, kind); !shipped.empty()) return shipped;
  diagnostics.add(not_found(name, kind, place, key_path));
  return {};
}

fs::path Loader::find_shipped(std::string_view name, std::string_view kind) const {
  for (const fs::path& folder : folders_) {
    if (fs::path found = in_folder(folder, name); !found.empty()) return found;
    if (kind.empty()) continue;
    if (fs::path found = in_folder(folder / kind, name); !found.empty()) return found;
  }
  return {};
}

std::optional<Loader::Parsed> Loader::parsed(const fs::path& file, const Place& place,
                                             core::Diagnostics& diagnostics) const {
  // Held while the file is read, since a pipe can be read once only.
  const std::lock_guard lock(kept_->mutex);
  if (const auto kept = kept_->parsed.find(file); kept != kept_->parsed.end()) return kept->second;
  const std::size_t before = diagnostics.all().size();
  const std::optional<std::string> text = read_text_file(file, place, diagnostics);
  if (!text) return std::nullopt;
  const Syntax syntax = file.extension() == ".json" ? Syntax::json : Syntax::yaml;
  if (syntax == Syntax::yaml && text->size() > k_yaml_limit) {
    const Place here{.file = std::make_shared<const std::string>(file.string()), .line = 1, .column = 1};
    diagnostics.add(error_at(here, {},
                             fmt::format("larger than {} MiB, the most that is read of YAML", k_yaml_limit >> 20),
                             "is this the right file? Long lists are read as JSON, from a file named .json"));
    return std::nullopt;
  }
  Parsed result{.node = parse_text(*text, syntax, file.string(), diagnostics), .sha256 = core::sha256(*text)};
  if (result.node.is_null() && !diagnostics.has_errors())
    diagnostics.add(error_at(result.node.place, {}, "empty file", "write at least one key: value"));
  const bool sound = diagnostics.all().size() == before;
  if (sound && text->size() <= k_kept_bytes && kept_->parsed.size() < k_kept_files) kept_->parsed.emplace(file, result);
  return result;
}

core::Diagnostic Loader::not_found(std::string_view name, std::string_view kind, const Place& place,
                                   std::string_view key_path) const {
  const auto error = [&](std::string message, std::string hint) {
    return error_at(place, std::string(key_path), std::move(message), std::move(hint));
  };
  const auto folder = naming_folder(name, place);
  if (const fs::path plain = (folder.value_or(fs::path()) / name).lexically_normal(); folder && is_folder(plain))
    return error(fmt::format("{} is a directory", quote(plain.string())), "name a file in it");
  const std::string message = fmt::format("no such file or name: {}", quote(name));
  if (const fs::path here = folder ? fs::path() : in_folder({}, name); !here.empty())
    return error(message, fmt::format("for the file in the working folder write './{}'", here.string()));
  if (const std::string near = core::nearest(std::string(name), names(kind)); !near.empty())
    return error(message, fmt::format("did you mean '{}'?", near));
  std::vector<std::string> asked;
  if (folder) asked.push_back(folder->empty() ? "." : folder->string());
  for (const fs::path& each : folders_) asked.push_back((each / kind).string());
  return error(message, asked.empty() ? "there are no search folders: write a path"
                                      : fmt::format("looked in {}", fmt::join(asked, ", ")));
}

Loader Loader::noting(Sources& sources) const {
  Loader result = *this;
  result.notes_.push_back(&sources);
  return result;
}

void Loader::note(const fs::path& file, std::string_view kind, const std::string& sha256) const {
  const auto knows = [&](const Sources* notes) { return notes->find(file) != nullptr; };
  if (std::all_of(notes_.begin(), notes_.end(), knows)) return;
  std::error_code problem;
  const auto whole = [&](const fs::path& path) { return fs::absolute(path, problem).lexically_normal(); };
  SourceFile source{.kind = std::string(kind), .file = file, .folder = {}, .sha256 = sha256};
  for (const fs::path& folder : folders_) {
    const fs::path below = whole(file).lexically_relative(whole(folder));
    if (source.folder.empty() && !below.empty() && *below.begin() != "..") source.folder = folder;
  }
  for (Sources* notes : notes_) notes->add(source);
}

std::shared_ptr<const void> Loader::once(const fs::path& file, std::type_index type,
                                         const std::function<std::shared_ptr<const void>(const Loader&)>& make) const {
  const std::pair key(file, type);
  std::unique_lock lock(kept_->mutex);
  if (const auto kept = kept_->made.find(key); kept != kept_->made.end()) {
    const Made& made = kept->second;  // never changed
    lock.unlock();
    for (const SourceFile& source : made.sources.all())
      for (Sources* notes : notes_) notes->add(source);
    return made.value;
  }
  lock.unlock();
  Made made;
  made.value = make(noting(made.sources));
  lock.lock();
  if (kept_->made.size() < k_kept_files) kept_->made.emplace(key, made);
  return made.value;
}

Node Loader::load_chain(const fs::path& file, std::string_view kind, std::vector<fs::path>& chain, const Place& place,
                        core::Diagnostics& diagnostics) const {
  std::error_code problem;
  const fs::path identity = fs::weakly_canonical(file, problem);
  if (std::find(chain.begin(), chain.end(), identity) != chain.end()) {
    diagnostics.add(
        error_at(place, "extends", fmt::format("{} extends itself", quote(file.string())), "break the circle"));
    return {};
  }
  std::optional<Parsed> found = parsed(file, place, diagnostics);
  if (!found) return {};
  note(file, kind, found->sha256);
  chain.push_back(identity);
  return extended(std::move(found->node), kind, chain, diagnostics);
}

Node Loader::extended(Node node, std::string_view kind, std::vector<fs::path>& chain,
                      core::Diagnostics& diagnostics) const {
  const Node* extends = node.find("extends");
  if (extends == nullptr) return node;
  if (!extends->is_scalar()) {
    diagnostics.add(error_at(extends->place, "extends", "expected the name of a file", "write extends: other.yaml"));
    return {};
  }
  const fs::path base_file = find(extends->text, kind, extends->place, "extends", diagnostics);
  if (base_file.empty()) return {};
  const Node base = load_chain(base_file, kind, chain, extends->place, diagnostics);
  if (base.is_null()) return {};
  node.remove("extends");
  return merge(base, node);
}

Node Loader::extended(Node node, std::string_view kind, core::Diagnostics& diagnostics) const {
  std::vector<fs::path> chain;
  return extended(std::move(node), kind, chain, diagnostics);
}

Node Loader::load(const fs::path& file, core::Diagnostics& diagnostics, std::string_view kind) const {
  std::vector<fs::path> chain;
  return load_chain(file, kind, chain, Place{}, diagnostics);
}

Node Loader::load_named(std::string_view name, std::string_view kind, core::Diagnostics& diagnostics) const {
  const fs::path file = find(name, kind, Place{}, {}, diagnostics);
  return file.empty() ? Node{} : load(file, diagnostics, kind);
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
  Node base = load_chain(file, kind, chain, named->place, diagnostics);
  if (base.is_null() || reference.is_scalar()) return base;
  Node over = reference;
  over.remove("file");
  return merge(std::move(base), over);
}

}  // namespace cairn::config
