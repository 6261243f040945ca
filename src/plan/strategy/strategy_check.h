#pragma once

#include "cairn/core/diagnostics.h"
#include "cairn/ir/model.h"
#include "cairn/plan/strategy.h"

namespace cairn::plan {

core::ConfigurationError wrong(const char* key, std::string message, std::string hint);

// Throws core::ConfigurationError for settings that contradict each other or the model.
void check(const Strategy& strategy, const ir::Model& model);
// `virtual_stages`: that a micro-batch passes.
void check_stages(const Strategy& strategy, std::int64_t virtual_stages);
// The same for how experts are spread over the ranks.
void check_expert_mesh(const Strategy& strategy);

}  // namespace cairn::plan
