// Everything a run reports about one plan, with its parts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cairn/hardware/allocator.h"
#include "cairn/hardware/cluster.h"
#include "cairn/ir/model.h"
#include "cairn/predict/account/breakdown.h"
#include "cairn/predict/account/causes.h"
#include "cairn/predict/account/expert_exchange.h"
#include "cairn/predict/account/memory.h"
#include "cairn/predict/bounds/class_floors.h"
#include "cairn/predict/bounds/lower_bounds.h"
#include "cairn/predict/evaluate/analytic.h"
#include "cairn/predict/evaluate/event.h"
#include "cairn/predict/evaluate/timeline.h"
#include "cairn/predict/price/cost_pricer.h"

namespace cairn::predict {

enum class Engine : std::uint8_t { analytic, event, both };

// Communication of the rank that sends most, over one step, by label (tp, dp, ...). [bytes]
struct Volume {
  double sent = 0.0;
  double received = 0.0;
  double scale_up = 0.0;
  double scale_out = 0.0;
};

// What the same rank copies between device, host and drives in one step. [bytes]
struct Copies {
  double to_device = 0.0;
  double to_host = 0.0;
  double from_storage = 0.0;
  double to_storage = 0.0;
};

struct MemoryReport {           // [bytes]
  double allocated_peak = 0.0;  // each peak is of the fullest stage; StageMemory says what it counts
  double reserved_peak = 0.0;
  double device_peak = 0.0;
  double capacity = 0.0;  // device memory that processes can have
  double host = 0.0;      // offloaded state and activations in host memory, of the fullest node
  double host_capacity = 0.0;
  double storage = 0.0;                 // the same on the drives of the fullest node
  double storage_capacity = 0.0;        // 0: unlimited
  double off_device_activations = 0.0;  // the activations among `host` or `storage`, of the node that has most of them
  std::int32_t peak_stage = 0;
  std::vector<StageMemory> stages;
  double headroom() const { return capacity - device_peak; }  // negative: so much is missing
};

struct PriceLine {       // one distinct kernel, transfer or copy of the stage that ends last
  std::string name;      // operator or transfer
  std::string detail;    // shape or bytes
  double time_s = 0.0;   // predicted, of one execution
  double floor_s = 0.0;  // lower bound of one execution
  double total_s = 0.0;  // time_s times its executions in the step
};

struct Prediction {
  bool fits = true;
  core::Picoseconds time = 0;  // of the preferred engine: event where it ran, else analytic
  Makespan analytic;
  std::optional<EventResult> event;
  Breakdown breakdown;  // of the rank that ends last
  Causes causes;        // the same step time, split as the stage sees it that holds the others up
  PassTimes passes;     // of one rank of each stage; only with PredictionInput::passes
  MemoryReport memory;
  std::array<Volume, program::k_axes> volumes{};
  Copies copies;
  Bounds plan_bounds;
  Bounds problem_bounds;
  double hardware_flops = 0.0;  // FLOPs of a step that contractions of all ranks execute, with recomputation (HFU)
  // Model FLOPs of a step = 3 x ir::Model::forward_flops, with full attention or its unmasked pairs alone (MFU).
  double model_flops = 0.0;
  double model_flops_causal = 0.0;
  std::vector<PriceLine> prices;         // most expensive first
  std::vector<ClassFloor> class_floors;  // of the stage that ends last
  std::optional<ExpertExchange> expert_exchange;
};

// The memory that a plan may use, and what takes of it beside tensors.
struct MemoryLimits {
  hardware::Allocator allocator;
  double library_bytes = 0.0;          // that libraries hold all the time, from the allocator
  std::optional<hardware::Host> host;  // of one node
  std::int64_t gpus_per_node = 1;
  double process_bytes = 0.0;   // device memory of the process beside its tensors: context, communicators
  double capacity_bytes = 0.0;  // device memory that processes can have
};
// The allocator is played for the fullest stage (predict/account/allocator_replay.h); the others are taken to waste as
// much. `timelines`: one for each stage, to report memory over time; empty: peaks alone.
MemoryReport memory_report(const program::Program& program, const MemoryLimits& limits,
                           std::span<const StageTimeline> timelines = {});

struct PredictionInput {
  const program::Program& program;
  const ir::Model& model;
  loopnest::Sizes sizes;  // of one micro-batch on one rank
  std::int64_t micro_batches = 1;
  std::int64_t data = 1;
  CostPricer& pricer;
  PriceTable& prices;
  Analytic& analytic;
  Engine engine = Engine::both;
  EventOptions event;
  MemoryLimits memory;
  DeviceLimits limits;
  Detail detail = Detail::causes;  // with less, Prediction has no prices, class_floors and expert_exchange either
  bool passes = false;             // Prediction::passes
};

// Whether device, host and drives all have room for what the plan puts there.
bool fits(const MemoryReport& report);
// Whether device memory fits with less than k_tight_share of the capacity to spare, so that a real run may run out.
// Predicted peaks have a median error of 11 % over 687 measured ones (Ultra-Scale Playbook), 6 % over 9 (torchtitan),
// 2 % over 8 (Korthikanti 2022); `cairn validate`, 2026-11. The share is chosen between these, not fitted.
inline constexpr double k_tight_share = 0.05;
bool tight(const MemoryReport& report);

// Step time = max( end of the last step of all ranks, Bounds::links ): transfers that overlap are priced as if each had
// its links to itself, and where the busiest links need longer than that for all of them together, the step waits for
// the links (Breakdown::links). The same of either engine, so that they still agree in every picosecond.
Prediction predict(const PredictionInput& input);
// The step time alone, by the analytic engine. [ps]
core::Picoseconds step_time(const program::Program& program, Analytic& analytic, CostPricer& pricer);

}  // namespace cairn::predict
