// 2BP: the backward of gpipe and 1f1b in two operations. Input gradients keep the place of the backwards; weight
// gradients run last, or (1f1b) wherever their device would wait, oldest first.
// Source: Rae et al., "2BP: 2-Stage Backpropagation", 2024.
#include "fill_idle.h"
#include "kinds.h"

namespace cairn::pipeline {
namespace {

Schedule split(Schedule schedule, std::string_view kind) {
  schedule.kind = kind;
  for (Operation& operation : schedule.operations)
    if (operation.phase == Phase::backward) operation.phase = Phase::input_gradient;
  return schedule;
}

Schedule with_weight_gradients_last(const Schedule& order) {
  Schedule schedule = order;
  schedule.operations.clear();
  schedule.row_begin.assign(1, 0);
  for (std::int32_t device = 0; device < order.stages; ++device) {
    for (const Operation& operation : order.row(device)) schedule.operations.push_back(operation);
    for (Operation operation : order.row(device)) {
      if (operation.phase != Phase::input_gradient) continue;
      operation.phase = Phase::weight_gradient;
      schedule.operations.push_back(operation);
    }
    schedule.row_begin.push_back(static_cast<std::int32_t>(schedule.operations.size()));
  }
  return schedule;
}

}  // namespace

Schedule two_stage_gpipe(const Settings& settings) {
  return with_weight_gradients_last(split(gpipe(settings), "2bp-gpipe"));
}

Schedule two_stage_1f1b(const Settings& settings) {
  Schedule order = split(one_forward_one_backward(settings), "2bp-1f1b");
  if (settings.weight_gradients == WeightGradients::last) return with_weight_gradients_last(order);
  return with_weight_gradients_in_gaps(std::move(order), settings.durations);
}

}  // namespace cairn::pipeline
