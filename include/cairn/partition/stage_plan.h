// A chain of layers cut into the stages of a pipeline, each on a submesh of devices of its own, so that a step of B
// micro-batches takes least:
//
//   T = sum over stages of t_s + (B - 1) max over stages of t_s
//
// Every layer is in one stage, a stage holds consecutive layers, and the sizes of the submeshes add up to the number of
// devices exactly. F(s, k, d; t) is the least sum of s stages of layers k.. on d devices, none of them slower than t:
//
//   F(s, k, d; t) = min over last layers i and submeshes m with time(k..i, m, s) <= t
//                   of time(k..i, m, s) + F(s - 1, i + 1, d - devices(m); t)
//   T* = min over t and s of F(s, 0, D; t) + (B - 1) t, over the times t of the stages that fit their memory
//
// A stage with s stages from it to the end, itself counted, holds min(s, B) micro-batches in 1F1B, so that the same
// layers can fit late in the pipeline and not early:
//
//   memory = resident + min(s, B) per_micro_batch <= capacity
//
// Example: three layers of 3, 1 and 2 ps on two devices, submeshes of one device, B = 4. The cut 3 | 1 2 takes
// 3 + 3 + 3*3 = 15 ps, the cut 3 1 | 2 takes 4 + 2 + 3*4 = 18 ps: T* = 15 ps.
//
// Exact where epsilon is 0: times are whole picoseconds. Otherwise T <= T* + (B - 1) epsilon.
// Source: L. Zheng et al., "Alpa: Automating Inter- and Intra-Operator Parallelism for Distributed Deep Learning",
// OSDI 2022 (arXiv 2201.12023), section 5: the recurrence, the candidates in ascending order and the shapes of
// submeshes. Ours: no stage holds more than the B micro-batches that there are; the search begins at the least t with
// which everything fits and ends where the least sum of any stages leaves no room below the best T; of times within
// epsilon of one another the largest is tried, not the first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cairn/core/time.h"

namespace cairn::partition {

struct Submesh {
  std::string name;  // 2x8: two nodes of eight devices
  std::int64_t devices = 1;
};

// Alpa's shapes: parts of one node with 1, 2, 4, ... devices, one node, and several whole nodes. Shapes that add up to
// all devices can always be laid out on the nodes where `devices_per_node` is a power of two; elsewhere the caller must
// see to it.
// Errors: ConfigurationError, key "nodes" or "devices_per_node", below 1 or above k_most_devices in all.
std::vector<Submesh> submesh_shapes(std::int64_t nodes, std::int64_t devices_per_node);

// One stage that the search asks the price of.
struct StageShape {
  std::int64_t first = 0;      // the first layer in it, from 0
  std::int64_t last = 0;       // the last layer in it
  std::size_t submesh = 0;     // index into StageProblem::submeshes
  std::int64_t remaining = 1;  // stages from this one to the end of the pipeline, itself counted
};

struct StageCost {
  core::Picoseconds time = 0;        // of one micro-batch, forward and backward, >= 0
  std::int64_t resident = 0;         // bytes of each device whatever the schedule: parameters, their states, >= 0
  std::int64_t per_micro_batch = 0;  // bytes of each device for every micro-batch that waits for its backward, >= 0
};

// Empty where the submesh cannot run these layers at all. It is asked at most once for each stage.
using StagePrice = std::function<std::optional<StageCost>(const StageShape&)>;

struct StageProblem {
  std::int64_t layers = 1;
  std::int64_t devices = 1;
  std::int64_t micro_batches = 1;
  std::int64_t capacity = 0;  // bytes of each device
  std::vector<Submesh> submeshes;
};

struct PlannedStage {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::size_t submesh = 0;
  core::Picoseconds time = 0;
};

struct StagePlan {
  std::vector<PlannedStage> stages;  // in the order of the layers
  core::Picoseconds sum = 0;         // of the times of the stages
  core::Picoseconds bottleneck = 0;  // the longest of them
  core::Picoseconds total = 0;       // T = sum + (B - 1) bottleneck
  std::size_t tried = 0;             // recurrences solved, one for each t
};

inline constexpr std::int64_t k_most_devices = 1'000'000;
// Numbers of 8 bytes that are remembered at once: prices of stages, and sums of the recurrence.
inline constexpr double k_most_stage_prices = 2e7;

// Throws core::ConfigurationError with the key of the field that is out of range; `layers` where there would be too much
// to remember.
void require_stage_problem(const StageProblem& problem);

// The fastest plan, or nothing where no plan fits. Of equally fast plans: the one found at the least t, there with the
// fewest stages, and the earliest last layer and submesh first.
// `epsilon` [ps]: of stage times within epsilon of the least one that was not looked at, only the largest is tried.
// Time: (times tried) * stages * layers^2 * devices * submeshes. Memory: 8 bytes * stages * layers *
// (layers * submeshes + devices).
// Errors: ConfigurationError as require_stage_problem() has them, "stage" for a price below 0 or a pipeline that is longer than simulated time reaches, "epsilon" below 0.
std::optional<StagePlan> plan_stages(const StageProblem& problem, const StagePrice& price,
                                     core::Picoseconds epsilon = 0);

}  // namespace cairn::partition
