// A configuration file as a tree that remembers where every piece was written. YAML and JSON both become Nodes, so
// everything above this line treats them alike. Scalars keep their text: what `010` or `off` means is decided by the
// field that reads them, never guessed here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/core/diagnostics.h"

namespace cairn::config {

// Where a value was written. `file` is the name as given, or "--set" for a value typed on the command line.
struct Place {
  std::shared_ptr<const std::string> file = {};
  int line = 0;    // 1-based; 0 when unknown
  int column = 0;  // 1-based; 0 when unknown

  std::string file_name() const { return file ? *file : std::string(); }
  std::string to_string() const;  // file:line, or file alone when the line is unknown
};

enum class NodeKind : std::uint8_t { null, scalar, list, map };

struct Entry;

struct Node {
  NodeKind kind = NodeKind::null;
  bool quoted = false;    // a scalar written in quotes (every JSON string): text, whatever it looks like
  std::string text = {};  // of a scalar; of a null, "null" where that takes a key back
  Place place = {};
  std::vector<Node> items = {};  // lists only
  std::vector<Entry> entries;    // maps only, in the order written; no initializer: Entry is incomplete here

  bool is_null() const { return kind == NodeKind::null; }
  bool is_scalar() const { return kind == NodeKind::scalar; }
  bool is_list() const { return kind == NodeKind::list; }
  bool is_map() const { return kind == NodeKind::map; }
  // The value of `key` in this map; null pointer when absent or when this is no map.
  const Node* find(std::string_view key) const;
  Node* find(std::string_view key);
  // Sets or adds `key` of this map.
  void put(std::string_view key, Node value);
  // Removes `key` of this map, if there.
  void remove(std::string_view key);
  // `{value: ..., source: ..., ref: ...}`: one value with its provenance. The key `value` is reserved for this form.
  bool is_sourced() const { return is_map() && find("value") != nullptr; }
};

struct Entry {
  std::string key = {};
  Place key_place = {};
  Node value = {};
};

// An empty node of a kind.
Node make_node(NodeKind kind, Place place);
// A scalar as if written plain (quoted = false) or in quotes.
Node make_scalar(std::string text, Place place, bool quoted = false);

// strategy + tp = strategy.tp; groups + 3 = groups[3].
std::string join_path(std::string_view path, std::string_view key);
std::string join_path(std::string_view path, std::size_t index);

// The value at a path of keys, as join_path writes it without indices; null pointer when absent. `root` at the empty one.
const Node* find_path(const Node& root, std::string_view path);
// Sets or adds it; maps on the way are made, also where something else stood.
void put_path(Node& root, std::string_view path, Node value);
// Removes it, if there.
void remove_path(Node& root, std::string_view path);

// core::quoted: `text` in single quotes for a message.
std::string quote(std::string_view text);

// An error at `place`.
core::Diagnostic error_at(const Place& place, std::string key_path, std::string message, std::string hint);

}  // namespace cairn::config
