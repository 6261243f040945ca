// Builds a Node from a stream of events, YAML's or JSON's; finds duplicate keys and keeps size and depth within limits.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cairn/config/node.h"

namespace cairn::config {

// Thrown to leave the parser when a limit is passed; caught by the readers.
struct TreeLimit {
  Place place;
  std::string message;
  std::string hint;
};

class TreeBuilder {
 public:
  // An anchor number as the YAML parser counts them; 0 is none.
  using Anchor = std::size_t;

  TreeBuilder(std::shared_ptr<const std::string> file, core::Diagnostics& diagnostics)
      : file_(std::move(file)), diagnostics_(diagnostics) {}

  void null(int line, int column, Anchor anchor = 0);
  void scalar(int line, int column, std::string_view text, bool quoted, Anchor anchor = 0);
  void alias(int line, int column, Anchor anchor);
  void start_list(int line, int column, Anchor anchor = 0);
  void start_map(int line, int column, Anchor anchor = 0);
  void end();
  void error(int line, int column, std::string message, std::string hint);

  const Node& root() const { return root_; }
  Node take_root() { return std::move(root_); }

 private:
  // A map or list being filled. In a map, values alternate with keys.
  struct Open {
    Node node;
    Anchor anchor = 0;
    bool has_key = false;
    bool keep_value = true;  // false: the value of a key that is in error is read and dropped
    std::string key = {};
    Place key_place = {};
    std::unordered_map<std::string, Place> seen = {};
  };
  struct Anchored {
    Node node;
    std::size_t weight = 0;
  };

  Place place(int line, int column) const { return Place{.file = file_, .line = line, .column = column}; }
  void spend(std::size_t weight, const Place& where);
  void open(NodeKind kind, Place where, Anchor anchor);
  void add(Node node, Anchor anchor);
  void take_key(const Node& node);
  std::string key_path(std::string_view key) const;

  std::shared_ptr<const std::string> file_;
  core::Diagnostics& diagnostics_;
  Node root_;
  std::vector<Open> open_;
  std::unordered_map<Anchor, Anchored> anchored_;
  std::size_t spent_ = 0;
};

}  // namespace cairn::config
