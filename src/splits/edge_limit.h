// What a search may take: 2 GB of costs of pairs of options at once, and so many combinations.
#pragma once

#include "cairn/choice/elimination.h"

namespace cairn::splits {

inline constexpr double k_most_edge_costs = 2.5e8;

// Errors: core::ConfigurationError at `key`.
void require_room(double pairs, const char* key, const char* hint);
// `progress`, and the same for an elimination that would look at more than k_most_combinations (search.h).
choice::EliminationProgress limited(choice::EliminationProgress progress, const char* key, const char* hint);

}  // namespace cairn::splits
