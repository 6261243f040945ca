#include "tree.h"

#include <algorithm>

#include "cairn/config/read.h"

namespace cairn::contrast {

const config::Node* at(const config::Node& root, std::string_view path) {
  const config::Node* node = &root;
  while (node != nullptr && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    node = node->find(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return node;
}

void set(config::Node& root, std::string_view path, const config::Node* value) {
  config::Node* node = &root;
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
    const std::string_view key = path.substr(0, dot);
    if (node->find(key) == nullptr) {
      if (value == nullptr) return;
      node->put(key, config::make_node(config::NodeKind::map, {}));
    }
    node = node->find(key);
    path.remove_prefix(dot + 1);
  }
  if (value != nullptr)
    node->put(path, *value);
  else
    node->remove(path);
}

std::string in_one_line(const config::Node& node) {
  if (node.is_null()) return {};
  if (node.is_scalar())
    return node.text.find_first_of(",:{}[]") == std::string::npos ? node.text : config::to_json(node, -1);
  std::string text;
  for (const config::Node& item : node.items) text += (text.empty() ? "" : ", ") + in_one_line(item);
  for (const config::Entry& entry : node.entries)
    text += (text.empty() ? "" : ", ") + entry.key + ": " + in_one_line(entry.value);
  return node.is_list() ? "[" + text + "]" : "{" + text + "}";
}

}  // namespace cairn::contrast
