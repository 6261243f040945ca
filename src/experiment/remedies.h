// Settings that need less memory: what a plan that does not fit may be changed to.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "case.h"

namespace cairn::experiment {

// One change of the strategy; the degree of data parallelism and the number of micro-batches follow from it. Two
// changes of one subject take each other's place; others can be made together.
struct Change {
  enum class Subject : std::uint8_t { tensor, pipeline, micro_batch, sequence, sharding, recompute };
  Subject subject = Subject::tensor;
  std::string setting;  // as --set takes it
  std::function<void(StrategyChoice&)> apply;
};

// Those that may help here; what the model, the schedule or the framework cannot take is found when it is tried.
std::vector<Change> memory_changes(const Case& asked);

}  // namespace cairn::experiment
