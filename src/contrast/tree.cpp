#include "tree.h"

#include "cairn/config/read.h"

namespace cairn::contrast {

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
