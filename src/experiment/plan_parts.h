// What a plan is made from and priced with. Plans that differ in nothing but their strategy can share both.
#pragma once

#include <memory>
#include <vector>

#include "cairn/plan/lowering.h"
#include "cairn/predict/evaluate/analytic.h"
#include "cairn/predict/price/cost_pricer.h"
#include "case.h"

namespace cairn::experiment {

// A model's operators and the blocks that have been lowered from them.
struct LoweredModel {
  explicit LoweredModel(const Case& asked);
  bool serves(const Case& asked) const;

  const models::TransformerConfig transformer;
  const models::BuildOptions build;
  const std::int64_t domain;
  const ir::Model model;
  plan::Lowering lowering;
};

// Prices on one machine. Refers to the machine, the calibration and the framework of `asked`, which must outlive it.
struct Pricing {
  explicit Pricing(const Case& asked);

  predict::CostPricer pricer;
  predict::PriceTable prices;
  predict::Analytic analytic;
};

// Parts of an existing plan that plans tried beside it (remedies, alternatives) reuse: models and lowered blocks. They
// have prices of their own, since a pricer collects the assumptions of the plans that it prices.
class SharedParts {
 public:
  // `asked`: of the plan that exists.
  SharedParts(const Case& asked, std::shared_ptr<LoweredModel> model);
  std::shared_ptr<LoweredModel> model_of(const Case& tried);
  // For a plan of the same machine, calibration and framework.
  std::shared_ptr<Pricing> pricing() const { return pricing_; }

 private:
  std::vector<std::shared_ptr<LoweredModel>> models_;
  std::shared_ptr<Pricing> pricing_;
};

}  // namespace cairn::experiment
