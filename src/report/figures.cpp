#include <array>

#include "cairn/core/assert.h"
#include "cairn/hardware/running_costs.h"
#include "cairn/report/run.h"

namespace cairn::report {
namespace {

constexpr double k_seconds_per_hour = 3600.0;

}  // namespace

std::string driver_source(const Run& run) {
  const config::Origins& origins = run.job.machine().accelerator.origins;
  for (const char* key : {"reserved_memory.driver", "reserved_memory"})
    if (const std::string source = hardware::source_text(origins, key); !source.empty()) return source;
  return "not stated";
}

RunFigures figures(const predict::Prediction& prediction, const StepBasis& of) {
  RunFigures f;
  f.time_s = core::to_seconds(prediction.time);
  CAIRN_ASSERT(f.time_s > 0.0);
  const double device_seconds = f.time_s * of.gpus;
  f.tokens_per_s = of.tokens / f.time_s;
  f.tokens_per_s_per_gpu = f.tokens_per_s / of.gpus;
  f.model_flop_per_s_per_gpu = prediction.model_flops / device_seconds;
  const double peak_flops = device_seconds * of.peak_flops;
  f.mfu = prediction.model_flops / peak_flops;
  f.mfu_causal = prediction.model_flops_causal / peak_flops;
  f.hfu = prediction.hardware_flops / peak_flops;
  if (of.costs.accelerator_hour)
    f.usd_per_step = device_seconds / k_seconds_per_hour * of.costs.accelerator_hour->base();
  f.joule_per_step = of.costs.power.base() * f.time_s;
  return f;
}

RunFigures figures(const Run& run) {
  const double tokens =
      static_cast<double>(run.job.global_batch()) * static_cast<double>(run.job.experiment().training.seq_len);
  const hardware::RunningCosts costs = hardware::running_costs(run.job.machine());
  const auto gpus = static_cast<double>(run.job.gpus());
  RunFigures f = figures(run.result.prediction,
                         {.gpus = gpus, .tokens = tokens, .peak_flops = run.job.peak().rate.base(), .costs = costs});
  if (const auto& whole = run.job.experiment().training.tokens) {
    const double steps = whole->tokens / tokens;
    f.training = {.tokens = whole->tokens,
                  .time_s = steps * f.time_s,
                  .gpu_hours = steps * (f.time_s * gpus) / k_seconds_per_hour,
                  .usd = std::nullopt};
    if (f.usd_per_step) f.training->usd = steps * *f.usd_per_step;
  }
  return f;
}

std::string_view category_name(program::Category category) {
  constexpr std::array<std::string_view, program::k_categories> k_names{"parameters", "gradients", "optimizer",
                                                                        "activations", "workspace"};
  return k_names[static_cast<std::size_t>(category)];
}

}  // namespace cairn::report
