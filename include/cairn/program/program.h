// The Program: what is done, on which streams, in which order, holding which buffers. It has no durations.
//
// A Block is a small list of steps in issue order. Each step sits on one stream; a stream runs its steps first in,
// first out; across streams only explicit dependencies order anything. With e(i) the end of step i,
//   start(i) = max( end of the previous step on its stream, e(d) for d in dependencies(i), host ready(i) )
//   e(i)     = start(i) + price(i)
// where the host issues kernels one after the other: host ready(i) = host ready(i-1) + launches(i) x time per launch.
// A dependency points at an earlier step of the block or at the frontier a stream had when the block was entered.
//
// A pass is a run-length list of blocks (one forward or backward of one pipeline chunk); a stage is the rank class that
// executes its passes in the order of its schedule row. Ranks that differ only in their tensor, context or data
// coordinate execute the same steps, so a stage stands for all of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "cairn/ir/graph.h"
#include "cairn/pipeline/schedule.h"
#include "cairn/pipeline/sweep.h"
#include "cairn/program/mesh.h"
#include "cairn/program/pass_order.h"
#include "cairn/program/placement.h"
#include "cairn/program/work.h"

namespace cairn::program {

Stream stream_of(Axis axis);

// The label under which a step of the compute stream is accounted for.
enum class Term : std::uint8_t { compute, recompute, optimizer };

enum class StepKind : std::uint8_t {
  compute,   // a shard of an operator
  transfer,  // a collective or a send
  copy,      // between the memories of one rank
  host,      // work of the host: the thread that issues kernels, or cores that compute
  beside,    // on the compute stream: what a transfer on another stream takes from its kernels
  wait,      // an event wait: takes no time, but later steps of its stream start after its dependencies
};

struct Step {
  StepKind kind = StepKind::wait;
  Stream stream = Stream::compute;
  Term term = Term::compute;
  Axis axis = Axis::tensor;    // transfers, and what they take from kernels: the label
  std::uint16_t launches = 0;  // kernels the host issues for it
  std::uint16_t dependencies = 0;
  std::uint32_t first_dependency = 0;
  std::int32_t work = -1;  // index into the block's works; -1 takes no time
  friend bool operator==(const Step&, const Step&) = default;
};

// >= 0: the end of that step of the block; < 0: the moment at which stream ~dependency was free when the block began.
using Dependency = std::int32_t;
constexpr Dependency entry_of(Stream stream) { return ~static_cast<Dependency>(stream); }

enum class Category : std::uint8_t { parameters, gradients, optimizer, activations, workspace };
inline constexpr std::size_t k_categories = 5;
using CategoryBytes = std::array<double, k_categories>;

// An allocation or a release, right before or after a step in issue order.
struct MemoryEvent {
  std::int32_t step = 0;
  bool after = false;
  Category category = Category::workspace;
  double bytes = 0.0;  // negative: released
  friend bool operator==(const MemoryEvent&, const MemoryEvent&) = default;
};

// Bytes held relative to entry: at exit, and at the highest moment. Sequential composition of (d1, p1) and (d2, p2) is
// (d1 + d2, max(p1, d1 + p2)); n equal ones give (n d, p + max(0, (n-1) d)).
struct MemoryProfile {
  double delta = 0.0;
  double peak = 0.0;
};
MemoryProfile profile_of(const std::vector<MemoryEvent>& events);
inline MemoryProfile then(const MemoryProfile& first, const MemoryProfile& second) {
  return {first.delta + second.delta, std::max(first.peak, first.delta + second.peak)};
}
inline MemoryProfile repeated(const MemoryProfile& profile, std::int64_t times) {
  if (times == 0) return {};
  const auto n = static_cast<double>(times);
  return {n * profile.delta, profile.peak + std::max(0.0, (n - 1.0) * profile.delta)};
}

struct Block {
  std::string name;
  std::vector<Step> steps;
  std::vector<Dependency> dependencies;
  std::vector<Work> works;  // several steps may do the same one: what a block does in all is summed over its steps
  std::vector<MemoryEvent> memory;
  MemoryProfile profile;
  double off_device = 0.0;  // bytes of activations that it copies off the device, less those that it copies back
  double recorded = 0.0;    // bytes of workspace that are dead but become free only at the end of the pass
};

struct BlockRun {
  const Block* block = nullptr;
  std::int64_t count = 1;
  friend bool operator==(const BlockRun&, const BlockRun&) = default;
};

// Which neighbour a pass sends its result to.
enum class Send : std::uint8_t { none, next, previous };

struct alignas(64) Pass {  // one cache line
  std::vector<BlockRun> runs;
  Send send = Send::none;
  std::int32_t id = -1;     // dense among the passes of one lowering
  MemoryProfile profile;    // of the whole pass
  double off_device = 0.0;  // sum over its blocks [bytes]
  double recorded = 0.0;    // sum over its blocks [bytes]
};

// Equal tensors among those that a stage holds for the whole step.
struct HeldTensors {
  Category category = Category::parameters;
  double bytes = 0.0;  // of each
  std::int64_t count = 1;
  bool late = false;  // made by the first update of parameters
};

struct Stage {
  boost::container::small_vector<const Pass*, 16> passes;  // by slot of the layout
  CategoryBytes resident{};                                // held for the whole step
  std::span<const HeldTensors> held;                       // the tensors that add up to resident_bytes
  double host_bytes = 0.0;             // offloaded state in the host's memory, per rank, held for the whole step
  double storage_bytes = 0.0;          // the same on the drives
  bool activations_on_drives = false;  // offloaded activations go to the drives; else to the host's memory
  std::int64_t body_layers = 0;
};

struct Program {
  Mesh mesh;
  Mesh expert_mesh;  // the same ranks arranged for the layers with experts; all axes of size 1 where there are none
  std::shared_ptr<const pipeline::Schedule> schedule;
  std::shared_ptr<const pipeline::SweepOrder> order;  // of the schedule's operations
  std::shared_ptr<const PassOrder> pass_order;        // what every stage runs
  std::vector<Stage> kinds;                           // distinct stages; several of the pipeline may share one
  std::vector<std::uint16_t> kind_of_stage;           // positions in `kinds`
  bool has_model_copies = false;                      // some stages hold the same layers (bidirectional pipelines)

