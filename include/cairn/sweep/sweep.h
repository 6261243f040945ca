// One experiment with some of its keys varied: what each combination of values gives, and how sensitive the experiment
// itself is to the figures of its machine.
//
// A row is planned and evaluated by itself, by the analytic engine as `cairn run --engine analytic` does, or searched
// for its best layout first (search/search.h). What a row lacks (degrees that do not divide, a value that its key does
// not take) is an error of that row. What the experiment says stays as it is: with the cluster's nodes varied, a global
// batch in the file gives strong scaling, and dp follows from the nodes where the file leaves it out.
//
// Rows share nothing, so any number of threads gives the same answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cairn/config/loader.h"
#include "cairn/config/node.h"
#include "cairn/core/diagnostics.h"
#include "cairn/experiment/job.h"
#include "cairn/hardware/running_costs.h"
#include "cairn/search/search.h"
#include "cairn/sweep/elasticity.h"
#include "cairn/sweep/variation.h"

namespace cairn::sweep {

// How layouts are searched: the strategy of a row is then the best of its space.
struct Layouts {
  std::optional<config::Node> space = {};  // a file of spaces (search/space.h); none: each row's default space
};

struct Request {
  const config::Loader& loader;
  std::string experiment = {};              // as the command line names it
  std::vector<std::string> overrides = {};  // that hold in every row
  std::vector<Variation> variations = {};   // laid over these
  std::optional<Layouts> layouts = {};      // none: the layout is as written
  search::Objective objective = search::Objective::step_time;
  std::size_t threads = 1;
  std::function<bool()> stop = {};  // asked often, by any thread: whether to end with the rows that are done
  std::function<void(std::size_t done, std::size_t of)> progress = {};  // told by one thread at a time
};

// What a search over a row's layouts found.
struct Searched {
  std::vector<std::pair<std::string, std::string>> settings = {};  // of the best; empty: none fits
  std::uint64_t points = 0;
  std::uint64_t evaluated = 0;
  std::optional<core::Picoseconds> lower_bound = {};  // of every layout of the space
  bool complete = true;                               // false: stopped
};

// A row that has a plan.
struct Point {
  predict::Prediction prediction = {};  // without its prices, class floors and stages' memory
  std::int64_t gpus = 1;
  std::int64_t seq_len = 0;
  double tokens = 0.0;  // of a step
  // Of the whole training in batches of so many (scaling_law.h): to the loss of training.tokens in small batches, or of
  // the tokens that are best for the model's parameters; of experts those that a token meets count.
  double training_tokens = 0.0;
  double peak_flops = 0.0;  // of one device [FLOP/s]
  hardware::RunningCosts costs = {};
  std::vector<std::string> warnings = {};

  // What objectives compare, the least is the best; none: no price is known.
  //   step-time  T [s]      tokens-per-gpu  T gpus / tokens [s]      cost, energy  USD, J per token
  //   time-to-train  T training tokens / tokens [s]
  //   fewest-gpus  gpus     longest-sequence  - tokens of a sequence
  std::optional<double> worth(search::Objective objective) const;
};

struct Row {
  std::vector<std::string> values = {};  // parallel to Answer::variations
  std::optional<Point> point = {};
  std::optional<Searched> searched = {};
  std::vector<core::Diagnostic> errors = {};  // why there is no point
};

struct Answer {
  std::string experiment = {};  // its name
  std::vector<Variation> variations = {};
  std::vector<Row> rows = {};                          // in order; where the sweep was stopped, those that were done
  bool complete = true;                                // false: stopped
  std::optional<std::size_t> best = {};                // of the rows that fit, by the objective; of equals the fastest
  std::optional<Elasticities> elasticities = {};       // of the experiment without the variations
  std::vector<core::Diagnostic> no_elasticities = {};  // why there are none
};

// Throws core::ConfigurationError where variations are too many, and where no row can even be read: then what is wrong
// with the first is wrong with the request.
Answer sweep(const Request& request);

}  // namespace cairn::sweep
