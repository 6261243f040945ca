#include "keys.h"

#include <algorithm>

#include "numbers.h"

namespace cairn::launch {
const config::Node* Keys::find(std::string_view path) const {
  const config::Node* node = &tree_;
  while (node != nullptr && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    node = node->find(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return node;
}

std::string Keys::text(std::string_view path) const {
  const config::Node* node = find(path);
  return node != nullptr && node->is_scalar() ? node->text : std::string();
}

void Keys::put(std::string_view path, std::string text, const config::Place& place) {
  constexpr std::string_view k_plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+- ";
  const bool quoted = text.empty() || text.find_first_not_of(k_plain) != std::string::npos;
  put(path, config::make_scalar(std::move(text), place, quoted));
}

std::optional<std::int64_t> Keys::count(std::string_view path) const { return whole_number(text(path)); }

void Keys::put(std::string_view path, config::Node value) {
  config::Node* node = &tree_;
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
    const std::string_view key = path.substr(0, dot);
    if (!node->is_map()) *node = config::make_node(config::NodeKind::map, value.place);
    if (node->find(key) == nullptr) node->put(key, config::make_node(config::NodeKind::map, value.place));
    node = node->find(key);
    path.remove_prefix(dot + 1);
  }
  if (!node->is_map()) *node = config::make_node(config::NodeKind::map, value.place);
  node->put(path, std::move(value));
}

std::string Keys::take(std::string_view path) {
  taken_.emplace(path);
  return text(path);
}

std::optional<std::int64_t> Keys::take_count(std::string_view path) { return whole_number(take(path)); }

std::vector<std::pair<std::string, config::Node>> Keys::left() const {
  std::vector<std::pair<std::string, config::Node>> result;
  collect(tree_, {}, result);
  return result;
}

void Keys::collect(const config::Node& node, const std::string& path,
                   std::vector<std::pair<std::string, config::Node>>& result) const {
  if (taken_.contains(path)) return;
  if (!node.is_map()) {
    if (!node.is_null()) result.emplace_back(path, node);
    return;
  }
  for (const config::Entry& entry : node.entries) collect(entry.value, config::join_path(path, entry.key), result);
}

}  // namespace cairn::launch
