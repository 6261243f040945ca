#include "tree_changes.h"

#include <cctype>
#include <utility>
#include <vector>

#include "cairn/config/loader.h"
#include "cairn/config/read.h"
#include "cairn/config/yaml.h"
#include "mutator.h"

namespace cairn::attack {
namespace {

using config::Node;
using config::NodeKind;

// A child within its parent.
struct Slot {
  Node* parent;
  std::size_t index;
  Node& value() const { return parent->is_map() ? parent->entries[index].value : parent->items[index]; }
};

void collect(Node& node, std::vector<Slot>& slots) {
  for (std::size_t i = 0; i < node.entries.size(); ++i) {
    slots.push_back({&node, i});
    collect(node.entries[i].value, slots);
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    slots.push_back({&node, i});
    collect(node.items[i], slots);
  }
}

std::vector<Slot> slots_of(Node& root) {
  std::vector<Slot> slots;
  collect(root, slots);
  return slots;
}

Node parsed(const std::string& text) {
  core::Diagnostics diagnostics;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != std::string::npos && (text[first] == '{' || text[first] == '[');
  return config::parse_text(text, json ? config::Syntax::json : config::Syntax::yaml, "input", diagnostics);
}

Node scalar(std::string text) { return config::make_scalar(std::move(text), {}); }

Node within(NodeKind kind, Node inner) {
  Node outer = config::make_node(kind, {});
  if (kind == NodeKind::map)
    outer.put("value", std::move(inner));
  else
    outer.items.push_back(std::move(inner));
  return outer;
}

std::size_t pick(core::Random& random, std::size_t bound) { return static_cast<std::size_t>(random.below(bound)); }

Node nested(Node node, core::Random& random) {
  const int times = random.below(16) == 0 ? config::k_depth_limit + 1 : 1;
  for (int i = 0; i < times; ++i) node = within(random.below(2) == 0 ? NodeKind::map : NodeKind::list, std::move(node));
  return node;
}

// `80 GB/s` -> `1e308 GB/s`.
std::string with_edge_value(const std::string& text, core::Random& random) {
  const auto edges = edge_values();
  const std::string edge(edges[pick(random, edges.size())]);
  std::size_t end = 0;
  while (end < text.size() && (std::isdigit(static_cast<unsigned char>(text[end])) != 0 || text[end] == '.')) ++end;
  return end == 0 ? edge : edge + text.substr(end);
}

void remove(const Slot& slot) {
  if (slot.parent->is_map())
    slot.parent->entries.erase(slot.parent->entries.begin() + static_cast<std::ptrdiff_t>(slot.index));
  else
    slot.parent->items.erase(slot.parent->items.begin() + static_cast<std::ptrdiff_t>(slot.index));
}

void insert(const Slot& slot, const std::string& key, Node value) {
  if (slot.parent->is_map()) {
    config::Entry entry;
    entry.key = key;
    entry.value = std::move(value);
    slot.parent->entries.push_back(std::move(entry));
  } else {
    slot.parent->items.push_back(std::move(value));
  }
}

// The part of `donor` under the same key, or any of its parts.
Node taken(Node& donor, const Slot& slot, core::Random& random) {
  const std::vector<Slot> parts = slots_of(donor);
  if (parts.empty()) return {};
  if (slot.parent->is_map())
    for (const Slot& part : parts)
      if (part.parent->is_map() && part.parent->entries[part.index].key == slot.parent->entries[slot.index].key)
        return part.value();
  return parts[pick(random, parts.size())].value();
}

void change_slot(const Slot& slot, const std::vector<Slot>& slots, const TreeChange& change, core::Random& random) {
  Node& value = slot.value();
  const std::string key = slot.parent->is_map() ? slot.parent->entries[slot.index].key : change.token;
  switch (random.below(12)) {
    case 0:
      return remove(slot);
    case 1:
      return insert(slot, key, Node(value));
    case 2: {
      Node other = slots[pick(random, slots.size())].value();  // a copy: one may lie within the other
      value = std::move(other);
      return;
    }
    case 3:
      value = nested(Node(value), random);
      return;
    case 4:
      value = Node{};
      return;
    case 5:
      value = scalar(change.token);
      return;
    case 6:
      if (slot.parent->is_map()) slot.parent->entries[slot.index].key = change.token;
      return;
    case 7:
      return insert(slot, change.token, Node(value));
    case 8:
    case 9: {
      Node donor = parsed(change.donor);
      value = taken(donor, slot, random);
      return;
    }
    default:
      if (value.is_scalar()) value.text = with_edge_value(value.text, random);
  }
}

}  // namespace

std::string changed_tree_text(const std::string& text, const TreeChange& change, core::Random& random) {
  Node root = parsed(text);
  const std::vector<Slot> slots = slots_of(root);
  if (slots.empty()) return text;
  const Slot slot = slots[pick(random, slots.size())];
  change_slot(slot, slots, change, random);
  return random.below(2) == 0 ? config::to_yaml(root) : config::to_json(root, -1);
}

}  // namespace cairn::attack
