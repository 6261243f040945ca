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

MessageList flat_list(Collective collective, std::int64_t ranks) {
  for (const Algorithm& each : k_algorithms)
    if (const std::optional<MessageList> list = each.list(collective, {.ranks = ranks})) return *list;
  CAIRN_ASSERT(!"every collective has an algorithm over any number of ranks");
  return {};
}

}  // namespace cairn::collective
