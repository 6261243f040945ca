#include "block_layout.h"

namespace cairn::predict {
namespace {

TaskKind kind_of(const program::Step& step, bool together) {
  if (step.kind == program::StepKind::compute) return TaskKind::computes;
  if (step.kind != program::StepKind::transfer) return TaskKind::fixed;
  if (step.axis == program::Axis::pipeline) return TaskKind::sends;
  return together ? TaskKind::joins : TaskKind::fixed;
}

}  // namespace

BlockLayout::BlockLayout(const program::Block& block, const BlockPrices& prices, core::Picoseconds host_per_kernel,
                         bool together)
    : block_(&block) {
  std::array<std::vector<Task>, program::k_streams> lists;
  std::vector<Need> rank;  // by step: where it stands
  slots_ = program::k_streams + block.steps.size();
  for (std::size_t index = 0; index < block.steps.size(); ++index) {
    const program::Step& step = block.steps[index];
    const auto stream = static_cast<std::size_t>(step.stream);
    Task task{.first_need = static_cast<std::uint32_t>(needs_.size())};
    const auto need = [&](const Need& awaited) {
      if (awaited.stream == static_cast<std::int32_t>(stream)) return;  // tasks of one stream follow each other anyway
      for (Need& other : std::span(needs_).subspan(task.first_need))
        if (other.stream == awaited.stream) {  // and the later one implies the earlier
          if (other.task < awaited.task) other = awaited;
          return;
        }
      needs_.push_back(awaited);
      ++task.needs;
    };
    for (std::size_t d = step.first_dependency; d < step.first_dependency + step.dependencies; ++d) {
      const program::Dependency dependency = block.dependencies[d];
      if (dependency >= 0)
        need(rank[static_cast<std::size_t>(dependency)]);
      else
        need({.slot = ~dependency, .task = Need::k_entry, .stream = ~dependency});
    }
    if (step.launches > 0) {
      auto& host = lists[k_host];
      const auto slot = static_cast<std::int32_t>(slots_++);
      need({.slot = slot, .task = static_cast<std::int32_t>(host.size()), .stream = k_host});
      host.push_back({.duration = step.launches * host_per_kernel, .slot = slot});
    }
    task.slot = static_cast<std::int32_t>(program::k_streams + index);
    task.kind = kind_of(step, together);
    task.axis = step.axis;
    task.work = step.work;
    if (step.work >= 0) {
      task.duration = prices[static_cast<std::size_t>(step.work)].duration;
      if (task.kind == TaskKind::joins)
        task.group = &std::get<program::Transfer>(block.works[static_cast<std::size_t>(step.work)]).group;
    }
    rank.push_back({.slot = task.slot,
                    .task = static_cast<std::int32_t>(lists[stream].size()),
                    .stream = static_cast<std::int32_t>(stream)});
    lists[stream].push_back(task);
  }
  for (std::size_t stream = 0; stream < program::k_streams; ++stream) {
    tasks_.insert(tasks_.end(), lists[stream].begin(), lists[stream].end());
    begin_[stream + 1] = static_cast<std::int32_t>(tasks_.size());
  }
}

}  // namespace cairn::predict
