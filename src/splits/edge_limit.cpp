#include "edge_limit.h"

#include <utility>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/splits/search.h"

namespace cairn::splits {

void require_room(double pairs, const char* key, const char* hint) {
  if (pairs > k_most_edge_costs)
    throw core::ConfigurationError(
        key,
        fmt::format("{:.1e} pairs of placements of operators that share a tensor, and at most {:.1e} are compared",
                    pairs, k_most_edge_costs),
        hint);
}

choice::EliminationProgress limited(choice::EliminationProgress progress, const char* key, const char* hint) {
  return [progress = std::move(progress), key, hint](double done, double of) {
    if (of > k_most_combinations)
      throw core::ConfigurationError(
          key,
          fmt::format("the exact search would look at {:.1e} combinations, and at most {:.0e} are looked at", of,
                      k_most_combinations),
          hint);
    if (progress) progress(done, of);
  };
}

}  // namespace cairn::splits
