// A structure read from a file that another names, with where each of its keys came from.
#pragma once

#include <string>
#include <string_view>

#include "cairn/config/node.h"
#include "cairn/config/read.h"
#include "cairn/core/diagnostics.h"

namespace cairn::config {

template <class T>
struct Loaded {
  T value = {};
  Origins origins = {};
};

template <class T>
Loaded<T> read_loaded(const Node& node, std::string_view path, core::Diagnostics& diagnostics) {
  Loaded<T> loaded;
  loaded.origins = read(node, loaded.value, diagnostics, path);
  return loaded;
}

// Below which path keys lie that `reference` at `key_path` gives: a named file is its own root.
inline std::string root_path(const Node& reference, std::string_view key_path) {
  return reference.is_scalar() ? std::string() : std::string(key_path);
}

// What `read` makes; throws core::ConfigurationError with everything that it found wrong.
template <class Read>
auto read_or_raise(Read read) {
  core::Diagnostics diagnostics;
  auto value = read(diagnostics);
  diagnostics.raise_if_errors();
  return value;
}

}  // namespace cairn::config
