// A space of plans: for each key of a strategy the values it may take, and conditions that a plan must meet.
//
//   space:
//     tp: [1, 2, 4, 8]              # values, of any form that the key takes
//     pp: 1..16                     # a range; 1..16*2 doubles
//     micro_batch: divisors         # those of the batch; of degrees, of the number of devices
//     schedule: [1f1b, {kind: interleaved-1f1b, chunks: 2..8}]    # ranges in a map are spread out
//   constraints: ["tp * pp <= 64", "recompute == 'none' or zero == 1"]
//   fixed: {vocab_parallel: false}  # other keys of the strategy; those left out are the experiment's
//   objective: step-time
//
// Points are numbered: the first axis is the slowest. So a choice of values of the first axes is a range of numbers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/config/fields.h"
#include "cairn/config/node.h"
#include "cairn/experiment/settings.h"
#include "cairn/search/expression.h"

namespace cairn::search {

enum class Objective : std::uint8_t {
  step_time,
  tokens_per_gpu,
  cost,
  energy,
  time_to_train,
  fewest_gpus,
  longest_sequence
};
const config::Choices<Objective>& objectives();
std::string_view name(Objective objective);
// Whether it asks how small or how large the experiment itself may be, at which the plan of the shortest step is shown
// (sweep/extent.h).
constexpr bool is_extent(Objective objective) { return objective >= Objective::fewest_gpus; }

// What a space is about, as far as its values and conditions depend on it.
struct Subject {
  std::int64_t gpus = 1;
  std::int64_t gpus_per_node = 1;
  std::int64_t layers = 1;
  std::int64_t batch = 1;    // sequences
  std::int64_t tokens = 1;   // of a sequence
  std::int64_t experts = 0;  // 0: none
  // What the framework does.
  bool sequence_parallel = true;
  bool selective_recompute = true;
  bool interleaved = true;
  std::int64_t zero = 1;  // highest stage
};

struct AxisValue {
  std::string text;                   // as the key takes it
  experiment::StrategyChoice choice;  // holds it
};

// What of a plan a key decides: steps of layers (and what other keys may mean), how passes of layers become a pipeline,
// or only what is exchanged over dp and between stages.
enum class Level : std::uint8_t { layers, pipeline, exchanges };

struct Axis {
  std::string key;  // of the strategy
  std::vector<AxisValue> values;
  void (*copy)(const experiment::StrategyChoice& from, experiment::StrategyChoice& to) = nullptr;
  Level level = Level::layers;
  // Whether plans that differ in nothing but this key count as the same kind of plan.
  bool minor = false;
};

struct Condition {
  Expression expression;
  bool built_in = false;  // holds of every plan
};

struct Space {
  experiment::StrategyChoice fixed = {};
  std::vector<Axis> axes = {};  // the slowest first, level by level
  std::vector<Condition> conditions = {};
  std::optional<Objective> objective = {};

  std::uint64_t points() const;
  // How many points have the same values of the first `axes`.
  std::uint64_t below(std::size_t axes) const;
};

// A space as its file says it.
struct SpaceFile {
  config::Node space = {};
  config::Node constraints = {};
  config::Node fixed = {};
  std::optional<Objective> objective = {};
};
void describe(config::Fields& fields, SpaceFile& file);

// `fixed`: the strategy of the experiment. Throws core::ConfigurationError with everything wrong in `node`, each at its
// line and column.
Space read_space(const config::Node& node, const experiment::StrategyChoice& fixed, const Subject& subject);
inline constexpr std::int64_t k_long_sequence = 8192;  // tokens
// Every legal degree inside a node, pipelines, micro-batches, schedules and what else the framework does, as a file; of
// sequences of more than k_long_sequence tokens also ranks that share them, half as many tokens each at the least.
std::string default_space(const Subject& subject);
// The same, read.
config::Node default_space_tree(const Subject& subject);

// What conditions may read, and the values of a strategy.
inline constexpr std::size_t k_variables = 17;
const std::array<Variable, k_variables>& variables();
std::array<VariableValue, k_variables> values_of(const experiment::StrategyChoice& choice, const Subject& subject);
// Whether the variable of that position depends on a key of the strategy.
bool depends(std::size_t variable, std::string_view key);

}  // namespace cairn::search
