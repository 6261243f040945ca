#include "cairn/config/node.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cairn/core/printable.h"

namespace cairn::config {

std::string Place::to_string() const {
  if (!file) return {};
  return line > 0 ? fmt::format("{}:{}", *file, line) : *file;
}

const Node* Node::find(std::string_view key) const {
  for (const Entry& entry : entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

Node* Node::find(std::string_view key) { return const_cast<Node*>(std::as_const(*this).find(key)); }

void Node::put(std::string_view key, Node value) {
  if (Node* present = find(key)) {
    *present = std::move(value);
    return;
  }
  Place key_place = value.place;
  entries.push_back(Entry{.key = std::string(key), .key_place = std::move(key_place), .value = std::move(value)});
}

void Node::remove(std::string_view key) {
  std::erase_if(entries, [key](const Entry& entry) { return entry.key == key; });
}

const Node* find_path(const Node& root, std::string_view path) {
  const Node* node = &root;
  while (node != nullptr && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    node = node->find(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return node;
}

void put_path(Node& root, std::string_view path, Node value) {
  Node* node = &root;
  const auto as_map = [&] {
    if (!node->is_map()) *node = make_node(NodeKind::map, value.place);
  };
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
    const std::string_view key = path.substr(0, dot);
    as_map();
    if (node->find(key) == nullptr) node->put(key, make_node(NodeKind::map, value.place));
    node = node->find(key);
    path.remove_prefix(dot + 1);
  }
  as_map();
  node->put(path, std::move(value));
}

void remove_path(Node& root, std::string_view path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return root.remove(path);
  if (const Node* map = find_path(root, path.substr(0, dot))) const_cast<Node*>(map)->remove(path.substr(dot + 1));
}

Node make_node(NodeKind kind, Place place) {
  Node node;
  node.kind = kind;
  node.place = std::move(place);
  return node;
}

Node make_scalar(std::string text, Place place, bool quoted) {
  Node node = make_node(NodeKind::scalar, std::move(place));
  node.quoted = quoted;
  node.text = std::move(text);
  return node;
}

std::string join_path(std::string_view path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

std::string join_path(std::string_view path, std::size_t index) { return fmt::format("{}[{}]", path, index); }

std::string quote(std::string_view text) { return core::quoted(text); }

core::Diagnostic error_at(const Place& place, std::string key_path, std::string message, std::string hint) {
  return core::Diagnostic{.severity = core::Severity::error,
                          .file = place.file_name(),
                          .line = place.line,
                          .column = place.column,
                          .key_path = std::move(key_path),
                          .message = std::move(message),
                          .hint = std::move(hint)};
}

}  // namespace cairn::config
