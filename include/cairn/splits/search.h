// The best split or placement of every operator, by one of several published searches over the same costs.
//
//   pase      exact: dynamic programming over PaSE's order of the operators
//   autoddl   coordinate descent with restarts, from data parallelism among others; over placements descend(), from
//             experts' choices, too
//   flexflow  Markov chain Monte Carlo, from data parallelism
//
// Neither of the latter two is ever below the first, and neither is a proof.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "cairn/choice/cost_network.h"
#include "cairn/choice/elimination.h"
#include "cairn/splits/autoddl.h"
#include "cairn/splits/pase.h"

namespace cairn::splits {

enum class Method : std::uint8_t { pase, autoddl, flexflow };
std::span<const std::string_view> method_names();
std::optional<Method> method_of(std::string_view name);
std::string_view name(Method method);

struct SplitAnswer {
  choice::Choice best = {};
  double data_parallel = 0.0;  // cost of splitting the batch alone
  choice::Effort effort = {};  // of the exact search, whether it ran or not
  bool proven = false;         // nothing costs less
  // Where memory decided: a proven bound of what anything that fits costs (choice/within.h).
  std::optional<double> bound = {};
};

// Combinations of options that the exact search looks at, at most: some 40 s.
inline constexpr double k_most_combinations = 3e10;

// `seed`: of the searches that draw; `progress`: of the exact one. Errors: core::ConfigurationError where the exact
// search would look at more than k_most_combinations.
SplitAnswer search(const SplitProblem& problem, Method method, std::uint64_t seed = 1,
                   const choice::EliminationProgress& progress = {});
// `memory`: bytes that a device has. The exact search takes the least time within it where the least of all needs more,
// and that where nothing is within; the others do not look at it.
SplitAnswer search(const PlacementProblem& problem, Method method, double memory, std::uint64_t seed = 1,
                   const choice::EliminationProgress& progress = {});

}  // namespace cairn::splits
