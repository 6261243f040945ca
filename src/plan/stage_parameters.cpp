#include "stage_parameters.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"

namespace cairn::plan {

PerGroup<double> updated_elements(const StageParameters& parameters, Sharded sharded, const PerGroup<Group>& copies) {
  PerGroup<double> result = parameters.elements;
  if (sharded == Sharded::optimizer)
    for (const ParameterGroup group : k_all_parameter_groups)
      result[group] = std::ceil(result[group] / static_cast<double>(copies[group].size));
  return result;
}

CategoryBytes resident_bytes(const StageParameters& parameters, const PerGroup<double>& updated,
                             const ParameterTreatment& treatment) {
  const double states = (treatment.master ? numerics::bytes_per_element(*treatment.master) : 0.0) +
                        treatment.moments * numerics::bytes_per_element(treatment.moments_format);
  const double elements = sum(parameters.elements);
  CategoryBytes bytes{};
  const bool narrow_only = treatment.narrow && treatment.parameters == *treatment.narrow;
  const double wide = numerics::bytes_per_element(narrow_only ? treatment.wide : treatment.parameters);
  const double stored = numerics::bytes_per_element(treatment.parameters);
  const double copies =
      treatment.narrow ? treatment.narrow_copies * numerics::bytes_per_element(*treatment.narrow) : 0.0;
  const double maxima = parameters.narrow_tensors * k_scaled_per_product * static_cast<double>(treatment.history) *
                        numerics::bytes_per_element(numerics::Format::fp32);
  bytes[static_cast<std::size_t>(Category::parameters)] =
      elements * wide + parameters.narrow_elements * (stored - wide + copies) + maxima;
  bytes[static_cast<std::size_t>(Category::gradients)] = elements * numerics::bytes_per_element(treatment.gradients);
  bytes[static_cast<std::size_t>(Category::optimizer)] = sum(updated) * states;
  return bytes;
}

void ParameterLedger::start(std::int64_t stages) {
  stages_.assign(static_cast<std::size_t>(stages), StageParameters{});
  ties_.clear();
}

bool ParameterLedger::add(std::int32_t stage, const LayerState& state, std::int64_t count) {
  StageParameters& parameters = stages_[static_cast<std::size_t>(stage)];
  const auto layers = static_cast<double>(count);
  const PerGroup<double> own = state.moved_elements(true);
  parameters.narrow_elements += layers * state.narrow_elements;
  parameters.narrow_tensors += layers * static_cast<double>(state.narrow_tensors);
  for (const ParameterGroup group : k_all_parameter_groups) parameters.elements[group] += layers * own[group];
  if (parameters.partial_elements.size() < state.partial_elements.size())
    parameters.partial_elements.resize(state.partial_elements.size());
  for (std::size_t rule = 0; rule < state.partial_elements.size(); ++rule)
    parameters.partial_elements[rule] += layers * state.partial_elements[rule];
  bool owns_ties = state.tied.empty();
  for (const Tied& tied : state.tied) {
    const bool first = first_holder(tied, stage);
    for (std::size_t rule = 0; rule < tied.partial_elements.size(); ++rule)
      parameters.partial_elements[rule] -= (first ? layers - 1.0 : layers) * tied.partial_elements[rule];
    if (!first) continue;
    parameters.elements[tied.group] += tied.elements;
    owns_ties = true;
  }
  return owns_ties;
}

bool ParameterLedger::first_holder(const Tied& tied, std::int32_t stage) {
  auto tie = std::find_if(ties_.begin(), ties_.end(), [&](const Tie& t) { return t.tag == tied.tag; });
  if (tie == ties_.end()) tie = ties_.insert(tie, Tie{.tag = tied.tag, .elements = tied.elements, .stages = {}});
  if (std::find(tie->stages.begin(), tie->stages.end(), stage) != tie->stages.end()) return false;
  tie->stages.push_back(stage);
  return true;
}

std::array<std::int32_t, 2> ParameterLedger::tied_stages() {
  std::array<std::int32_t, 2> result{k_no_stage, k_no_stage};
  exchanged_elements_ = 0.0;
  for (const Tie& tie : ties_) {
    if (tie.stages.size() == 1) continue;
    const std::array<std::int32_t, 2> pair{std::min(tie.stages[0], tie.stages[1]),
                                           std::max(tie.stages[0], tie.stages[1])};
    if (tie.stages.size() > 2 || (result[0] != k_no_stage && result != pair))
      throw core::ConfigurationError(
          "strategy.pp",
          fmt::format("'{}' and other shared parameters live on more than two stages; their gradients are exchanged "
                      "between two at most",
                      tie.tag),
          "use fewer stages, or list stages so that the layers that share parameters lie on one or two of them");
    result = pair;
    exchanged_elements_ += tie.elements;
  }
  return result;
}

}  // namespace cairn::plan
