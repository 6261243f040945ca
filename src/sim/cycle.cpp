#include "cycle.h"

#include <algorithm>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"

namespace cairn::sim {

Adjacency invert(std::span<const std::uint32_t> begin, std::span<const std::uint32_t> targets) {
  const auto nodes = static_cast<std::uint32_t>(begin.size() - 1);
  Adjacency inverse{.begin = std::vector<std::uint32_t>(nodes + 1, 0),
                    .targets = std::vector<std::uint32_t>(targets.size())};
  for (const std::uint32_t target : targets) ++inverse.begin[target];
  std::uint32_t sum = 0;
  for (std::uint32_t& offset : inverse.begin)
    offset = sum += offset;  // of the end of each list, which is filled backwards
  for (std::uint32_t node = nodes; node-- > 0;)
    for (std::uint32_t i = begin[node + 1]; i-- > begin[node];) inverse.targets[--inverse.begin[targets[i]]] = node;
  return inverse;
}

void raise_cycle(const std::string& noun, const Adjacency& successors, std::span<const std::uint32_t> remaining) {
  // Every blocked node has a blocked predecessor: walking back ends in a cycle.
  constexpr std::uint32_t k_unknown = ~std::uint32_t{0};
  const auto nodes = static_cast<std::uint32_t>(remaining.size());
  std::vector<std::uint32_t> blocker(nodes, k_unknown);
  std::uint32_t node = k_unknown;
  for (std::uint32_t before = 0; before < nodes; ++before) {
    if (remaining[before] == 0) continue;
    for (const std::uint32_t after : successors.of(before)) blocker[after] = before;
    node = before;
  }
  CAIRN_ASSERT(node != k_unknown);
  std::vector<bool> visited(nodes, false);
  for (; !visited[node]; node = blocker[node]) visited[node] = true;
  std::vector<std::uint32_t> cycle{node};
  for (std::uint32_t before = blocker[node]; before != node; before = blocker[before]) cycle.push_back(before);
  std::reverse(cycle.begin(), cycle.end());  // ends with `node`, so it reads node -> ... -> node

  constexpr std::size_t k_named = 12;
  std::string text = std::to_string(node);
  for (std::size_t i = 0; i < std::min(cycle.size(), k_named); ++i) text += " -> " + std::to_string(cycle[i]);
  if (cycle.size() > k_named) text += " -> ... (" + std::to_string(cycle.size()) + " " + noun + " in all)";
  throw core::ConfigurationError(noun, noun + " wait for each other: " + text, "remove one of these dependencies");
}

}  // namespace cairn::sim
