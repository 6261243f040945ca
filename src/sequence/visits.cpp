#include "visits.h"

#include <utility>

#include "layouts.h"

namespace cairn::sequence {
namespace {

Tokens first_half(const Tokens& tokens) { return slice(tokens, 0, count(tokens) / 2); }
Tokens second_half(const Tokens& tokens) { return slice(tokens, count(tokens) / 2, count(tokens)); }

}  // namespace

std::optional<std::string> refuses_nothing(const Problem&, const Grid&) { return std::nullopt; }

Tokens owned_in_line(const Problem& problem, const Grid& grid, std::int64_t rank) {
  return tokens_of(grid.layout, problem.tokens, grid.token_ranks(), rank);
}

std::optional<Visit> visit(const Problem& problem, const Grid& grid, std::int64_t query_owner, std::int64_t key_owner) {
  const bool later = key_owner > query_owner;
  if (problem.mask == Mask::causal && grid.layout == Layout::contiguous && later) return std::nullopt;
  Visit met{.queries = owned_in_line(problem, grid, query_owner), .keys = owned_in_line(problem, grid, key_owner)};
  if (problem.mask == Mask::causal && grid.layout == Layout::zigzag && query_owner != key_owner) {
    if (later)
      met.queries = second_half(met.queries);
    else
      met.keys = first_half(met.keys);
  }
  return met;
}

}  // namespace cairn::sequence
