// Laying one tree over another, and single values over a tree.
#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/config/loader.h"
#include "reader.h"

namespace cairn::config {

namespace {

enum class Values { replaced, merged };

Node laid_over(Node base, const Node& over, Values values) {
  if (values == Values::merged && base.is_sourced() && over.is_map()) {
    // Keys that are given without a source are of the value, and what the base says of its source is true no more.
    Node result = over.is_sourced() ? over : make_node(NodeKind::map, over.place);
    result.put("value", merge(std::move(*base.find("value")), over.is_sourced() ? *over.find("value") : over));
    return result;
  }
  if (!base.is_map() || !over.is_map() || base.is_sourced() || over.is_sourced()) return over;
  for (const Entry& entry : over.entries) {
    if (entry.value.is_null()) {
      base.remove(entry.key);
    } else if (Node* inherited = base.find(entry.key)) {
      *inherited = laid_over(std::move(*inherited), entry.value, values);
    } else {
      base.entries.push_back(entry);
    }
  }
  base.place = over.place;
  return base;
}

}  // namespace

Node merge(Node base, const Node& over) { return laid_over(std::move(base), over, Values::replaced); }
Node merge_within_values(Node base, const Node& over) { return laid_over(std::move(base), over, Values::merged); }

namespace {

struct Step {
  std::string key;
  std::optional<std::size_t> index = {};
};

// strategy.groups[0].count -> strategy, groups, [0], count. Empty when malformed.
std::vector<Step> split_path(std::string_view path) {
  std::vector<Step> steps;
  std::size_t at = 0;
  while (at <= path.size()) {
    const std::size_t end = std::min(path.find_first_of(".[", at), path.size());
    if (end == at) return {};
    steps.push_back(Step{.key = std::string(path.substr(at, end - at))});
    at = end;
    while (at < path.size() && path[at] == '[') {
      std::size_t index = 0;
      const char* const last = path.data() + path.size();
      const auto [stop, problem] = std::from_chars(path.data() + at + 1, last, index);
      if (problem != std::errc() || stop == last || *stop != ']') return {};
      steps.push_back(Step{.key = {}, .index = index});
      at = static_cast<std::size_t>(stop - path.data()) + 1;
    }
    if (at == path.size()) return steps;
    if (path[at] != '.') return {};
    ++at;
  }
  return {};
}

constexpr std::string_view k_file = "file";

// Keys that a map lays over the file that it names: "nodes, accelerator". Empty: none, or it names no file.
std::string keys_over_file(const Node& node) {
  std::vector<std::string> keys;
  if (node.is_map() && node.find(k_file) != nullptr)
    for (const Entry& entry : node.entries)
      if (entry.key != k_file) keys.push_back(entry.key);
  return fmt::format("{}", fmt::join(keys, ", "));
}

// The node that `step` names below `node`, made where it is missing. Null pointer, and an error, when that cannot be.
Node* descend(Node& node, const Step& step, const std::string& parent, const std::string& shorthand, const Place& place,
              core::Diagnostics& diagnostics) {
  const auto refuse = [&](std::string message, std::string hint) {
    diagnostics.add(error_at(place, parent, std::move(message), std::move(hint)));
    return nullptr;
  };
  if (step.index) {
    if (!node.is_list()) return refuse("is no list", "leave out the index");
    if (*step.index >= node.items.size())
      return refuse(fmt::format("has {} items", node.items.size()), "the first is [0]");
    return &node.items[*step.index];
  }
  if (node.is_scalar() && !shorthand.empty()) {
    Node map = make_node(NodeKind::map, node.place);
    map.put(shorthand, std::move(node));
    node = std::move(map);
  }
  if (node.is_null()) node = make_node(NodeKind::map, place);
  if (!node.is_map())
    return refuse(node.is_list() ? "is a list" : "is a single value",
                  fmt::format("give the whole of it: --set '{}={{...}}'", parent));
  if (Node* present = node.find(step.key)) return present;
  node.put(step.key, make_node(NodeKind::null, place));
  return node.find(step.key);
}

}  // namespace

void apply_override(Node& root, std::string_view assignment, core::Diagnostics& diagnostics,
                    const std::vector<std::pair<std::string, std::string>>& shorthands) {
  const Place place{.file = std::make_shared<const std::string>("--set")};
  const auto refuse = [&](std::string message, std::string hint = "write --set strategy.tp=4") {
    diagnostics.add(error_at(place, {}, fmt::format("{}: {}", quote(assignment), message), std::move(hint)));
  };
  const auto shorthand_at = [&shorthands](std::string_view path) {
    const auto known =
        std::find_if(shorthands.begin(), shorthands.end(), [path](const auto& each) { return each.first == path; });
    return known == shorthands.end() ? std::string() : known->second;
  };
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) return refuse("no '='");
  const std::vector<Step> steps = split_path(assignment.substr(0, equals));
  if (steps.empty()) return refuse("not a key path");
  core::Diagnostics problems;
  Node value = parse_text(assignment.substr(equals + 1), Syntax::yaml, *place.file, problems);
  for (const core::Diagnostic& problem : problems.all()) refuse(problem.message);
  if (problems.has_errors()) return;
  if (value.is_null()) {
    if (assignment.substr(equals + 1) != "null")
      return refuse("the value is missing", "write --set strategy.tp=4, or --set strategy.dp=null to take a key back");
    value.text = "null";
  }
  // The whole option is one place: lines and columns within it help nobody.
  const auto at_option = [&place](auto& self, Node& node) -> void {
    node.place = place;
    for (Node& item : node.items) self(self, item);
    for (Entry& entry : node.entries) {
      entry.key_place = place;
      self(self, entry.value);
    }
  };
  at_option(at_option, value);

  Node* node = &root;
  std::string path;
  for (const Step& step : steps) {
    node = descend(*node, step, path, shorthand_at(path), place, diagnostics);
    if (node == nullptr) return;
    path = step.index ? join_path(path, *step.index) : join_path(path, step.key);
  }
  if (value.is_scalar() && shorthand_at(path) == k_file)
    if (const std::string dropped = keys_over_file(*node); !dropped.empty())
      return refuse(fmt::format("would drop what is laid over the file named there: {}", dropped),
                    fmt::format("write {0}.file={1} to keep it, or '{0}={{file: {1}}}' to drop it", path, value.text));
  *node = std::move(value);
}

}  // namespace cairn::config
