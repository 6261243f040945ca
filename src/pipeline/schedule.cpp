#include "cairn/pipeline/schedule.h"

#include <algorithm>

#include "cairn/core/assert.h"

namespace cairn::pipeline {

std::string_view name(Phase phase) {
  switch (phase) {
    case Phase::forward:
      return "forward";
    case Phase::backward:
      return "backward";
    case Phase::input_gradient:
      return "input_gradient";
    case Phase::weight_gradient:
      return "weight_gradient";
    case Phase::vocabulary_forward:
      return "vocabulary_forward";
    case Phase::vocabulary_backward:
      return "vocabulary_backward";
    case Phase::optimizer:
      return "optimizer";
    case Phase::communication:
      return "communication";
    case Phase::offload:
      return "offload";
    case Phase::reload:
      return "reload";
    case Phase::extra:
      return "extra";
  }
  CAIRN_ASSERT(!"phase listed");
  return {};
}

char letter(Phase phase) {
  constexpr std::string_view k_letters = "FBbwSTOC><+";
  static_assert(k_letters.size() == k_phases);
  return k_letters[static_cast<std::size_t>(phase)];
}

std::string short_name(const Operation& operation, std::int32_t chunks) {
  std::string text = letter(operation.phase) + std::to_string(operation.micro_batch);
  return chunks > 1 ? text + " chunk " + std::to_string(operation.chunk) : text;
}

std::string describe(const Operation& operation) {
  return std::string(name(operation.phase)) + " of micro-batch " + std::to_string(operation.micro_batch) + ", chunk " +
         std::to_string(operation.chunk);
}

std::vector<std::int32_t> devices_of_virtual_stages(const Schedule& schedule) {
  std::vector<std::int32_t> devices(schedule.virtual_stages());
  for (std::int32_t device = 0; device < schedule.stages; ++device)
    for (std::int32_t chunk = 0; chunk < schedule.chunks; ++chunk)
      devices[schedule.virtual_stage(device, chunk)] = device;
  return devices;
}

std::vector<std::int32_t> peak_activations(const Schedule& schedule, Release release) {
  std::vector<std::int32_t> peaks(schedule.stages, 0);
  for (std::int32_t device = 0; device < schedule.stages; ++device) {
    std::int32_t alive = 0;
    for (const Operation& operation : schedule.row(device)) {
      const Phase split_release =
          release == Release::at_input_gradient ? Phase::input_gradient : Phase::weight_gradient;
      if (operation.phase == Phase::forward) peaks[device] = std::max(peaks[device], ++alive);
      if (operation.phase == Phase::backward || operation.phase == split_release) --alive;
    }
  }
  return peaks;
}

}  // namespace cairn::pipeline
