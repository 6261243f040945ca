#include "cairn/collective/collective.h"

#include <array>

namespace cairn::collective {

std::string_view name(Collective collective) {
  constexpr std::array<std::string_view, 9> k_names{
      "none", "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "reduce", "gather", "send"};
  return k_names[static_cast<std::size_t>(collective)];
}

bool reduces(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter ||
         collective == Collective::reduce;
}

}  // namespace cairn::collective
