// Files to Nodes: strict YAML and JSON, `extends`, named references, and overrides typed on the command line.
//
// YAML is read more strictly than the language allows: duplicate keys, merge keys (<<), tags, several documents, keys
// that are not plain text, invalid UTF-8 and NUL bytes are errors. Aliases are expanded, within k_node_budget nodes. A
// file whose name ends in .json is read as JSON.
//
// `extends: other` at the top of a file lays the file over another: maps are merged key by key, everything else (lists,
// scalars, {value: ...} forms) is replaced, and a null removes an inherited key.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <typeindex>
#include <utility>
#include <vector>

#include "cairn/config/node.h"
#include "cairn/config/sources.h"
#include "cairn/core/diagnostics.h"

namespace cairn::config {

inline constexpr std::size_t k_file_limit = std::size_t{64} << 20;  // bytes
inline constexpr std::size_t k_node_budget = 1'000'000;             // nodes of one file, aliases expanded
inline constexpr int k_depth_limit = 64;                            // maps and lists within each other

inline constexpr std::size_t k_kept_files = 256;                   // that a Loader keeps as trees
inline constexpr std::size_t k_kept_bytes = std::size_t{1} << 20;  // of text, the longest file that it keeps

enum class Syntax : std::uint8_t { yaml, json };

// One text as a tree. What is wrong goes to `diagnostics`; a text that cannot be read at all gives a null Node.
Node parse_text(std::string_view text, Syntax syntax, const std::string& file_name, core::Diagnostics& diagnostics);

// Lays `over` on `base`, as `extends` does.
Node merge(Node base, const Node& over);
// The same, but of {value: ...}, or of a map without a source, over {value: ...} the values are merged: keys of a map that
// `over` does not name stay, and source and ref are those of `over`.
Node merge_within_values(Node base, const Node& over);

// `strategy.tp=4`, `groups[0].count=2`, `strategy.stages=[7, 8]`: the value is read as YAML, its place is "--set". Maps
// on the way are created. A scalar on the way becomes a map when `shorthands` knows its path: with {"cluster", "file"},
// `cluster: dgx-h100` and `cluster.nodes=4` give {file: dgx-h100, nodes: 4}. A name in place of such a map of a file is
// refused where it would drop keys that lie beside `file`. `strategy.dp=null` takes a key back: it counts as not
// written.
void apply_override(Node& root, std::string_view assignment, core::Diagnostics& diagnostics,
                    const std::vector<std::pair<std::string, std::string>>& shorthands = {});

class Loader {
 public:
  // `search_folders` hold <kind>/<name>.yaml and <kind>/<name>/config.json; asked in order.
  explicit Loader(std::vector<std::filesystem::path> search_folders = {}) : folders_(std::move(search_folders)) {}

  // This loader, which also writes down in `sources` what it reads; they must outlive it.
  Loader noting(Sources& sources) const;

  // The file that `name` means, by who says it:
  //
  //   a file               its own folder, then the search folders; standard input, as the command line
  //   --set                the search folders; the working folder when it is written as a path, with a '/'
  //   the command line     likewise, and a name that ends in .yaml, .yml or .json is a path, too
  //                        (a place without a file)
  //
  // A search folder is asked for <name>, then for <kind>/<name>. So what a bare name means never depends on the working
  // folder. Empty, and an error at `place`, when there is none; the error names the nearest known name.
  std::filesystem::path find(std::string_view name, std::string_view kind, const Place& place,
                             std::string_view key_path, core::Diagnostics& diagnostics) const;
  // In the search folders alone: for what Cairn itself names. Empty when there is none.
  std::filesystem::path find_shipped(std::string_view name, std::string_view kind) const;

  // `node` laid over what it extends, as a file that held it would be. A null Node, and errors, when that fails.
  Node extended(Node node, std::string_view kind, core::Diagnostics& diagnostics) const;
  // Reads a file with everything it extends; bare names it extends are of `kind`. A null Node, and errors, when that
  // fails.
  Node load(const std::filesystem::path& file, core::Diagnostics& diagnostics, std::string_view kind = {}) const;
  // The same, found by a name of the command line first.
  Node load_named(std::string_view name, std::string_view kind, core::Diagnostics& diagnostics) const;

  // What `cluster:` or `model:` may hold: a name, `{file: name, overriding keys}`, or the whole block inline.
  // Gives the block, overriding keys laid over the file.
  Node resolve(const Node& reference, std::string_view kind, std::string_view key_path,
               core::Diagnostics& diagnostics) const;

  // What `make` makes of a file, with what that extends and names: made once for this loader and its copies, since many
  // experiments read the same few files. `make` is given the loader that it reads with; each use writes down all that the
  // first one read. Where `make` throws, nothing is kept.
  template <class T>
  std::shared_ptr<const T> once(const std::filesystem::path& file, const std::function<T(const Loader&)>& make) const {
    const auto value = once(file, typeid(T), [&make](const Loader& loader) -> std::shared_ptr<const void> {
      return std::make_shared<const T>(make(loader));
    });
    return std::static_pointer_cast<const T>(value);
  }

  // Every bare name of `kind` in the search folders, sorted.
  std::vector<std::string> names(std::string_view kind) const;

 private:
  // A file as it was when it was first read: many experiments name the same few.
  struct Parsed {
    Node node;
    std::string sha256;  // of its bytes
  };
  // What once() made, and the files that it read.
  struct Made {
    std::shared_ptr<const void> value;
    Sources sources;
  };
  struct Kept {
    std::mutex mutex;
    std::map<std::filesystem::path, Parsed> parsed;
    std::map<std::pair<std::filesystem::path, std::type_index>, Made> made;
  };
  std::shared_ptr<const void> once(const std::filesystem::path& file, std::type_index type,
                                   const std::function<std::shared_ptr<const void>(const Loader&)>& make) const;
  std::optional<Parsed> parsed(const std::filesystem::path& file, const Place& place,
                               core::Diagnostics& diagnostics) const;
  Node load_chain(const std::filesystem::path& file, std::string_view kind, std::vector<std::filesystem::path>& chain,
                  const Place& place, core::Diagnostics& diagnostics) const;
  Node extended(Node node, std::string_view kind, std::vector<std::filesystem::path>& chain,
                core::Diagnostics& diagnostics) const;
  void note(const std::filesystem::path& file, std::string_view kind, const std::string& sha256) const;
  // Why `name` was not found: what is there instead, or where it was looked for.
  core::Diagnostic not_found(std::string_view name, std::string_view kind, const Place& place,
                             std::string_view key_path) const;

  std::vector<std::filesystem::path> folders_;
  std::vector<Sources*> notes_;
  // Without anything wrong; at most k_kept_files of each. Copies of a loader share them, on several threads, too.
  std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
};

}  // namespace cairn::config
