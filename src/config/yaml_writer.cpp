#include "cairn/config/yaml.h"

#include <algorithm>

#include <fmt/format.h>

#include "cairn/config/units.h"
#include "cairn/core/printable.h"

namespace cairn::config {
namespace {

constexpr std::size_t k_width = 100;
constexpr std::size_t k_indent = 2;

bool is_plain_word(std::string_view text) {
  constexpr std::string_view k_safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ._-/+()%";
  constexpr std::string_view k_first = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.";
  return !text.empty() && text.find_first_not_of(k_safe) == std::string_view::npos &&
         k_first.find(text.front()) != std::string_view::npos && text.back() != ' ';
}

// Text in quotes where YAML would read something else.
std::string scalar(const Node& node) {
  const std::string& text = node.text;
  if (!node.quoted) return text;
  constexpr std::string_view k_reserved[] = {"true", "false", "null", "yes", "no", "on", "off", "~"};
  const bool reserved = std::find(std::begin(k_reserved), std::end(k_reserved), text) != std::end(k_reserved);
  if (is_plain_word(text) && !reserved && !parse_number(text)) return text;
  std::string inside;
  for (const char c : text) {
    if (c == '"' || c == '\\') inside += '\\';
    inside += c;
  }
  return fmt::format("\"{}\"", core::printable(inside));
}

std::string key_text(const std::string& key) {
  Node node = make_scalar(key, {}, true);
  return scalar(node);
}

// The node in one line.
std::string flow(const Node& node) {
  if (node.is_null()) return "null";
  if (node.is_scalar()) return scalar(node);
  std::string text;
  for (const Node& item : node.items) text += (text.empty() ? "" : ", ") + flow(item);
  for (const Entry& entry : node.entries)
    text += (text.empty() ? "" : ", ") + key_text(entry.key) + ": " + flow(entry.value);
  return node.is_list() ? "[" + text + "]" : "{" + text + "}";
}

bool is_leaf(const Node& node) { return !node.is_list() && !node.is_map(); }

// Whether a map or list stands in one line: of leaves, or of maps of leaves, and short.
bool is_short(const Node& node, std::size_t indent) {
  const auto shallow = [](const Node& inner) {
    return is_leaf(inner) || (inner.items.empty() && std::all_of(inner.entries.begin(), inner.entries.end(),
                                                                 [](const Entry& e) { return is_leaf(e.value); }));
  };
  const bool leaves =
      std::all_of(node.items.begin(), node.items.end(), is_leaf) &&
      std::all_of(node.entries.begin(), node.entries.end(), [&](const Entry& entry) { return shallow(entry.value); });
  return leaves && indent + flow(node).size() <= k_width;
}

void block(const Node& node, std::size_t indent, std::string& out);

// "key: value" or "key:" and the value in the lines below.
void entry(const Entry& each, std::size_t indent, std::string& out) {
  const std::string head = key_text(each.key) + ":";
  if (is_leaf(each.value) || is_short(each.value, indent + head.size() + 1)) {
    out += head + " " + flow(each.value) + "\n";
    return;
  }
  out += head + "\n";
  block(each.value, indent + k_indent, out);
}

void block(const Node& node, std::size_t indent, std::string& out) {
  const std::string margin(indent, ' ');
  for (const Entry& each : node.entries) {
    out += margin;
    entry(each, indent, out);
  }
  for (const Node& item : node.items) {
    out += margin + "- ";
    if (is_leaf(item) || is_short(item, indent + k_indent) || !item.is_map()) {
      out += flow(item) + "\n";
      continue;
    }
    for (std::size_t i = 0; i < item.entries.size(); ++i) {
      if (i > 0) out += std::string(indent + k_indent, ' ');
      entry(item.entries[i], indent + k_indent, out);
    }
  }
}

}  // namespace

std::string to_yaml(const Node& node) {
  if (is_leaf(node) || (node.items.empty() && node.entries.empty())) return flow(node) + "\n";
  std::string out;
  block(node, 0, out);
  return out;
}

}  // namespace cairn::config
