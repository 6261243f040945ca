#include "paired_rows.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "segments.h"

namespace cairn::pebble {
namespace {

long double most_pairs(const PairedRows& rows, Words fast, Words transfers) {
  const auto s = static_cast<long double>(fast), t = static_cast<long double>(transfers);
  const auto product = static_cast<long double>(rows.query_words) * static_cast<long double>(rows.key_words);
  long double most = 0.0L;
  for (const long double loads : {0.0L, t}) {
    const long double words = s + loads;
    most = std::max({most, words * words / (4.0L * product) + s + t - loads, words + s + t - loads});
  }
  return most;
}

}  // namespace

LowerBound paired_rows_bound(const PairedRows& rows, Words fast) {
  const Words with_zero = fast + 1;
  const Segments all = best_segments(rows.pairs, with_zero, [&](Words t) { return most_pairs(rows, with_zero, t); });
  LowerBound bound;
  bound.games = GameSet::with_rules(Rules::red_blue_white);
  bound.method = "whole pairs of rows, by what " + std::to_string(all.transfers) + " transfers in a row allow";
  bound.assumptions = {"one running sum per score and per element of a result, in any order"};
  bound.parts = {{.what = "rows, sums and cut pairs", .words = all.words},
                 {.what = k_beginnings_taken_off, .words = -rows.results}};
  bound.words = all.words - rows.results;
  if (bound.words < 0) {
    bound.parts.push_back({.what = "not below zero", .words = -bound.words});
    bound.words = 0;
  }
  return bound;
}

LowerBound summed_steps_bound(const SummedSteps& work, Words fast) {
  LowerBound bound;
  bound.games = GameSet::all();
  bound.method = "steps of running sums, values made again";
  bound.assumptions = {"one running sum per score and per element of a result, in any order"};
  constexpr long double k_rounded = 1.0L + 1e-12L;
  for (Words transfers = std::max<Words>(1, fast / 4); transfers <= 8 * fast;
       transfers += std::max<Words>(1, fast / 4)) {
    const Words hand = fast + transfers;
    const auto w = static_cast<long double>(hand), d = static_cast<long double>(work.width);
    const long double most =
        std::max(w * w / (work.spread * d * d), 2.0L * static_cast<long double>(work.sums) * w) * k_rounded;
    const auto steps = static_cast<long double>(work.steps(hand / work.width));
    const Words words =
        transfers * static_cast<Words>(std::max(0.0L, std::ceil(steps / most * (2.0L - k_rounded)) - 1.0L));
    if (words <= bound.words) continue;
    bound.words = words;
    bound.method =
        "steps of running sums, values made again, by what " + std::to_string(transfers) + " transfers in a row allow";
  }
  bound.parts = {{.what = "transfers of the full stretches", .words = bound.words}};
  return bound;
}

}  // namespace cairn::pebble
