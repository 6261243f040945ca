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
  const Tokens queries = owned_in_line(problem, grid, query_owner), keys = owned_in_line(problem, grid, key_owner);
  const auto met = [](const Tokens& of_queries, const Tokens& of_keys) {
    return std::optional<Visit>{{.queries = of_queries, .keys = of_keys}};
  };
  if (problem.mask == Mask::full || grid.layout == Layout::striped || query_owner == key_owner)
    return met(queries, keys);
  const bool later = key_owner > query_owner;
  if (grid.layout == Layout::contiguous) return later ? std::nullopt : met(queries, keys);
  return later ? met(second_half(queries), keys) : met(queries, first_half(keys));
}

}  // namespace cairn::sequence
