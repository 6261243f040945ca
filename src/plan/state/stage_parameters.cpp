#include "stage_parameters.h"

#include <algorithm>
#include <cmath>

namespace cairn::plan {

PerGroup<double> updated_elements(const StageParameters& parameters, const UnitSettings& settings) {
  PerGroup<double> result = parameters.elements;
  if (settings.sharding != Sharding::nothing)
    for (const ParameterGroup group : k_all_parameter_groups)
      result[group] = std::ceil(result[group] / static_cast<double>(settings.shards[group].size));
  return result;
}

StageBytes stage_bytes(const StageParameters& parameters, const PerGroup<double>& updated, const UnitSettings& settings,
                       double kept) {
  const ParameterTreatment& treatment = *settings.treatment;
  const Offload& offload = settings.offload;
  StageBytes bytes;
  const auto put = [&](Home home, Category category, double amount) {
    if (home == Home::device) bytes.device[static_cast<std::size_t>(category)] += amount;
    if (home == Home::host) bytes.host += amount;
    if (home == Home::storage) bytes.storage += amount;
  };
  const bool narrow_only = treatment.narrow && treatment.parameters == *treatment.narrow;
  const double wide = numerics::bytes_per_element(narrow_only ? treatment.wide : treatment.parameters);
  const double stored = numerics::bytes_per_element(treatment.parameters);
  const double copies =
      treatment.narrow ? treatment.narrow_copies * numerics::bytes_per_element(*treatment.narrow) : 0.0;
  const double maxima = parameters.narrow_tensors * k_scaled_per_product * static_cast<double>(treatment.history) *
                        numerics::bytes_per_element(numerics::Format::fp32);
  const bool whole = !settings.keeps_shards();
  const double ranks = whole ? 1.0 : static_cast<double>(settings.shards[ParameterGroup::dense].size);
  double parameter_bytes = 0.0;
  const double gradient = numerics::bytes_per_element(treatment.gradients);
  for (const ParameterGroup group : k_all_parameter_groups) {
    const double elements = parameters.elements[group];
    const double shard = std::ceil(elements / static_cast<double>(settings.shards[group].size));
    // Where the optimizer's copy is gathered from, shards of a narrower one are not kept.
    if (whole || treatment.narrow_shards || !treatment.master) parameter_bytes += (whole ? elements : shard) * wide;
    const bool offloaded = offload.optimizer != Home::device;
    if (!settings.gradients_pass_through(group))
      put(Home::device, Category::gradients, elements * gradient);
    else if (!offloaded)
      put(Home::device, Category::gradients, shard * gradient);
    if (offloaded && !offload.gradients_in_place)
      put(Home::host, Category::gradients, updated[group] * settings.offloaded_gradient_bytes());
    const double factored =
        settings.sharding == Sharding::nothing ? 1.0 : static_cast<double>(settings.shards[group].size);
    put(offload.optimizer, Category::optimizer, updated[group] * state_bytes(treatment));
    if (treatment.factored_moment)
      put(offload.optimizer, Category::optimizer,
          std::ceil(parameters.factored[group] / factored) * numerics::bytes_per_element(numerics::Format::fp32));
  }
  parameter_bytes = parameter_bytes + std::ceil(parameters.narrow_elements / ranks) * (stored - wide + copies) + maxima;
  put(offload.parameters, Category::parameters, parameter_bytes);
  put(Home::device, Category::parameters, kept);
  if (treatment.separate_gradients && settings.sharding < Sharding::gradients)
    put(Home::device, Category::gradients, sum(parameters.elements) * stored);
  if (settings.single_stage) put(Home::device, Category::gradients, settings.held_buckets());
  put(Home::device, Category::activations, static_cast<double>(settings.held_results) * parameters.result_bytes);
  return bytes;
}

bool StageParameters::add(const LayerState& state, std::int64_t count, std::vector<std::string>& met) {
  const auto layers = static_cast<double>(count);
  const PerGroup<double> own = state.moved_elements(true);
  result_bytes += state.result_bytes;
  narrow_elements += layers * state.narrow_elements;
  narrow_tensors += layers * static_cast<double>(state.narrow_tensors);
  for (const double each : state.untied) add_tensors(each, count);
  for (const ParameterGroup group : k_all_parameter_groups) {
    elements[group] += layers * own[group];
    factored[group] += layers * state.factored_elements[group];
  }
  partial_elements.resize(std::max(partial_elements.size(), state.partial_elements.size()));
  for (std::size_t rule = 0; rule < state.partial_elements.size(); ++rule)
    partial_elements[rule] += layers * state.partial_elements[rule];
  bool owns_ties = state.tied.empty();
  for (const Tied& tied : state.tied) {
    const bool first = std::find(met.begin(), met.end(), tied.tag) == met.end();
    for (std::size_t rule = 0; rule < tied.partial_elements.size(); ++rule)
      partial_elements[rule] -= (first ? layers - 1.0 : layers) * tied.partial_elements[rule];
    if (!first) continue;
    met.push_back(tied.tag);
    elements[tied.group] += tied.elements;
    factored[tied.group] += tied.factored;
    add_tensors(tied.elements, 1);
    owns_ties = true;
  }
  return owns_ties;
}

void StageParameters::add(const StageParameters& others) {
  add_numbers(others);
  for (const EqualParameters& equal : others.tensors) add_tensors(equal.elements, equal.count);
}

void StageParameters::add_numbers(const StageParameters& others) {
  for (const ParameterGroup group : k_all_parameter_groups) {
    elements[group] += others.elements[group];
    factored[group] += others.factored[group];
  }
  partial_elements.resize(std::max(partial_elements.size(), others.partial_elements.size()));
  for (std::size_t rule = 0; rule < others.partial_elements.size(); ++rule)
    partial_elements[rule] += others.partial_elements[rule];
  narrow_elements += others.narrow_elements;
  result_bytes += others.result_bytes;
  narrow_tensors += others.narrow_tensors;
}

void StageParameters::add_tensors(double each, std::int64_t count) {
  const auto known = std::find_if(tensors.begin(), tensors.end(),
                                  [each](const EqualParameters& equal) { return equal.elements == each; });
  if (known != tensors.end())
    known->count += count;
  else
    tensors.push_back({.elements = each, .count = count});
}

std::vector<HeldTensors> held_tensors(const CategoryBytes& device, const StageParameters& parameters,
                                      const ParameterTreatment& treatment) {
  double elements = 0.0;
  for (const EqualParameters& equal : parameters.tensors) elements += equal.elements * static_cast<double>(equal.count);
  std::vector<HeldTensors> held;
  const auto one_each = [&](Category category, double bytes, int times, bool late) {
    for (int time = 0; time < times; ++time)
      for (const EqualParameters& equal : parameters.tensors)
        held.push_back({.category = category,
                        .bytes = bytes / times * (equal.elements / elements),
                        .count = equal.count,
                        .late = late});
  };
  for (std::size_t index = 0; index < k_categories; ++index) {
    const auto category = static_cast<Category>(index);
    const double bytes = device[index];
    if (bytes <= 0.0) continue;
    if (elements <= 0.0 || (category != Category::parameters && category != Category::optimizer)) {
      held.push_back({.category = category, .bytes = bytes});
      continue;
    }
    double early = bytes;
    if (category == Category::optimizer && treatment.moments > 0) {
      const double master = treatment.master ? numerics::bytes_per_element(*treatment.master) : 0.0;
      early = bytes * (master / state_bytes(treatment));
    }
    if (early > 0.0) one_each(category, early, 1, false);
    if (bytes > early) one_each(category, bytes - early, treatment.moments, true);
  }
  return held;
}

}  // namespace cairn::plan
