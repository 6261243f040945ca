// Tasks of a graph that also take shares of resources while they run: processor shares, memory bandwidth, links.
//
//   task t at full speed takes duration(t) and a_lt of resource l per second; it runs at speed x_t <= 1 such that
//   sum over t of a_lt x_t <= C_l, max-min in x_t / w_t (cairn/sim/fair_share.h), and ends when its speeds since its
//   start add up to its duration. A task without demands runs at full speed.
//
// With equal weights tasks slow each other down by the same factor, as kernels on one memory do. Transfers that share
// links by equal rates instead of equal slowing have w_t = 1 / their rate alone.
//
// Where resources suffice, ends are those of run_events, bit for bit, for durations below 2^51 ps (37 minutes).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cairn/sim/fair_share.h"
#include "cairn/sim/flows.h"
#include "cairn/sim/task_graph.h"

namespace cairn::sim {

struct SharedResources {
  std::vector<double> capacity;             // [units/s] by resource, > 0, finite
  std::vector<std::uint32_t> demand_begin;  // tasks + 1 offsets into demands
  std::vector<Demand> demands;              // of each task: every resource at most once; amount [units/s] at full speed
  std::vector<double> weight;               // by task, > 0, finite; empty: all 1
  std::vector<CapacityChange> changes;      // in any order; the link is the resource

  std::span<const Demand> of(TaskId task) const {
    return std::span(demands).subspan(demand_begin[task], demand_begin[task + 1] - demand_begin[task]);
  }
};

// Event loop over both. Serves arrival-order resources as run_events does; what ends at one instant frees its resources
// before any share is computed anew. Throws core::ConfigurationError: as run_events, demands that are not positive or
// of resources that do not exist, capacities that are not positive, tasks that a stopped resource never lets end.
TaskTimes run_shared_events(const TaskGraph& graph, const SharedResources& resources, TaskObserver* observer = nullptr);

}  // namespace cairn::sim
