#include "yaml_arguments.h"

#include <utility>

#include "cairn/config/yaml.h"
#include "keys.h"

namespace cairn::launch {
namespace {

void flatten(const config::Node& node, const std::string& path, const config::Place& place,
             std::vector<Argument>& result) {
  if (node.is_null()) return;
  if (node.is_map()) {
    for (const config::Entry& entry : node.entries)
      flatten(entry.value, config::join_path(path, entry.key), entry.key_place, result);
    return;
  }
  Argument argument{.name = path, .place = place, .list = node.is_list()};
  if (node.is_scalar()) {
    std::string text = node.text;
    // YAML 1.1, as Python reads it, takes 70_000 for a number.
    if (!node.quoted && !text.empty() && text.find_first_not_of("0123456789_") == std::string::npos)
      std::erase(text, '_');
    argument.values.push_back({.text = std::move(text), .place = node.place});
  }
  for (const config::Node& item : node.items)
    argument.values.push_back({.text = item.is_scalar() ? item.text : config::to_json(item, -1), .place = item.place});
  result.push_back(std::move(argument));
}

}  // namespace

std::vector<Argument> yaml_arguments(const config::Node& root) {
  std::vector<Argument> result;
  if (root.is_map()) flatten(root, {}, {}, result);
  return result;
}

std::string yaml_text(const std::vector<Argument>& arguments) {
  Keys tree;
  for (const Argument& each : arguments) {
    if (!each.list) {
      tree.put(each.name, each.values.front().text, {});
      continue;
    }
    config::Node list = config::make_node(config::NodeKind::list, {});
    for (const Word& value : each.values) list.items.push_back(config::make_scalar(value.text, {}));
    tree.put(each.name, std::move(list));
  }
  return config::to_yaml(tree.tree());
}

}  // namespace cairn::launch