  std::size_t stages() const { return kind_of_stage.size(); }
  // The ranks of one copy of the model pass activations to each other.
  bool exchanges_activations() const {
    return mesh.size(Axis::tensor) > 1 || mesh.size(Axis::context) > 1 || mesh.size(Axis::pipeline) > 1 ||
           expert_mesh.size(Axis::expert) > 1 || expert_mesh.size(Axis::expert_tensor) > 1;
  }
  const Stage& stage(std::size_t index) const { return kinds[kind_of_stage[index]]; }
  const Pass& pass(std::int32_t stage, std::uint16_t slot) const {
    return *this->stage(static_cast<std::size_t>(stage)).passes[slot];
  }
  const PassLayout& layout() const { return pass_order->layout; }
  const Pass& pass(std::int32_t stage, const PassKey& key) const {
    return *this->stage(static_cast<std::size_t>(stage)).passes[static_cast<std::size_t>(layout().slot(key))];
  }
  // The entries that `stage` runs, in execution order.
  std::span<const PassOrder::Entry> row(std::int32_t stage) const { return pass_order->row(stage); }
  // Whether the schedule itself contains parameter updates, not only the end of the step.
  bool updates_within() const { return row(0).back().operation >= 0; }
};

// What the row of a device holds where its passes hold `passes`: by slot, and {} behind the last (PassOrder::Stretch).
inline MemoryProfile profile_of_row(const PassOrder& order, std::size_t device, const MemoryProfile* passes) {
  MemoryProfile row;
  for (std::int32_t i = order.row_begin[device]; i < order.row_begin[device + 1]; ++i) {
    const PassOrder::Stretch& stretch = order.stretches[static_cast<std::size_t>(i)];
    row = then(row, repeated(then(passes[stretch.slot], passes[stretch.then]), stretch.times));
  }
  return row;
}

}  // namespace cairn::program
