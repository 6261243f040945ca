// Every scheme of the registry in every grid of few ranks, with problems that fit: what a new scheme is tested by.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "cairn/sequence/scheme.h"

namespace cairn::sequence::test {

struct Case {
  const Scheme* scheme;
  Grid grid;
  Problem problem;
};

inline std::ostream& operator<<(std::ostream& out, const Case& each) {
  const Problem& problem = each.problem;
  out << each.scheme->name << " on " << text(each.grid) << (each.grid.heads_inner ? "" : ", heads outside") << ", n "
      << problem.tokens << ", heads " << problem.heads << "/" << problem.kv_heads << ", d " << problem.head_dim << "/"
      << problem.values() << (problem.mask == Mask::causal ? ", causal" : ", full");
  for (const std::int64_t length : problem.documents) out << ", document " << length;
  return out;
}

inline bool two_dimensional(const Scheme& scheme) {
  const std::vector<Grid> grids = scheme.grids(4);
  return std::any_of(grids.begin(), grids.end(), [](const Grid& grid) { return grid.rows > 1; });
}

inline std::vector<Grid> all_grids(const Scheme& scheme) {
  std::vector<Grid> grids;
  for (const std::int64_t ranks : {1, 2, 3, 4, 6, 8, 16}) {
    const std::vector<Grid> more = scheme.grids(ranks);
    grids.insert(grids.end(), more.begin(), more.end());
  }
  if (two_dimensional(scheme) && !scheme.splits_heads)
    for (const Layout layout : {Layout::contiguous, Layout::striped}) {
      grids.push_back({.rows = 8, .columns = 8, .layout = layout});
      grids.push_back({.rows = 4, .columns = 6, .layout = layout});
    }
  return grids;
}

// Heads of queries and keys that u ranks can split: as many, fewer, one, values of another width, and where u is even
// two ranks with a copy of each key head.
inline std::vector<Problem> problems_of_heads(std::int64_t u) {
  std::vector<Problem> problems{{.heads = 2 * u, .kv_heads = 2 * u, .head_dim = 2},
                                {.heads = 2 * u, .kv_heads = u, .head_dim = 3},
                                {.heads = 2 * u, .kv_heads = 1, .head_dim = 2},
                                {.heads = u, .kv_heads = u, .head_dim = 3, .value_dim = 2}};
  if (u % 2 == 0) problems.push_back({.heads = 2 * u, .kv_heads = u / 2, .head_dim = 2, .value_dim = 1});
  return problems;
}

// Every grid with every mask that it takes and every form of heads, of more than 8 ranks one form by turns; so are the
// tokens of a rank, and whether there are documents.
inline std::vector<Case> all_cases() {
  constexpr std::int64_t k_all_forms = 8;
  std::vector<Case> cases;
  std::size_t turn = 0;
  for (const Scheme& scheme : schemes())
    for (const Grid& grid : all_grids(scheme))
      for (const Mask mask : {Mask::full, Mask::causal}) {
        std::vector<Problem> problems = problems_of_heads(grid.head_ranks);
        if (grid.ranks() > k_all_forms) problems = {problems[turn / 2 % problems.size()]};
        for (Problem problem : problems) {
          problem.tokens = grid.ranks() * (grid.ranks() <= 4 && turn / 3 % 2 == 1 ? 4 : 2);
          problem.mask = mask;
          if (turn % 3 == 0 && problem.tokens > 2) problem.documents = {problem.tokens / 2 - 1, problem.tokens / 2 + 1};
          ++turn;
          if (!scheme.refusal(problem, grid)) cases.push_back({&scheme, grid, problem});
        }
      }
  return cases;
}

}  // namespace cairn::sequence::test
