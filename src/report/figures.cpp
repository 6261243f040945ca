#include <array>

#include "cairn/core/assert.h"
#include "cairn/report/run.h"

namespace cairn::report {
namespace {

constexpr double k_seconds_per_hour = 3600.0;

// [W] of the whole cluster; empty when its file says nothing about power.
std::optional<double> power(const hardware::Machine& machine) {
  const hardware::Power& given = machine.cluster.value.power;
  const bool stated = given.accelerator || given.node_overhead.base() > 0.0 || given.pue != 1.0;
  if (!stated) return {};
  const core::Watts accelerator = given.accelerator.value_or(machine.accelerator.value.power);
  return given.pue * (static_cast<double>(machine.network.gpus()) * accelerator.base() +
                      static_cast<double>(machine.network.nodes) * given.node_overhead.base());
}

}  // namespace

std::string driver_source(const Run& run) {
  const config::Origins& origins = run.job.machine().accelerator.origins;
  for (const config::Origin& key : origins.all()) {
    if (!key.key_path.ends_with("reserved_memory.driver") && !key.key_path.ends_with("reserved_memory")) continue;
    const config::Origin* basis = hardware::provenance(origins, key.key_path);
    if (basis == nullptr) continue;
    const std::string source(config::name(basis->source));
    return basis->reference.empty() ? source : source + ": " + basis->reference;
  }
  return "not stated";
}

RunFigures figures(const Run& run) {
  const predict::Prediction& prediction = run.result.prediction;
  RunFigures f;
  f.time_s = core::to_seconds(prediction.time);
  CAIRN_ASSERT(f.time_s > 0.0);
  const auto gpus = static_cast<double>(run.job.gpus());
  const double device_seconds = f.time_s * gpus;
  const double tokens =
      static_cast<double>(run.job.global_batch()) * static_cast<double>(run.job.experiment().training.seq_len);
  f.tokens_per_s = tokens / f.time_s;
  f.tokens_per_s_per_gpu = f.tokens_per_s / gpus;
  f.model_flop_per_s_per_gpu = prediction.model_flops / device_seconds;
  const double peak_flops = device_seconds * run.job.peak_flops();
  f.mfu = prediction.model_flops / peak_flops;
  f.mfu_causal = prediction.model_flops_causal / peak_flops;
  f.hfu = prediction.hardware_flops / peak_flops;
  const hardware::Machine& machine = run.job.machine();
  if (const auto price = machine.cluster.value.price.accelerator_hour)
    f.usd_per_step = device_seconds / k_seconds_per_hour * price->base();
  if (const auto watts = power(machine)) f.joule_per_step = *watts * f.time_s;
  return f;
}

std::string_view category_name(plan::Category category) {
  constexpr std::array<std::string_view, plan::k_categories> k_names{"parameters", "gradients", "optimizer",
                                                                     "activations", "workspace"};
  return k_names[static_cast<std::size_t>(category)];
}

}  // namespace cairn::report
