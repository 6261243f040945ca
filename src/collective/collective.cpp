#include "cairn/collective/collective.h"

#include <array>
#include <string>

#include "cairn/core/diagnostics.h"

namespace cairn::collective {

std::string_view name(Collective collective) {
  constexpr std::array<std::string_view, 9> k_names{
      "none", "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "reduce", "gather", "send"};
  return k_names[static_cast<std::size_t>(collective)];
}

Collective collective_named(std::string_view wanted) {
  for (const Collective each : k_collectives)
    if (name(each) == wanted) return each;
  std::string known;
  for (const Collective each : k_collectives) known += (known.empty() ? "" : ", ") + std::string(name(each));
  throw core::ConfigurationError("collective", "unknown collective '" + std::string(wanted) + "'", "known: " + known);
}

bool reduces(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter ||
         collective == Collective::reduce;
}

}  // namespace cairn::collective
