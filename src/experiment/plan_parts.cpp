#include "plan_parts.h"

namespace cairn::experiment {

LoweredModel::LoweredModel(const Resolved& resolved)
    : transformer(resolved.transformer),
      build(resolved.build),
      domain(resolved.machine.network.domain()),
      model(models::build_transformer(transformer, build)),
      lowering(model, resolved.experiment.training.seq_len, resolved.treatment, domain, resolved.behaviour) {}

bool LoweredModel::serves(const Resolved& resolved) const {
  return transformer == resolved.transformer && build == resolved.build &&
         domain == resolved.machine.network.domain() && lowering.sequence() == resolved.experiment.training.seq_len &&
         lowering.treatment() == resolved.treatment && lowering.behaviour() == resolved.behaviour;
}

Pricing::Pricing(const Resolved& resolved)
    : pricer(resolved.calibration, resolved.machine.accelerator.value, resolved.machine.network,
             resolved.framework.host_times, resolved.machine.cluster.value.host),
      prices(pricer),
      analytic(prices) {}

SharedParts::SharedParts(const Resolved& resolved, std::shared_ptr<LoweredModel> model)
    : models_{std::move(model)}, pricing_(std::make_shared<Pricing>(resolved)) {}

std::shared_ptr<LoweredModel> SharedParts::model_of(const Resolved& tried) {
  for (const std::shared_ptr<LoweredModel>& model : models_)
    if (model->serves(tried)) return model;
  return models_.emplace_back(std::make_shared<LoweredModel>(tried));
}

}  // namespace cairn::experiment
