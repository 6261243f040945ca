#include <utility>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "kinds.h"

namespace cairn::pipeline {

Layout loop_layout(std::int32_t stages, std::int32_t chunks) {
  Layout layout{.chunks = chunks, .chain_length = stages * chunks, .placement = {}};
  layout.placement.reserve(layout.chain_length);
  for (std::int32_t device = 0; device < stages; ++device)
    for (std::int32_t chunk = 0; chunk < chunks; ++chunk) layout.placement.push_back(chunk * stages + device);
  return layout;
}

Layout wave_layout(std::int32_t stages, std::int32_t chunks) {
  Layout layout{.chunks = chunks, .chain_length = stages * chunks, .placement = {}};
  for (std::int32_t device = 0; device < stages; ++device)
    for (std::int32_t chunk = 0; chunk < chunks; ++chunk)
      layout.placement.push_back(chunk * stages + (chunk % 2 == 0 ? device : stages - 1 - device));
  return layout;
}

Layout opposed_layout(std::int32_t stages, std::int32_t pipelines) {
  Layout layout{.chunks = pipelines, .chain_length = stages, .placement = {}};
  const std::int32_t rotation = stages / (pipelines / 2);
  for (std::int32_t device = 0; device < stages; ++device)
    for (std::int32_t chain = 0; chain < pipelines; ++chain) {
      const std::int32_t down = (device + stages - chain / 2 * rotation) % stages;
      layout.placement.push_back(chain * stages + (chain % 2 == 0 ? down : stages - 1 - down));
    }
  return layout;
}

ScheduleBuilder::ScheduleBuilder(std::string_view kind, const Settings& settings)
    : ScheduleBuilder(kind, settings, loop_layout(settings.stages, settings.chunks)) {}

ScheduleBuilder::ScheduleBuilder(std::string_view kind, const Settings& settings, Layout layout) {
  require(layout.chunks <= k_most_chunks, "chunks",
          std::to_string(layout.chunks) + " chunks on a device are more than the " + std::to_string(k_most_chunks) +
              " that can be listed",
          "use fewer chunks, waves or pipelines");
  schedule_.kind = kind;
  schedule_.stages = settings.stages;
  schedule_.micro_batches = settings.micro_batches;
  schedule_.chunks = layout.chunks;
  schedule_.chain_length = layout.chain_length;
  schedule_.placement = std::move(layout.placement);
  schedule_.row_begin.reserve(settings.stages + 1);
  schedule_.row_begin.push_back(0);
  schedule_.operations.reserve(std::size_t{2} * schedule_.chain_length * settings.micro_batches);
}

Schedule ScheduleBuilder::take() {
  CAIRN_ASSERT(std::ssize(schedule_.row_begin) == schedule_.rows() + 1);
  return std::move(schedule_);
}

void require(bool holds, const char* key, const std::string& message, const std::string& remedy) {
  if (!holds) throw core::ConfigurationError(std::string("schedule.") + key, message, remedy);
}

std::string multiples_near(std::int32_t value, std::int32_t step) {
  const std::int32_t below = value / step * step;
  return (below > 0 ? std::to_string(below) + " or " : std::string()) + std::to_string(below + step);
}

}  // namespace cairn::pipeline
