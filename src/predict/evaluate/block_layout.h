// A block laid out stream by stream: the tasks of every stream, first in, first out, and what each of them waits for.
//
// The host's list holds its own steps and the launches of all others. Every instance of a block keeps a record of
// instants, one per slot:
//   slot s                  < k_streams: when everything of stream s before this instance had ended (its entry)
//   slot k_streams + i      the end of step i
//   behind them             the ends of the launches
// A task starts at the latest of the end of the task before it on its stream and of the slots it needs.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "at.h"
#include "cairn/core/time.h"
#include "cairn/predict/price/price.h"
#include "cairn/program/program.h"

namespace cairn::predict {

enum class TaskKind : std::uint8_t {
  fixed,     // takes its price, whatever happens
  computes,  // takes longer on a slow rank
  joins,     // starts when the last of several actors is ready for it
  sends,     // to another stage
  lost,      // by kernels to a transfer beside them, where they do not share the device
};

// An instant that a task waits for: `slot` of the record, set when `stream` has run its task `task` of this instance,
// or, with k_entry, has entered it.
struct Need {
  static constexpr std::int32_t k_entry = -1;
  std::int32_t slot = 0;
  std::int32_t task = k_entry;
  std::int32_t stream = 0;
};

struct Task {
  core::Picoseconds duration = 0;
  const program::Group* group = nullptr;  // of a task that joins
  std::uint32_t first_need = 0;
  std::uint16_t needs = 0;
  TaskKind kind = TaskKind::fixed;
  program::Axis axis = program::Axis::tensor;
  std::int32_t slot = 0;   // where its end is recorded
  std::int32_t work = -1;  // of the block; -1: none
};

class BlockLayout {
 public:
  // `together`: whether collectives join several actors; otherwise one actor stands for all participants.
  BlockLayout(const program::Block& block, const BlockPrices& prices, core::Picoseconds host_per_kernel, bool together);

  std::int32_t count(std::size_t stream) const { return begin_[stream + 1] - begin_[stream]; }
  const Task& task(std::size_t stream, std::int32_t index) const {
    return tasks_[static_cast<std::size_t>(begin_[stream] + index)];
  }
  std::span<const Need> needs(const Task& task) const { return std::span(needs_).subspan(task.first_need, task.needs); }
  std::size_t slots() const { return slots_; }
  const program::Block& block() const { return *block_; }

 private:
  class Machine;

  const program::Block* block_;
  std::vector<Task> tasks_;  // stream after stream
  std::array<std::int32_t, program::k_streams + 1> begin_{};
  std::vector<Need> needs_;
  std::size_t slots_ = 0;
};

}  // namespace cairn::predict
