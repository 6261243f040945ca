#include "cairn/experiment/trials.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "cairn/predict/account/memory.h"
#include "cairn/predict/bounds/lower_bounds.h"
#include "open_choices.h"
#include "plan_parts.h"
#include "resolving.h"

namespace cairn::experiment {

class Trials::Implementation {
 public:
  Implementation(const Settings& settings, const Parts& parts) {
    static_cast<Settings&>(r_.experiment) = settings;
    r_.parts = parts;
    limits_ = memory_limits(r_);
  }

  void make_structure(const StrategyChoice& strategy) {
    family_ = nullptr;
    program_ = nullptr;
    r_.experiment.strategy = strategy;
    r_.resolved = resolve_structure(r_.experiment, r_.parts, schedules_);
    structure_ = {
        .strategy = r_.resolved.strategy, .treatment = r_.resolved.treatment, .warnings = r_.resolved.warnings.size()};
  }

  void make_exchanges(const StrategyChoice& strategy) {
    program_ = nullptr;
    StrategyChoice& chosen = r_.experiment.strategy;
    chosen.zero = strategy.zero;
    chosen.overlap.dp = strategy.overlap.dp;
    chosen.overlap.pp = strategy.overlap.pp;
    structure_.restore(r_.resolved);
    try {
      resolve_exchanges(r_.experiment, r_.parts, schedules_, r_.resolved);
    } catch (const core::ConfigurationError&) {
      family_ = nullptr;
      throw;
    }
    const bool same_family = family_ != nullptr && family_->lowered.lowering.treatment() == r_.resolved.treatment;
    if (!same_family) family_ = &family_of(r_);
    if (family_->given.insert(r_.resolved.schedule.get()).second)
      family_->lowered.lowering.use_schedule(r_.resolved.strategy, r_.resolved.schedule);
    OpenChoices open(r_, family_->lowered.lowering, family_->pricing, &splits_);
    if (!open.by_price()) return;
    open.decide_by_price();
    // Layers are balanced by their own times, whatever is exchanged.
    structure_.strategy.stage_layers = r_.resolved.strategy.stage_layers;
  }

  std::vector<LayerFloor> layer_floors() {
    // Where some layers recompute and others do not, all of them do at least what those do that do not.
    plan::Strategy strategy = r_.resolved.strategy;
    if (strategy.recompute_layers != plan::RecomputeLayers{}) {
      strategy.recompute = plan::Recompute::none;
      strategy.recompute_operators.clear();
      strategy.recompute_layers = {};
    }
    std::vector<LayerFloor> floors;
    for (std::size_t layer = 0; layer < family_->lowered.model.classes.size(); ++layer)
      floors.push_back(
          {.forward = family_->pricing.analytic.at_least(family_->lowered.lowering.forward_block(strategy, layer)),
           .backward = family_->pricing.analytic.at_least(family_->lowered.lowering.backward_block(strategy, layer))});
    return floors;
  }

  core::Picoseconds time() {
    const program::Program& plan = program();
    return std::max(family_->pricing.analytic.makespan(plan).time, family_->links.time(plan));
  }

  double memory_floor() {
    return outside() + OpenChoices(r_, family_->lowered.lowering, family_->pricing).memory_floor();
  }

  double least_memory() { return outside() + predict::peak_memory(program()); }

  predict::MemoryReport memory() { return predict::memory_report(program(), limits_); }

  const program::Program& program() {
    if (program_ == nullptr) program_ = &OpenChoices(r_, family_->lowered.lowering, family_->pricing).lower();
    return *program_;
  }

  Case r_;
  predict::MemoryLimits limits_;

 public:
  // Plans that are made of the same operators.
  struct Family {
    explicit Family(const Case& asked) : lowered(asked), pricing(asked), links(pricing.pricer) {}
    LoweredModel lowered;
    Pricing pricing;
    predict::BusiestLinks links;
    std::unordered_set<const pipeline::Schedule*> given;  // that the lowering was handed over
  };
  Family* family_ = nullptr;

 private:
  // What exchanges change of a resolved plan, as it is before them.
  struct Structure {
    plan::Strategy strategy = {};
    plan::ParameterTreatment treatment = {};
    std::size_t warnings = 0;

    void restore(Resolved& plan) const {
      plan.strategy = strategy;
      plan.treatment = treatment;
      plan.warnings.resize(warnings);
      plan.choose_resident = plan.choose_interval = false;
    }
  };

  double outside() const { return limits_.library_bytes + limits_.process_bytes; }

  // The one that was asked for last is asked first.
  Family& family_of(const Case& asked) {
    for (auto each = families_.rbegin(); each != families_.rend(); ++each) {
      if (!(*each)->lowered.serves(asked)) continue;
      std::rotate(each.base() - 1, each.base(), families_.end());
      return *families_.back();
    }
    return *families_.emplace_back(std::make_unique<Family>(asked));
  }

  Schedules schedules_;
  Splits splits_;
  Structure structure_;  // of the plan that was made last
  std::vector<std::unique_ptr<Family>> families_;
  const program::Program* program_ = nullptr;
};

Trials::Trials(const Settings& settings, const Parts& parts)
    : implementation_(std::make_unique<Implementation>(settings, parts)) {}
Trials::~Trials() = default;

void Trials::make_structure(const StrategyChoice& strategy) { implementation_->make_structure(strategy); }
void Trials::make_exchanges(const StrategyChoice& strategy) { implementation_->make_exchanges(strategy); }
const plan::Strategy& Trials::strategy() const { return implementation_->r_.resolved.strategy; }
const pipeline::Schedule& Trials::schedule() const { return *implementation_->r_.resolved.schedule; }
const ir::Model& Trials::model() const { return implementation_->family_->lowered.model; }
std::int64_t Trials::global_batch() const { return implementation_->r_.resolved.global_batch; }
std::vector<LayerFloor> Trials::layer_floors() { return implementation_->layer_floors(); }
core::Picoseconds Trials::time() { return implementation_->time(); }
double Trials::memory_floor() { return implementation_->memory_floor(); }
double Trials::least_memory() { return implementation_->least_memory(); }
predict::MemoryReport Trials::memory() { return implementation_->memory(); }
double Trials::capacity() const { return implementation_->limits_.capacity_bytes; }

}  // namespace cairn::experiment
