// Every scheme of the registry run on numbers, in six shapes, with every mask and two forms of heads in each. The fast
// tests have all forms up to 8 ranks, and take turns above.
//
//   a x b of k_sides   rows x columns of a 2-d scheme; ranks that split heads x ranks that share tokens of one that
//                      does both, in all its windows, layouts and placements; of one that does both and is 2-d either
//   k_lines            ranks of all others
#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "cairn/sequence/oracle.h"
#include "cairn/sequence/scheme.h"
#include "catch.h"
#include "sequence/scheme_cases.h"

using namespace cairn::sequence;

namespace {

struct ShapeSides {
  std::int64_t rows;
  std::int64_t columns;
};
constexpr ShapeSides k_sides[] = {{1, 4}, {2, 2}, {2, 4}, {4, 4}, {4, 6}, {8, 8}};
constexpr std::int64_t k_lines[] = {4, 6, 8, 16, 24, 64};
constexpr std::size_t k_shapes = 6;

bool splits_heads_and_tokens(const Scheme& scheme) {
  const std::vector<Grid> grids = scheme.grids(4);
  return std::any_of(grids.begin(), grids.end(),
                     [](const Grid& grid) { return grid.head_ranks > 1 && grid.token_ranks() > 1; });
}

// By shape.
std::vector<std::vector<Grid>> grids_in_shapes(const Scheme& scheme) {
  const bool plane = test::two_dimensional(scheme), mixed = splits_heads_and_tokens(scheme);
  std::vector<std::vector<Grid>> all;
  if (!plane && !mixed) {
    for (const std::int64_t ranks : k_lines) all.push_back(scheme.grids(ranks));
    return all;
  }
  for (const ShapeSides& sides : k_sides) {
    std::vector<Grid>& some = all.emplace_back();
    for (const Grid& grid : scheme.grids(sides.rows * sides.columns))
      if ((plane && grid.rows == sides.rows && grid.columns == sides.columns) ||
          (mixed && grid.head_ranks == sides.rows && grid.token_ranks() == sides.columns))
        some.push_back(grid);
  }
  return all;
}

struct Masking {
  std::string_view name;
  Mask mask;
  bool packed;
};
constexpr Masking k_maskings[] = {
    {"full", Mask::full, false}, {"causal", Mask::causal, false}, {"packed", Mask::causal, true}};

// Two tokens a rank, which zigzag needs; packed: two documents that end inside a rank's tokens. As many heads of keys
// as of queries, or half as many.
Problem problem_on(const Grid& grid, const Masking& masking, bool grouped) {
  const std::int64_t tokens = 2 * grid.ranks();
  Problem problem{.tokens = tokens,
                  .heads = std::max<std::int64_t>(grid.head_ranks, 2),
                  .kv_heads = std::max<std::int64_t>(grid.head_ranks, 2),
                  .head_dim = 2,
                  .mask = masking.mask};
  if (grouped) problem.heads *= 2;
  if (masking.packed) problem.documents = {tokens / 2 - 1, tokens / 2 + 1};
  return problem;
}

std::int64_t pairs_seen(const Problem& problem) {
  std::int64_t seen = 0;
  for (std::int64_t q = 0; q < problem.tokens; ++q)
    for (std::int64_t k = 0; k < problem.tokens; ++k) seen += problem.sees(q, k) ? 1 : 0;
  return seen;
}

void check_numbers(const Scheme& scheme, const Problem& problem, const Grid& grid, std::uint64_t seed) {
  const std::int64_t expected = problem.heads * pairs_seen(problem);
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    INFO((pass == Pass::forward ? "forward" : "backward"));
    const Verdict verdict = verify(scheme, problem, grid, pass, seed);
    CHECK(verdict.fault.value_or("") == "");
    CHECK(verdict.largest_error <= 1e-5);
    CHECK(verdict.pairs == expected);
  }
}

}  // namespace

TEST_CASE("every scheme computes attention in six shapes, with every mask and form of heads") {
  std::uint64_t seed = 1;
  for (const Scheme& scheme : schemes()) {
    const std::vector<std::vector<Grid>> shapes = grids_in_shapes(scheme);
    for (const Masking& masking : k_maskings)
      for (const bool grouped : {false, true}) {
        std::set<std::size_t> shown;
        for (std::size_t shape = 0; shape < shapes.size(); ++shape)
          for (const Grid& grid : shapes[shape]) {
            const Problem problem = problem_on(grid, masking, grouped);
            INFO(scheme.name << " on " << text(grid) << ", " << masking.name << ", heads " << problem.heads << "/"
                             << problem.kv_heads);
            if (scheme.refusal(problem, grid)) {
              // A causal mask leaves contiguous blocks in two dimensions uneven.
              CHECK(
                  (masking.mask == Mask::causal && test::two_dimensional(scheme) && grid.layout == Layout::contiguous));
              continue;
            }
            check_numbers(scheme, problem, grid, seed++);
            shown.insert(shape);
          }
        INFO(scheme.name << ", " << masking.name);
        CHECK(shown.size() == k_shapes);
      }
  }
}
