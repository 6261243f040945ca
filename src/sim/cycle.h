// Names the cycle that kept tasks from running.
#pragma once

#include <cstdint>
#include <span>

#include "cairn/sim/task_graph.h"

namespace cairn::sim {

// remaining: predecessors that never ended, by task; some are above 0. Throws core::ConfigurationError.
[[noreturn]] void raise_cycle(const TaskGraph& graph, std::span<const std::uint32_t> remaining);

// Number of predecessors of every task.
std::vector<std::uint32_t> predecessor_counts(const TaskGraph& graph);

}  // namespace cairn::sim
