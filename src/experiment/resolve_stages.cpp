#include <algorithm>

#include <fmt/format.h>

#include "cairn/pipeline/balanced_split.h"
#include "cairn/plan/lowering.h"
#include "resolving.h"
#include "stage_layout.h"

namespace cairn::experiment {
namespace {

void check_host_link(Resolving& r) {
  const pipeline::Schedule& schedule = *r.plan.schedule;
  const bool copies = std::any_of(schedule.operations.begin(), schedule.operations.end(),
                                  [](const auto& operation) { return operation.phase == pipeline::Phase::offload; });
  const hardware::Cluster& cluster = r.parts.machine.cluster.value;
  if (copies && !cluster.host)
    r.error("strategy.schedule",
            fmt::format("{} copies activations to the host, to which cluster '{}' has no link", schedule.kind,
                        cluster.name),
            "describe it: cluster.host: {memory, memory_bandwidth, link: {bandwidth}}, or use interleaved-1f1b");
}

// Layers of each of `count` virtual stages; empty where prices balance them.
std::vector<std::int64_t> layers_of(const Stages& cut, const models::TransformerConfig& model, std::int64_t count) {
  if (!cut.layout.empty())
    return layers_of_layout(cut.layout, {.layers = model.layers, .further = model.prediction_depth()});
  if (!cut.layers.empty()) return cut.layers;
  switch (cut.rule) {
    case StageRule::even:
      return plan::even_stages(model.layers, count);
    case StageRule::by_weight: {
      const std::vector<std::int32_t> filled =
          pipeline::filled_split(models::layer_weights(model), static_cast<std::int32_t>(count),
                                 {.first = 0, .last = model.vocab * model.hidden});
      return {filled.begin(), filled.end()};
    }
    case StageRule::balanced:
      break;
  }
  return {};
}

}  // namespace

std::shared_ptr<const pipeline::Schedule> Schedules::of(const std::string& kind, const pipeline::Settings& settings) {
  std::vector<Known>& alike = known_[{kind, settings.stages, settings.micro_batches, settings.chunks}];
  for (const Known& each : alike)
    if (each.settings == settings) return each.schedule;
  auto made = std::make_shared<const pipeline::Schedule>(pipeline::generate(kind, settings));
  return alike.emplace_back(Known{.settings = settings, .schedule = std::move(made)}).schedule;
}

void resolve_stages(Resolving& r) {
  plan::Strategy& strategy = r.plan.strategy;
  const Stages cut = r.settings.strategy.stages.value_or(Stages{.rule = r.parts.software.framework.stages});
  try {
    r.plan.schedule = r.schedules.of(strategy.schedule, plan::schedule_settings(strategy));
    check_host_link(r);
    strategy.stage_layers = layers_of(cut, r.plan.model, r.plan.schedule->chain_length);
  } catch (const core::ConfigurationError& problem) {
    const core::ConfigurationError said = by_settings(problem);
    for (const core::Diagnostic& each : said.diagnostics()) r.problems.add(each);
  }
}

}  // namespace cairn::experiment
