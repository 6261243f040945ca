#include "tree_builder.h"

#include <utility>

#include <fmt/format.h>

#include "cairn/config/loader.h"
#include "cairn/core/assert.h"

namespace cairn::config {

namespace {

// A node counts once, and once more for every 64 bytes of text, so that long texts cannot be multiplied either.
std::size_t weight_of(const Node& node) {
  constexpr std::size_t k_text_per_unit = 64;
  std::size_t weight = 1 + node.text.size() / k_text_per_unit;
  for (const Node& item : node.items) weight += weight_of(item);
  for (const Entry& entry : node.entries) weight += weight_of(entry.value) + entry.key.size() / k_text_per_unit;
  return weight;
}

}  // namespace

void TreeBuilder::error(int line, int column, std::string message, std::string hint) {
  diagnostics_.add(error_at(place(line, column), {}, std::move(message), std::move(hint)));
}

void TreeBuilder::spend(std::size_t weight, const Place& where) {
  spent_ += weight;
  if (spent_ > k_node_budget) {
    throw TreeLimit{where, fmt::format("more than {} values, aliases expanded", k_node_budget),
                    "write less, or use fewer aliases (*name)"};
  }
}

std::string TreeBuilder::key_path(std::string_view key) const {
  std::string path;
  for (const Open& open : open_) {
    if (open.node.is_list()) {
      path = join_path(path, open.node.items.size());
    } else if (open.has_key) {
      path = join_path(path, open.key);
    }
  }
  return key.empty() ? path : join_path(path, key);
}

void TreeBuilder::take_key(const Node& node) {
  Open& map = open_.back();
  CAIRN_ASSERT(map.node.is_map() && !map.has_key);
  map.keep_value = false;
  if (!node.is_scalar()) {
    diagnostics_.add(error_at(node.place, key_path({}), "a key must be plain text", "write key: value"));
  } else if (node.text == "<<" && !node.quoted) {
    diagnostics_.add(error_at(node.place, key_path(node.text), "merge keys are not read",
                              "repeat the keys, or move them to a file named by 'extends'"));
  } else if (const auto [first, fresh] = map.seen.emplace(node.text, node.place); !fresh) {
    diagnostics_.add(error_at(node.place, key_path(node.text), "duplicate key",
                              fmt::format("first given in line {}; keep one", first->second.line)));
  } else {
    map.keep_value = true;
  }
  map.key = node.text;
  map.key_place = node.place;
  map.has_key = true;
}

void TreeBuilder::add(Node node, Anchor anchor) {
  if (anchor != 0) anchored_[anchor] = Anchored{.node = node, .weight = weight_of(node)};
  if (open_.empty()) {
    root_ = std::move(node);
    return;
  }
  Open& parent = open_.back();
  if (parent.node.is_list()) {
    parent.node.items.push_back(std::move(node));
  } else if (!parent.has_key) {
    take_key(node);
  } else {
    parent.has_key = false;
    if (!parent.keep_value) return;
    if (node.is_null())
      node.place = parent.key_place;  // nothing was written: the parser's mark is that of the next key
    parent.node.entries.push_back(
        Entry{.key = std::move(parent.key), .key_place = std::move(parent.key_place), .value = std::move(node)});
  }
}

void TreeBuilder::null(int line, int column, Anchor anchor) {
  spend(1, place(line, column));
  add(make_node(NodeKind::null, place(line, column)), anchor);
}

void TreeBuilder::scalar(int line, int column, std::string_view text, bool quoted, Anchor anchor) {
  spend(1, place(line, column));
  add(make_scalar(std::string(text), place(line, column), quoted), anchor);
}

void TreeBuilder::alias(int line, int column, Anchor anchor) {
  const auto found = anchored_.find(anchor);
  if (found == anchored_.end()) {
    throw TreeLimit{place(line, column), "an alias inside the value it names", "a value cannot contain itself"};
  }
  spend(found->second.weight, place(line, column));
  add(found->second.node, 0);
}

void TreeBuilder::open(NodeKind kind, Place where, Anchor anchor) {
  spend(1, where);
  if (open_.size() >= static_cast<std::size_t>(k_depth_limit)) {
    throw TreeLimit{where, fmt::format("more than {} maps and lists within each other", k_depth_limit),
                    "flatten the file"};
  }
  Open opened{.node = make_node(kind, std::move(where)), .anchor = anchor};
  open_.push_back(std::move(opened));
}

void TreeBuilder::start_list(int line, int column, Anchor anchor) { open(NodeKind::list, place(line, column), anchor); }
void TreeBuilder::start_map(int line, int column, Anchor anchor) { open(NodeKind::map, place(line, column), anchor); }

void TreeBuilder::end() {
  CAIRN_ASSERT(!open_.empty());
  Node node = std::move(open_.back().node);
  const Anchor anchor = open_.back().anchor;
  open_.pop_back();
  add(std::move(node), anchor);
}

}  // namespace cairn::config
