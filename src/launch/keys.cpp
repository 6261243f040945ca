#include "keys.h"

#include "cairn/config/units.h"
#include "numbers.h"

namespace cairn::launch {

const config::Node* Keys::find(std::string_view path) const { return config::find_path(tree_, path); }

std::string Keys::text(std::string_view path) const {
  const config::Node* node = find(path);
  return node != nullptr && node->is_scalar() ? node->text : std::string();
}

void Keys::put(std::string_view path, std::string text, const config::Place& place) {
  constexpr std::string_view k_plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+- ";
  const bool quoted = text.empty() || text.find_first_not_of(k_plain) != std::string::npos;
  put(path, config::make_scalar(std::move(text), place, quoted));
}

std::optional<std::int64_t> Keys::count(std::string_view path) const { return config::parse_whole(text(path)); }

void Keys::put(std::string_view path, config::Node value) { config::put_path(tree_, path, std::move(value)); }

std::string Keys::take(std::string_view path) {
  taken_.emplace(path);
  return text(path);
}

std::optional<std::int64_t> Keys::take_count(std::string_view path) { return config::parse_whole(take(path)); }

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
