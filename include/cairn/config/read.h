// The three uses of one description: read a Node into a structure, write a structure as JSON, export its JSON Schema.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/config/fields.h"
#include "cairn/config/node.h"
#include "cairn/core/diagnostics.h"

namespace cairn::config {

// What a value rests on, as its file says: {value: 450 GB/s, source: datasheet, ref: "..."}.
enum class Source : std::uint8_t { unstated, datasheet, measured, fitted, assumed };
std::string_view name(Source source);

// One key that was read.
struct Origin {
  std::string key_path = {};
  Place place = {};  // no file: the default, as the key was absent
  Source source = Source::unstated;
  std::string reference = {};

  bool is_default() const { return !place.file; }
  // file:line, "--set" or "default"
  std::string to_string() const { return is_default() ? "default" : place.to_string(); }
};

// Where every key of a structure came from, in the order of its description. Leaves and the maps and lists above them.
class Origins {
 public:
  void add(Origin origin) { all_.push_back(std::move(origin)); }
  const std::vector<Origin>& all() const { return all_; }
  // The origin of `key_path`, or of the nearest key above it; null pointer when neither is known.
  const Origin* find(std::string_view key_path) const;
  // An error at the place of `key_path`: for what is found wrong after reading.
  core::Diagnostic error(std::string_view key_path, std::string message, std::string hint) const;

 private:
  std::vector<Origin> all_;
};

// Reads `node` as `description` says. Everything wrong goes to `diagnostics`; members whose values are wrong keep what
// they held. A null node is an error, unless loading it already failed (diagnostics has errors). `path` is the key path
// of `node` itself, empty for a whole file.
Origins read_fields(const Node& node, const std::function<void(Fields&)>& description, core::Diagnostics& diagnostics,
                    std::string_view path = {});
Origins read_value(const Node& node, const std::function<void(Value&)>& description, core::Diagnostics& diagnostics,
                   std::string_view path = {});

// The resolved values as JSON: keys in the order described, absent optionals left out, quantities as text with unit
// that reads back to the same double, shorthands as their maps. What it writes can be read again. A negative `indent`
// gives one line.
std::string write_fields(const std::function<void(Fields&)>& description, int indent = 2);

std::string write_value(const std::function<void(Value&)>& description, int indent = 2);

// One leaf of the resolved values: a scalar, or a list of scalars in one line.
struct ResolvedKey {
  std::string key_path = {};
  std::string value = {};  // as JSON
  Origin origin = {};
};
// Every leaf with where it came from, in the order described: what `cairn config show --origin` prints.
std::vector<ResolvedKey> resolved_fields(const std::function<void(Fields&)>& description, const Origins& origins);

// JSON Schema, draft 2020-12, with documentation, defaults and ranges. The description runs on a scratch object.
// Recursive structures are not supported.
std::string schema_of(const std::function<void(Fields&)>& description, std::string_view title);

// A raw tree as JSON; plain scalars become booleans and numbers where their text is one.
std::string to_json(const Node& node, int indent = 2);

template <class T>
Origins read(const Node& node, T& x, core::Diagnostics& diagnostics, std::string_view path = {}) {
  return read_fields(
      node, [&x](Fields& fields) { describe(fields, x); }, diagnostics, path);
}

// Throws core::ConfigurationError with everything wrong.
template <class T>
T read(const Node& node) {
  core::Diagnostics diagnostics;
  T x{};
  read(node, x, diagnostics);
  diagnostics.raise_if_errors();
  return x;
}

template <class T>
std::string to_json(const T& x, int indent = 2) {
  T copy = x;
  return write_fields([&copy](Fields& fields) { describe(fields, copy); }, indent);
}

// The tree of a text that to_json() wrote.
Node written_node(const std::string& json);
template <class T>
Node to_node(const T& x) {
  return written_node(to_json(x, -1));
}

template <class T>
std::vector<ResolvedKey> resolved_keys(const T& x, const Origins& origins) {
  T copy = x;
  return resolved_fields([&copy](Fields& fields) { describe(fields, copy); }, origins);
}

template <class T>
std::string json_schema(std::string_view title) {
  T scratch{};
  return schema_of([&scratch](Fields& fields) { describe(fields, scratch); }, title);
}

}  // namespace cairn::config
