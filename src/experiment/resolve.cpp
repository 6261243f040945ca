#include "cairn/experiment/resolve.h"

#include <algorithm>

#include <fmt/format.h>

#include "narrow.h"
#include "resolving.h"

namespace cairn::experiment {
namespace {

// Every rule may rely on those before it: a plan that broke one is asked no further.
using Rule = void (*)(Resolving&);

void check_recipe(Resolving& r) {
  const hardware::Accelerator& accelerator = r.parts.machine.accelerator.value;
  if (!has_units_for(accelerator, r.parts.software.recipe))
    r.error("training.precision", missing_units(accelerator, r.parts.software.recipe),
            "use a recipe whose products it has units for");
}

void resolve_model(Resolving& r) {
  models::validate(r.parts.model);
  r.plan.model = models::for_sequence(r.parts.model, r.settings.training.seq_len);
}

// The rest does not depend on one another's being right.
void resolve_choices(Resolving& r) {
  resolve_build(r);
  resolve_tensor_overlap(r);
  r.plan.behaviour = r.parts.software.framework.whole_behaviour();
  r.plan.behaviour.eager_joins = !r.plan.build.kernels.fused_pointwise();
  const auto& repeated = r.parts.software.framework.repeats_attention;
  r.plan.behaviour.repeats_attention =
      std::find(repeated.begin(), repeated.end(), r.plan.build.kernels.attention) != repeated.end();
  // A compiler drops what nothing reads.
  if (r.plan.build.kernels.compiled) r.plan.behaviour.keeps_unread_products = false;
  if (!r.plan.build.kernels.compiled) r.plan.behaviour.waits_for_attention = false;
  resolve_treatment(r);
  resolve_recompute(r);
  if (r.plan.model.prediction_depth() > 0 &&
      (r.parts.software.recipe.narrow || r.plan.strategy.recompute != plan::Recompute::none))
    r.warn(
        "model.mtp: narrow products and recomputation are of the model's own layers; modules for further tokens have "
        "neither");
  resolve_stages(r);
}

void resolve_exchanges(Resolving& r) {
  resolve_overlap(r);
  resolve_zero(r);
}

// What the release cannot do is planned as if it could.
void warn_of_capabilities(Resolving& r) {
  const software::Capabilities& can = r.parts.software.framework.capabilities;
  const plan::Strategy& strategy = r.plan.strategy;
  const auto warn = [&](bool asked, bool able, const char* what) {
    if (asked && !able) r.warn(fmt::format("{} has no {}", r.parts.software.label, what));
  };
  warn(strategy.sequence_parallel, can.sequence_parallel, "sequence parallelism");
  warn(strategy.recompute == plan::Recompute::attention, can.selective_recompute, "selective recomputation");
  warn(r.settings.strategy.zero.stage > can.zero, false, "such ZeRO stage");
  warn(strategy.chunks > 1, can.interleaved, "interleaved schedule");
}

// All but what is exchanged. Problems of the last rule are left to be told with others.
void resolve_in_order(Resolving& r) {
  constexpr Rule k_rules[] = {check_recipe,    resolve_model,     resolve_degrees,
                              resolve_experts, resolve_attention, resolve_batch};
  for (const Rule rule : k_rules) {
    rule(r);
    r.problems.raise_if_errors();
  }
  resolve_choices(r);
}

}  // namespace

Resolved resolve(const Settings& settings, const Parts& parts) {
  check_values(settings);
  return resolve_checked(settings, parts);
}

Resolved resolve_checked(const Settings& settings, const Parts& parts) {
  Schedules schedules;
  Resolved plan;
  core::Diagnostics problems;
  Resolving r{.settings = settings, .parts = parts, .plan = plan, .problems = problems, .schedules = schedules};
  resolve_in_order(r);
  resolve_exchanges(r);
  problems.raise_if_errors();
  warn_of_capabilities(r);
  return plan;
}

Resolved resolve_structure(const Settings& settings, const Parts& parts, Schedules& schedules) {
  Resolved plan;
  core::Diagnostics problems;
  Resolving r{.settings = settings, .parts = parts, .plan = plan, .problems = problems, .schedules = schedules};
  resolve_in_order(r);
  problems.raise_if_errors();
  return plan;
}

void resolve_exchanges(const Settings& settings, const Parts& parts, Schedules& schedules, Resolved& plan) {
  core::Diagnostics problems;
  Resolving r{.settings = settings, .parts = parts, .plan = plan, .problems = problems, .schedules = schedules};
  resolve_exchanges(r);
  problems.raise_if_errors();
  warn_of_capabilities(r);
}

ExpertOverlapKind expert_overlap(const Settings& settings, const software::FrameworkProfile& framework) {
  if (const std::optional<ExpertOverlap>& asked = settings.strategy.overlap.ep) return asked->kind;
  return framework.overlap.ep ? ExpertOverlapKind::shared : ExpertOverlapKind::none;
}

core::ConfigurationError by_settings(const core::ConfigurationError& error) {
  std::vector<core::Diagnostic> all = error.diagnostics();
  for (core::Diagnostic& each : all) {
    if (!each.file.empty()) continue;
    std::string& key = each.key_path;
    if (key == "schedule.micro_batches")
      key = "training.global_batch";
    else if (key == "schedule.stages")
      key = "strategy.pp";
    else if (key.starts_with("schedule") || key.starts_with("stages"))
      key.insert(0, "strategy.");
  }
  return core::ConfigurationError(std::move(all));
}

}  // namespace cairn::experiment
