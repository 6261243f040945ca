#include "omegaconf.h"

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cairn/config/node.h"
#include "cairn/config/read.h"
#include "keys.h"
#include "numbers.h"

namespace cairn::launch {
namespace {

class Interpolation {
 public:
  Interpolation(const config::Node& root, const Given& given) : root_(root), given_(given) {}

  config::Node resolved(const config::Node& node, const std::string& parent) const {
    config::Node result = node;
    if (node.is_scalar() && node.text == "???") return config::make_node(config::NodeKind::null, node.place);
    if (node.is_scalar())
      if (const auto text = value(node.text, parent, 0)) result.text = *text;
    for (config::Node& item : result.items) item = resolved(item, parent);
    return result;
  }
  config::Node resolved_map(const config::Node& node, const std::string& path) const {
    config::Node result = node;
    for (config::Entry& entry : result.entries)
      entry.value = entry.value.is_map() ? resolved_map(entry.value, config::join_path(path, entry.key))
                                         : resolved(entry.value, path);
    return result;
  }

 private:
  static constexpr int k_deepest = 8;  // references to references

  static std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
  }

  std::optional<std::string> value(std::string_view text, const std::string& parent, int depth) const {
    text = trimmed(text);
    if (depth > k_deepest) return std::nullopt;
    if (!text.starts_with("${") || !text.ends_with('}')) return std::string(text);
    const std::string_view inside = text.substr(2, text.size() - 3);
    const std::size_t colon = inside.find(':'), brace = inside.find('$');
    if (colon == std::string_view::npos || colon > brace) return reference(inside, parent, depth);
    const std::size_t comma = inside.find(',', colon);  // of a first operand that is no function itself
    if (comma == std::string_view::npos) return std::nullopt;
    const auto left = value(inside.substr(colon + 1, comma - colon - 1), parent, depth + 1);
    const auto right = value(inside.substr(comma + 1), parent, depth + 1);
    return left && right ? applied(inside.substr(0, colon), *left, *right) : std::nullopt;
  }

  static std::optional<std::string> applied(std::string_view function, const std::string& left,
                                            const std::string& right) {
    const auto a = decimal(left), b = decimal(right);
    if (!a || !b || (function != "multiply" && function != "sum")) return std::nullopt;
    const double result = function == "multiply" ? *a * *b : *a + *b;
    constexpr double k_exact = 9007199254740992.0;  // 2^53
    if (!(std::abs(result) < k_exact)) return std::nullopt;
    return result == std::floor(result) ? fmt::format("{:.0f}", result) : fmt::format("{}", result);
  }

  // A leading dot is the map that the value stands in, another one the map around that.
  std::optional<std::string> reference(std::string_view name, std::string parent, int depth) const {
    std::string path(name);
    if (name.starts_with('.')) {
      name.remove_prefix(1);
      for (; name.starts_with('.'); name.remove_prefix(1))
        parent.erase(parent.find('.') == std::string::npos ? 0 : parent.rfind('.'));
      path = parent.empty() ? std::string(name) : fmt::format("{}.{}", parent, name);
    } else if (name.starts_with("training.")) {
      path = name.substr(std::string_view("training.").size());
    }
    const config::Node* found = config::find_path(root_, path);
    if (found != nullptr && found->is_scalar()) {
      const std::size_t dot = path.rfind('.');
      return value(found->text, dot == std::string::npos ? std::string() : path.substr(0, dot), depth + 1);
    }
    for (const std::string& each : given_.definitions)
      if (each.starts_with(path + "=")) return each.substr(path.size() + 1);
    return std::nullopt;
  }

  const config::Node& root_;
  const Given& given_;
};

}  // namespace

config::Node with_references(const config::Node& root, const Given& given) {
  return Interpolation(root, given).resolved_map(root, {});
}

}  // namespace cairn::launch
