#include "plan_parts.h"

namespace cairn::experiment {

LoweredModel::LoweredModel(const Case& asked)
    : transformer(asked.resolved.model),
      build(asked.resolved.build),
      domain(asked.parts.machine.network.domain()),
      model(models::build_transformer(transformer, build)),
      lowering(model, asked.experiment.training.seq_len, asked.resolved.treatment, domain, asked.resolved.behaviour) {}

bool LoweredModel::serves(const Case& asked) const {
  return transformer == asked.resolved.model && build == asked.resolved.build &&
         domain == asked.parts.machine.network.domain() && lowering.sequence() == asked.experiment.training.seq_len &&
         lowering.treatment() == asked.resolved.treatment && lowering.behaviour() == asked.resolved.behaviour;
}

Pricing::Pricing(const Case& asked)
    : pricer(asked.parts.calibrated.calibration, asked.parts.machine.accelerator.value, asked.parts.machine.network,
             asked.parts.software.framework.host_times, asked.parts.machine.cluster.value.host),
      prices(pricer),
      analytic(prices) {}

SharedParts::SharedParts(const Case& asked, std::shared_ptr<LoweredModel> model)
    : models_{std::move(model)}, pricing_(std::make_shared<Pricing>(asked)) {}

std::shared_ptr<LoweredModel> SharedParts::model_of(const Case& tried) {
  for (const std::shared_ptr<LoweredModel>& model : models_)
    if (model->serves(tried)) return model;
  return models_.emplace_back(std::make_shared<LoweredModel>(tried));
}

}  // namespace cairn::experiment
