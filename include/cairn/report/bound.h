// What `cairn bound` answers: the provable bracket of a computation's data movement, as JSON (cairn.bound/1) and as text.
//
//   intensity = operations / bytes of the lower bound: no schedule does more operations per byte moved      [FLOP/B]
//   balance   = peak rate / memory bandwidth of an accelerator, where one is named                          [FLOP/B]
// A computation whose intensity lies below the balance is limited by memory there, whatever its schedule.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cairn/pebble/bound.h"
#include "cairn/pebble/exact.h"
#include "cairn/report/run.h"

namespace cairn::report {

struct BoundMachine {
  std::string name;
  double bytes_per_s = 0.0;
  std::optional<double> flop_per_s;  // of matrix products in the words' format
};

// Least-recently-used traffic of a trace, as it ran and reordered. [words]
struct LocalityRow {
  pebble::Words fast = 0;
  pebble::Words before = 0;
  pebble::Words after = 0;
};

struct BoundAnswer {
  std::string what;
  pebble::Words fast = 0;
  pebble::Game game;
  std::string format;           // of a word
  double bytes_per_word = 0.0;
  double operations = 0.0;      // FLOP, or vertices of a graph
  std::vector<pebble::LowerBound> lower;  // every one at hand in this game; at least one
  std::optional<pebble::UpperBound> upper;
  std::optional<pebble::ExactResult> exact;  // when it was asked for
  std::vector<std::string> asymptotic;       // leading terms, one for each contraction
  std::optional<BoundMachine> machine;
  std::vector<LocalityRow> locality;

  const pebble::LowerBound& best() const;
  // The better of the method's bound and what the exact search proved.
  pebble::Words lower_words() const;
  // Of the cheapest play known: the exact search's, else the upper bound's.
  std::optional<pebble::PlayCost> play() const;
};

std::string json(const BoundAnswer& answer, const Tool& tool, int indent = 2);
std::string text(const BoundAnswer& answer, const TextStyle& style = {});

}  // namespace cairn::report
