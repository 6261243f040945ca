#include "cairn/splits/search.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cairn/choice/descent.h"
#include "cairn/core/diagnostics.h"

namespace cairn::splits {
namespace {

constexpr std::array<std::string_view, 3> k_methods{"pase", "autoddl", "flexflow"};

// Proposals of the Markov chain for each operator: a second or so for the largest network. Like the temperature of
// choice::Annealing they are a choice and no published figure; no answer of this search is called proven.
constexpr std::size_t k_proposals = 5000;

}  // namespace

std::span<const std::string_view> method_names() { return k_methods; }

std::optional<Method> method_of(std::string_view name) {
  const auto* const found = std::find(k_methods.begin(), k_methods.end(), name);
  if (found == k_methods.end()) return std::nullopt;
  return static_cast<Method>(found - k_methods.begin());
}

std::string_view name(Method method) { return k_methods[static_cast<std::size_t>(method)]; }

SplitAnswer search(const SplitProblem& problem, Method method, std::uint64_t seed,
                   const choice::EliminationProgress& progress) {
  const std::vector<choice::Option> start = data_parallel(problem);
  const std::vector<choice::Vertex> order = choice::fewest_dependents_order(problem.costs);
  SplitAnswer answer{.data_parallel = problem.costs.cost(start), .effort = choice::effort(problem.costs, order)};
  switch (method) {
    case Method::pase:
      if (answer.effort.combinations > k_most_combinations)
        throw core::ConfigurationError(
            "--devices",
            fmt::format(
                "the exact search would look at {:.1e} combinations of splits, and at most {:.0e} are looked at",
                answer.effort.combinations, k_most_combinations),
            "give fewer devices, a larger --least-extent, or --method autoddl");
      answer.best = choice::eliminate(problem.costs, order, progress);
      answer.proven = true;
      break;
    case Method::autoddl:
      answer.best = choice::coordinate_descent(problem.costs, {.starts = {start}, .seed = seed});
      break;
    case Method::flexflow:
      answer.best = choice::anneal(problem.costs,
                                   {.start = start, .proposals = k_proposals * problem.costs.vertices(), .seed = seed});
      break;
  }
  return answer;
}

}  // namespace cairn::splits
