#pragma once

#include <optional>

#include "cairn/core/diagnostics.h"
#include "cairn/ir/model.h"
#include "cairn/plan/strategy.h"

namespace cairn::plan {

core::ConfigurationError wrong(const char* key, std::string message, std::string hint);

// What context parallelism finds in the model.
struct Sequences {
  bool any = false;
  bool attends = false;    // some operator is attention, which schemes share
  std::string unshared{};  // what needs tokens of other ranks in a way that no scheme shares; empty: nothing
};

// Checks strategies against one model, which must outlive it. What it needs of the model is computed once.
class StrategyCheck {
 public:
  explicit StrategyCheck(const ir::Model& model) : model_(model), body_layers_(model.body_layers()) {}

  // Throws core::ConfigurationError for settings that contradict each other or the model.
  void check(const Structure& structure);

 private:
  void check_context(const Structure& structure);
  void check_recompute(const Structure& structure) const;

  const ir::Model& model_;
  std::int64_t body_layers_;
  std::optional<Sequences> sequences_;
};

// Checks stage_layers; `virtual_stages`: how many of them a micro-batch passes.
void check_stages(const Structure& structure, std::int64_t virtual_stages);
// Checks the degrees of expert parallelism.
void check_expert_mesh(const Structure& structure);

}  // namespace cairn::plan
