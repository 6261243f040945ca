#include "cairn/attention/comparison.h"

#include <algorithm>
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
      fmt::format("{} has no grid of {} ranks with {}", choice.scheme.empty() ? "no scheme" : choice.scheme, ranks,
                  chosen_grid(choice.grid)),
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

// Lists of many ranks take most of the time. All threads make those of the next few places, which are remembered until
// one thread prices and runs them: prices say what they rest on in the order in which they are asked for.
std::size_t places_at_once(const Request& request) {
  constexpr std::size_t k_passes = 2;
  constexpr std::size_t k_steps = 4;  // of a ring, for each rank: a tile, and calls of K, V and of dK, dV
  const std::size_t steps = k_passes * k_steps * static_cast<std::size_t>(request.context_ranks());
  return std::clamp<std::size_t>(sequence::k_remembered_steps / steps, 1, sequence::k_remembered_passes / k_passes / 2);
}

void look_ahead(const Request& request, const Place& place) {
  const sequence::Problem problem = request.problem();
  if (place.scheme->refusal(problem, place.grid)) return;
  group_pass(*place.scheme, problem, place.grid, sequence::Pass::forward);
  if (request.backward) group_pass(*place.scheme, problem, place.grid, sequence::Pass::backward);
}

// Schemes that run the same lists under names of their own are evaluated once.
class Evaluated {
 public:
  explicit Evaluated(const Request& request) : evaluation_(request) {}

  // Null where none has been evaluated.
  const Way* find(const Place& place) const {
    const auto known = std::find_if(ways_.begin(), ways_.end(), [&](const Way& way) {
      return way.scheme->list == place.scheme->list && way.scheme->refusal == place.scheme->refusal &&
             way.grid == place.grid;
    });
    return known == ways_.end() ? nullptr : &*known;
  }
  void add(const Place& place) {
    const Way* known = find(place);
    Way way = known == nullptr ? evaluation_.of(*place.scheme, place.grid) : *known;
    way.scheme = place.scheme;
    ways_.push_back(std::move(way));
  }
  std::vector<Way> take() { return std::move(ways_); }
  Evaluation& evaluation() { return evaluation_; }

 private:
  Evaluation evaluation_;
  std::vector<Way> ways_;
};

void order(std::vector<Way>& ways) {
  std::stable_sort(ways.begin(), ways.end(), [](const Way& a, const Way& b) {
    return a.stands() != b.stands() ? a.stands() : a.stands() && a.total() < b.total();
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
  Evaluated evaluated(request);
  const std::vector<Place> places = asked_for(request);
  const std::size_t at_once = places_at_once(request);
  for (std::size_t begin = 0; begin < places.size(); begin += at_once) {
    const std::span next = std::span(places).subspan(begin, std::min(at_once, places.size() - begin));
    core::work_on_all(next.size(), core::threads(0), {}, [&](std::size_t i) {
      if (evaluated.find(next[i]) == nullptr) look_ahead(request, next[i]);
    });
    for (const Place& place : next) evaluated.add(place);
  }
  result.ways = evaluated.take();
  Evaluation& evaluation = evaluated.evaluation();
  if (result.ways.empty()) refuse_choice(request);
  order(result.ways);
  result.bound_bytes = {.forward = evaluation.bound_bytes(AttentionPass::forward),
                        .backward = request.backward ? evaluation.bound_bytes(AttentionPass::backward) : 0.0};
  result.assumptions = evaluation.assumptions();
  result.warnings = evaluation.warnings();
  return result;
}

}  // namespace cairn::attention
