// What every configuration file must do: say where each number comes from, and read back what it writes.
#pragma once

#include <string>

#include "cairn/config/read.h"
#include "cairn/hardware/files.h"
#include "catch.h"

namespace cairn::testing {

inline bool needs_source(const config::Origin& origin) {
  if (origin.is_default()) return false;
  const std::string& path = origin.key_path;
  if (path.empty() || path == "version" || path == "name" || path == "accelerator" || path == "nodes" ||
      path == "gpus_per_node")
    return false;
  const std::string_view last = std::string_view(path).substr(path.find_last_of('.') + 1);
  if (last == "kind" || last == "name" || last == "fabric") return false;
  return path.rfind("releases", 0) != 0;
}

// Leaves without a source of their own or of a map above them. A key is a leaf when no other key lies below it.
inline std::string unsourced(const config::Origins& origins) {
  std::string text;
  const auto& all = origins.all();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string& path = all[i].key_path;
    const bool is_leaf = i + 1 == all.size() || (all[i + 1].key_path.rfind(path + ".", 0) != 0 &&
                                                 all[i + 1].key_path.rfind(path + "[", 0) != 0);
    if (!is_leaf || !needs_source(all[i])) continue;
    const config::Origin* basis = hardware::provenance(origins, path);
    if (basis == nullptr || basis->reference.empty()) text += path + " ";
  }
  return text;
}

template <class T>
void check_round_trip(const T& value) {
  const std::string written = config::to_json(value);
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(written, config::Syntax::json, "written.json", diagnostics);
  T again{};
  config::read(node, again, diagnostics);
  diagnostics.raise_if_errors();
  CHECK(config::to_json(again) == written);
}

inline config::Node name_node(const std::string& name) { return config::make_scalar(name, {}); }

}  // namespace cairn::testing
