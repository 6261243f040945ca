#include "cairn/splits/search.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <utility>

#include "cairn/choice/descent.h"
#include "cairn/choice/within.h"
#include "edge_limit.h"

namespace cairn::splits {
namespace {

constexpr std::array<std::string_view, 3> k_methods{"pase", "autoddl", "flexflow"};
constexpr const char* k_axes_key = "axes";
constexpr const char* k_axes_hint = "give fewer axes, or --method autoddl";

// Proposals of the Markov chain for each operator: a second or so for the largest network. Like the temperature of
// choice::Annealing they are a choice and no published figure; no answer of this search is called proven.
constexpr std::size_t k_proposals = 5000;

// What a search starts from, and how else than exactly it goes on.
struct Searched {
  const choice::CostNetwork& costs;
  std::vector<choice::Option> data_parallel;
  std::function<choice::Choice()> descend;
  const char* key;   // at which the exact search is refused where it would take too long
  const char* hint;  // and what else to ask for
};

SplitAnswer search(const Searched& of, Method method, std::uint64_t seed, const choice::EliminationProgress& progress) {
  const std::vector<choice::Vertex> order = choice::fewest_dependents_order(of.costs);
  SplitAnswer answer{.data_parallel = of.costs.cost(of.data_parallel), .effort = choice::effort(of.costs, order)};
  switch (method) {
    case Method::pase:
      answer.best = choice::eliminate(of.costs, order, limited(progress, of.key, of.hint));
      answer.proven = true;
      break;
    case Method::autoddl:
      answer.best = of.descend();
      break;
    case Method::flexflow:
      answer.best = choice::anneal(
          of.costs, {.start = of.data_parallel, .proposals = k_proposals * of.costs.vertices(), .seed = seed});
      break;
  }
  return answer;
}

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
  return search(
      {.costs = problem.costs,
       .data_parallel = start,
       .descend = [&] { return choice::coordinate_descent(problem.costs, {.starts = {start}, .seed = seed}); },
       .key = "--devices",
       .hint = "give fewer devices, a larger --least-extent, or --method autoddl"},
      method, seed, progress);
}

SplitAnswer search(const PlacementProblem& problem, Method method, double memory, std::uint64_t seed,
                   const choice::EliminationProgress& progress) {
  choice::Descent descent{.seed = seed};
  const std::size_t axes = problem.operators.front().signatures.front().parts.size();
  for (std::size_t tensor_axes = 0; tensor_axes <= axes; ++tensor_axes)
    descent.starts.push_back(expert_options(problem, tensor_axes));
  SplitAnswer answer = search({.costs = problem.costs,
                               .data_parallel = descent.starts.front(),
                               .descend = [&] { return descend(problem, descent); },
                               .key = k_axes_key,
                               .hint = k_axes_hint},
                              method, seed, progress);
  if (method != Method::pase || problem.memory.cost(answer.best.options) <= memory) return answer;
  if (std::optional<choice::Within> fitting =
          choice::least_within(problem.costs, problem.memory, memory, limited(progress, k_axes_key, k_axes_hint))) {
    answer.best = std::move(fitting->best);
    answer.bound = fitting->bound;
    answer.proven = fitting->bound > answer.best.cost - 1.0;  // F is whole picoseconds
  }
  return answer;
}

}  // namespace cairn::splits
