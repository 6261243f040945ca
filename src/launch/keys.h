// A tree of settings by its key paths, and which of them were dealt with.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/config/node.h"

namespace cairn::launch {

class Keys {
 public:
  Keys() : tree_(config::make_node(config::NodeKind::map, {})) {}
  explicit Keys(config::Node tree) : tree_(std::move(tree)) {}

  const config::Node& tree() const { return tree_; }
  const config::Node* find(std::string_view path) const;
  // The text of a scalar; empty where there is none.
  std::string text(std::string_view path) const;
  std::optional<std::int64_t> count(std::string_view path) const;
  // Sets a key, with the maps on the way to it.
  void put(std::string_view path, config::Node value);
  void put(std::string_view path, std::string text, const config::Place& place);
  // As text() and count(); the key, with all below it, is then dealt with.
  std::string take(std::string_view path);
  std::optional<std::int64_t> take_count(std::string_view path);
  // Scalars and lists that were not taken, in the order written.
  std::vector<std::pair<std::string, config::Node>> left() const;

 private:
  void collect(const config::Node& node, const std::string& path,
               std::vector<std::pair<std::string, config::Node>>& result) const;

  config::Node tree_;
  std::set<std::string, std::less<>> taken_ = {};
};

}  // namespace cairn::launch
