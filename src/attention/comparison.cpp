#include "cairn/attention/comparison.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/core/workers.h"
#include "cairn/sequence/group.h"
#include "evaluation.h"

namespace cairn::attention {
namespace {

using pebble::AttentionPass;

std::string chosen_grid(const sequence::AskedGrid& choice) {
  std::string words;
  const auto add = [&](std::string_view format, std::int64_t value) {
    words += fmt::format(fmt::runtime(format), words.empty() ? "" : ", ", value);
  };
  if (choice.sides) words = fmt::format("{} x {} ranks", choice.sides->rows, choice.sides->columns);
  if (choice.head_ranks) add("{}{} ranks that split heads", *choice.head_ranks);
  if (choice.token_ranks) add("{}{} ranks that share tokens", *choice.token_ranks);
  if (choice.window) add("{}windows of {} ranks", *choice.window);
  return words;
}

std::vector<const sequence::Scheme*> chosen_schemes(const Choice& choice) {
  if (!choice.scheme.empty()) return {&sequence::scheme(choice.scheme)};
  std::vector<const sequence::Scheme*> all;
  for (const sequence::Scheme& each : sequence::schemes()) all.push_back(&each);
  return all;
}

[[noreturn]] void refuse_choice(const Request& request) {
  const Choice& choice = request.choice;
  const std::int64_t ranks = request.context_ranks();
  std::string known;
  if (!choice.scheme.empty()) {
    constexpr std::size_t k_shown = 8;
    const std::vector<sequence::Grid> grids = sequence::scheme(choice.scheme).grids(ranks);
    for (std::size_t i = 0; i < std::min(k_shown, grids.size()); ++i)
      known += fmt::format("{}{}", i == 0 ? "it stands in " : "; ", sequence::text(grids[i]));
    if (grids.size() > k_shown) known += "; ...";
  }
  throw core::ConfigurationError(
      "request.choice",
      fmt::format("{} grid of {} ranks with {}", choice.scheme.empty() ? "no scheme has a" : choice.scheme + " has no",
                  ranks, chosen_grid(choice.grid)),
      known.empty() ? fmt::format("let rows x columns x ranks that split heads make up {}", ranks) : known);
}

struct Place {
  const sequence::Scheme* scheme = nullptr;
  sequence::Grid grid = {};
};

std::vector<Place> asked_for(const Request& request) {
  std::vector<Place> all;
  for (const sequence::Scheme* scheme : chosen_schemes(request.choice))
    for (const sequence::Grid& grid : scheme->grids(request.context_ranks()))
      if (request.choice.grid.agrees(grid)) all.push_back({.scheme = scheme, .grid = grid});
  return all;
}

// Schemes that run the same lists are evaluated once. What one of them takes in a grid of its own, the others do too.
const Way* same_lists(const std::vector<Way>& ways, const Place& place) {
  const auto known = std::find_if(ways.begin(), ways.end(), [&](const Way& way) {
    return way.stands() && way.scheme->list == place.scheme->list && way.grid == place.grid;
  });
  return known == ways.end() ? nullptr : &*known;
}

// As many as have their lists remembered while they are lowered.
std::size_t places_at_once(const Request& request) {
  constexpr std::size_t k_passes = 2;
  constexpr std::size_t k_steps = 4;  // of a ring, for each rank: a tile, and calls of K, V and of dK, dV
  const std::size_t steps = k_passes * k_steps * static_cast<std::size_t>(request.context_ranks());
  return std::clamp<std::size_t>(sequence::k_remembered_steps / steps, 1, sequence::k_remembered_passes / k_passes);
}

// Lowering takes most of the time: all threads lower the next few places. One prices them, since prices say what they
// rest on in the order in which they are asked for.
std::vector<Way> evaluated(const std::vector<Place>& places, std::size_t at_once, Evaluation& evaluation) {
  std::vector<Way> ways;
  for (std::size_t begin = 0; begin < places.size(); begin += at_once) {
    const std::span next = std::span(places).subspan(begin, std::min(at_once, places.size() - begin));
    std::vector<Evaluation::Lowered> lowered(next.size());
    // Ranks that split heads have the same lists where they are consecutive as elsewhere: those grids come first.
    std::vector<std::size_t> turns(next.size());
    std::iota(turns.begin(), turns.end(), std::size_t{0});
    std::stable_partition(turns.begin(), turns.end(), [&](std::size_t i) { return next[i].grid.heads_inner; });
    core::work_on_all(next.size(), core::threads(0), {}, [&](std::size_t turn) {
      const std::size_t i = turns[turn];
      if (same_lists(ways, next[i]) == nullptr) lowered[i] = evaluation.lowered(*next[i].scheme, next[i].grid);
    });
    for (std::size_t i = 0; i < next.size(); ++i) {
      const Way* known = same_lists(ways, next[i]);
      Way way = known != nullptr ? *known : evaluation.priced(std::move(lowered[i]));
      way.scheme = next[i].scheme;
      ways.push_back(std::move(way));
    }
  }
  return ways;
}

void order(std::vector<Way>& ways) {
  std::stable_sort(ways.begin(), ways.end(), [](const Way& a, const Way& b) {
    return a.stands() != b.stands() ? a.stands() : a.stands() && a.total() < b.total();
  });
}

void add_links(Comparison& comparison, const Request& request) {
  if (request.context_ranks() > k_most_linked) return;
  const std::vector<std::size_t> shown = comparison.shown();
  core::work_on_all(shown.size(), core::threads(0), {}, [&](std::size_t i) {
    Way& way = comparison.ways[shown[i]];
    if (way.stands())
      way.links = link_loads(request.network, request.tensor_ranks, *way.scheme, comparison.problem, way.grid,
                             comparison.backward);
  });
}

}  // namespace

std::vector<std::size_t> Comparison::shown() const {
  std::vector<std::size_t> all;
  std::set<const sequence::Scheme*> seen;
  for (std::size_t i = 0; i < ways.size(); ++i)
    if (one_scheme || seen.insert(ways[i].scheme).second) all.push_back(i);
  return all;
}

void prove(Comparison& comparison) {
  for (const std::size_t i : comparison.shown()) {
    Way& way = comparison.ways[i];
    if (way.stands()) way.proof = prove(*way.scheme, way.grid, comparison.problem, comparison.backward);
  }
}

Comparison compare(const Request& request) {
  check(request);
  Comparison result{.problem = request.problem(),
                    .gpus = request.network.gpus(),
                    .tensor_ranks = request.tensor_ranks,
                    .backward = request.backward,
                    .one_scheme = !request.choice.scheme.empty()};
  Evaluation evaluation(request);
  result.ways = evaluated(asked_for(request), places_at_once(request), evaluation);
  if (result.ways.empty()) refuse_choice(request);
  order(result.ways);
  add_links(result, request);
  result.bound_bytes = {.forward = evaluation.bound_bytes(AttentionPass::forward),
                        .backward = request.backward ? evaluation.bound_bytes(AttentionPass::backward) : 0.0};
  result.assumptions = evaluation.assumptions();
  result.warnings = evaluation.warnings();
  return result;
}

}  // namespace cairn::attention
