#include "cairn/collective/algorithms.h"

#include <algorithm>
#include <array>
#include <string>

#include "algorithm_list.h"
#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"

namespace cairn::collective {
namespace {

constexpr std::array k_algorithms{
#define CAIRN_COLLECTIVE_ALGORITHM(function, name, summary, source) Algorithm{name, summary, source, function},
#include "algorithms.def"
#undef CAIRN_COLLECTIVE_ALGORITHM
};

[[noreturn]] void refuse(Collective collective, std::int64_t ranks) {
  throw core::ConfigurationError(
      "ranks",
      std::string(name(collective)) + " over " + std::to_string(ranks) + " ranks: there is no list of its messages",
      "use fewer ranks, or a number that the algorithm takes");
}

}  // namespace

std::span<const Algorithm> algorithms() { return k_algorithms; }

const Algorithm& algorithm(std::string_view name) {
  const auto found =
      std::find_if(k_algorithms.begin(), k_algorithms.end(), [&](const Algorithm& each) { return each.name == name; });
  if (found != k_algorithms.end()) return *found;
  std::string known;
  for (const Algorithm& each : k_algorithms) known += (known.empty() ? "" : ", ") + std::string(each.name);
  throw core::ConfigurationError("algorithm", "unknown algorithm '" + std::string(name) + "'", "known: " + known);
}

MessageList list_of(std::string_view name, Collective collective, const Group& group) {
  if (const std::optional<MessageList> list = algorithm(name).list(collective, group)) return *list;
  refuse(collective, group.ranks);
}

MessageList flat_list(Collective collective, std::int64_t ranks) {
  CAIRN_ASSERT(collective != Collective::none && ranks >= 1);
  for (const Algorithm& each : k_algorithms)
    if (const std::optional<MessageList> list = each.list(collective, {.ranks = ranks})) return *list;
  refuse(collective, ranks);
}

}  // namespace cairn::collective
