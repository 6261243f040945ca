// The boxes of a space, worked on one at a time: plans that have the values of the axes of a level in common.
//
// A box is found by the conditions that its values meet; it is bounded by what its layers take; it is divided into boxes of
// one pipeline each, with bounds of their own; and of those every plan is made, its memory compared and its time computed.
// What is found of a box depends on nothing but the box, so any number of explorers may share a space.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cairn/core/time.h"
#include "cairn/experiment/trials.h"
#include "cairn/search/certificate.h"
#include "cairn/search/search.h"
#include "cairn/search/space.h"

namespace cairn::search {

struct Box {
  enum class State : std::uint8_t {
    found,    // by its layers: nothing is known of it
    layers,   // bounded by what its layers take
    pipeline  // bounded by its pipeline: the next is to compute its plans
  };
  core::Picoseconds bound = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 1;
  State state = State::found;
  std::vector<std::uint64_t> twins = {};  // first points of other boxes of the very same plans

  // Whether it is taken later.
  friend bool operator<(const Box& a, const Box& b) {
    return a.bound != b.bound ? a.bound > b.bound : a.first > b.first;
  }
};

// A plan that was computed, as far as its tensors fit.
struct Computed {
  std::uint64_t point = 0;
  core::Picoseconds time = 0;
  double least_memory = 0.0;  // Trials::least_memory()
};

// A plan that does not fit by Trials::memory_floor() alone.
struct TooLarge {
  std::uint64_t point = 0;
  double memory_floor = 0.0;
};

// Points that are no plans, by reason.
using Refusals = std::map<std::pair<CellKind, std::string>, Refusal>;
void merge(const Refusals& from, Refusals& into);

struct Findings {
  std::vector<Box> boxes = {};           // what a box was divided into, or itself with a bound
  std::vector<Cell> cells = {};          // of points that are done with
  std::vector<Computed> computed = {};   // ascending; their points are in no cell
  std::vector<TooLarge> too_large = {};  // ascending; their points are in cells, but they are not refused yet
  Refusals refusals = {};
};

class Explorer {
 public:
  explicit Explorer(const Request& request);

  // The boxes of the space.
  Findings found();
  Findings explored(const Box& box);

  experiment::StrategyChoice choice_of(std::uint64_t point) const;
  // Keys and values.
  std::vector<std::pair<std::string, std::string>> settings_of(std::uint64_t point) const;
  // The point with every minor axis at its first value: the kind of its plan.
  std::uint64_t kind_of(std::uint64_t point) const;
  // The point with every axis at its first value but those that decide what the steps of a layer are. Whoever has
  // explored a box remembers these steps and their prices for every box of the same layers.
  std::uint64_t layers_of(std::uint64_t point) const;
  // Counts a plan that needs so much.
  void refuse_memory(std::uint64_t point, double memory, Refusals& refusals) const;
  // The same of a plan whose memory was not computed; it is where the plan may lack less than all of `refusals`.
  void refuse_too_large(const TooLarge& plan, Refusals& refusals);
  experiment::Trials& trials() { return trials_; }

 private:
  void walk(std::size_t depth, std::size_t end, experiment::StrategyChoice& choice, std::uint64_t first);
  bool meets(std::size_t depth, const experiment::StrategyChoice& choice, std::uint64_t first);
  const Condition* broken_condition(std::size_t from, std::size_t to, const experiment::StrategyChoice& choice) const;
  template <class Make>
  bool legal(Make make, std::uint64_t point, Cell* cell);
  bool make_structure(const experiment::StrategyChoice& choice, std::uint64_t first, Cell* cell);
  bool make_leaf(std::uint64_t point, experiment::StrategyChoice& choice, Cell* cell);
  std::optional<std::uint64_t> first_leaf(std::uint64_t first, experiment::StrategyChoice& choice);

  void bound(const Box& box);
  void divide(const Box& box);
  void frame(experiment::StrategyChoice& choice, std::uint64_t first);
  void compute(const Box& box);
  void compute_plan(Cell& cell, bool& may_fit);
  core::Picoseconds least_work();
  Box* twin_of(std::uint64_t first);

  std::uint64_t digit(std::uint64_t point, std::size_t axis) const;
  void apply(std::uint64_t point, std::size_t from, experiment::StrategyChoice& choice) const;
  Refusal& refuse(CellKind kind, const std::string& reason, std::uint64_t count, std::uint64_t point,
                  const std::string& example = {});
  void add(const Cell& cell);

  const Space& space_;
  const Subject& subject_;
  const std::function<bool()>& stop_;
  experiment::Trials trials_;
  std::vector<std::uint64_t> strides_;  // of the number of a point, by axis
  std::size_t layer_axes_ = 0;          // those of the first level
  std::size_t frame_axes_ = 0;          // and of the second
  std::uint64_t leaves_ = 1;            // points of one pipeline
  std::vector<std::vector<const Condition*>> conditions_by_depth_;
  // Of the box under way:
  core::Picoseconds least_ = 0;
  std::map<std::uint64_t, std::vector<std::pair<std::size_t, std::vector<std::int64_t>>>> divided_;
  Findings findings_;
};

}  // namespace cairn::search
