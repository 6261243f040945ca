#include "run_traits.h"

#include <cmath>

#include <fmt/format.h>

#include "cairn/numerics/format.h"

namespace cairn::experiment {
namespace {

// The profile without overheads is the best that the hardware allows: no run is predicted by it.
constexpr std::string_view k_ideal = "ideal";

std::string framework_of(const Case& asked) {
  const std::string& label = asked.parts.software.label;
  return label.substr(0, label.find('@'));
}

}  // namespace

RunTraits run_traits(const Case& asked) {
  const hardware::Machine& machine = asked.parts.machine;
  const std::int64_t gpus = machine.network.gpus();
  const bool one_node = gpus <= machine.network.gpus_per_node;
  return {.words = {framework_of(asked), machine.accelerator.value.architecture,
                    fmt::format("{:.0f}-bit", numerics::element_bits(asked.parts.software.recipe.gemm)),
                    asked.resolved.model.moe ? "moe" : "dense", one_node ? "node" : "nodes"},
          .gpus = gpus};
}

RunIntervals run_intervals(const Case& asked) {
  RunIntervals result;
  const RunTraits traits = run_traits(asked);
  if (traits.words[0] == k_ideal) {
    result.none = "framework ideal is the best that the hardware allows: no run is held against it";
  } else if (!asked.parts.intervals) {
    result.none = "no configs/intervals.yaml says how far predictions are off";
  } else {
    result.time = time_interval(*asked.parts.intervals, traits);
    result.memory = memory_interval(*asked.parts.intervals, traits);
    if (!result.time && !result.memory) result.none = "configs/intervals.yaml has no family of enough runs";
  }
  return result;
}

}  // namespace cairn::experiment
