#include "block_layout.h"

#include "interpret.h"

namespace cairn::predict {
namespace {

TaskKind kind_of(const program::Step& step, bool together) {
  if (step.kind == program::StepKind::compute) return TaskKind::computes;
  if (step.kind == program::StepKind::beside) return TaskKind::lost;
  if (step.kind != program::StepKind::transfer) return TaskKind::fixed;
  if (step.axis == program::Axis::pipeline) return TaskKind::sends;
  return together ? TaskKind::joins : TaskKind::fixed;
}

}  // namespace

// Makes of every step a task of its stream.
class BlockLayout::Machine {
 public:
  Machine(BlockLayout& layout, const BlockPrices& prices, core::Picoseconds host_per_kernel, bool together)
      : layout_(layout), prices_(prices), host_per_kernel_(host_per_kernel), together_(together) {
    layout_.slots_ = program::k_streams + layout_.block_->steps.size();
  }

  void follow(std::size_t index, const program::Step& step) {
    task_ = {.first_need = static_cast<std::uint32_t>(layout_.needs_.size()),
             .kind = kind_of(step, together_),
             .axis = step.axis,
             .slot = static_cast<std::int32_t>(program::k_streams + index),
             .work = step.work};
    stream_ = static_cast<std::size_t>(step.stream);
  }
  void after_step(std::size_t other) { need(ends_[other]); }
  void after_entry(std::size_t stream) {
    const auto entered = static_cast<std::int32_t>(stream);
    need({.slot = entered, .task = Need::k_entry, .stream = entered});
  }
  void after_launch(const program::Step& step) {
    const Task launch{.duration = issue_time(step, prices_, host_per_kernel_),
                      .slot = static_cast<std::int32_t>(layout_.slots_++)};
    need(append(k_host, launch));
  }
  void run(std::size_t, const program::Step& step) {
    if (step.work >= 0) {
      const auto work = static_cast<std::size_t>(step.work);
      task_.duration = prices_[work].duration;
      if (task_.kind == TaskKind::joins) task_.group = &std::get<program::Transfer>(layout_.block_->works[work]).group;
    }
    ends_.push_back(append(stream_, task_));
  }

  void finish() {
    for (std::size_t stream = 0; stream < program::k_streams; ++stream) {
      layout_.tasks_.insert(layout_.tasks_.end(), lists_[stream].begin(), lists_[stream].end());
      layout_.begin_[stream + 1] = static_cast<std::int32_t>(layout_.tasks_.size());
    }
  }

 private:
  // What whoever awaits the task needs.
  Need append(std::size_t stream, const Task& task) {
    lists_[stream].push_back(task);
    return {.slot = task.slot,
            .task = static_cast<std::int32_t>(lists_[stream].size()) - 1,
            .stream = static_cast<std::int32_t>(stream)};
  }
  void need(const Need& awaited) {
    if (awaited.stream == static_cast<std::int32_t>(stream_)) return;  // tasks of one stream follow each other anyway
    for (Need& other : std::span(layout_.needs_).subspan(task_.first_need))
      if (other.stream == awaited.stream) {  // and the later one implies the earlier
        if (other.task < awaited.task) other = awaited;
        return;
      }
    layout_.needs_.push_back(awaited);
    ++task_.needs;
  }

  BlockLayout& layout_;
  const BlockPrices& prices_;
  core::Picoseconds host_per_kernel_;
  bool together_;
  std::array<std::vector<Task>, program::k_streams> lists_;
  std::vector<Need> ends_;  // by step
  Task task_;               // of the step under way
  std::size_t stream_ = 0;  // likewise
};

BlockLayout::BlockLayout(const program::Block& block, const BlockPrices& prices, core::Picoseconds host_per_kernel,
                         bool together)
    : block_(&block) {
  Machine machine(*this, prices, host_per_kernel, together);
  interpret(block, machine);
  machine.finish();
}

}  // namespace cairn::predict
