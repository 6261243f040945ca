#include "stage_end.h"

#include <algorithm>
#include <numeric>

namespace cairn::plan {

namespace {

double exchanged_elements(const StageKind& kind, std::span<const StageBody* const> bodies) {
  double elements = 0.0;
  std::vector<std::string> left = kind.exchanged;  // once for every copy of the model
  for (const StageBody* body : bodies)
    for (const Stretch& stretch : body->stretches)
      for (const Tied& tied : stretch.layer->lowering.state().tied)
        if (std::erase(left, tied.tag) > 0) elements += tied.elements;
  return elements;
}

// What an update finds gone: buckets, and of whole gradients all but the rank's own.
double freed_bytes(const StageParameters& parameters, const PerGroup<double>& updated, const UnitSettings& settings) {
  if (settings.held_buckets() == 0.0 || settings.keeps_shards()) return 0.0;
  double bytes = settings.single_stage ? settings.held_buckets() : 0.0;
  for (const ParameterGroup group : k_all_parameter_groups)
    if (!settings.gradients_pass_through(group))
      bytes +=
          (parameters.elements[group] - updated[group]) * numerics::bytes_per_element(settings.treatment->gradients);
  return bytes;
}

// Whether a rank has only its shard of a group's gradients after the last backward pass, even if the memory of all stays,
// which holds sums of micro-batches until then.
bool ends_with_shard(const UnitSettings& settings, ParameterGroup group) {
  return settings.gradients_pass_through(group) || settings.reduces_to_shards();
}

// Gradients that a rank has when it updates.
std::int64_t held_gradients(const StageParameters& parameters, const PerGroup<double>& updated,
                            const UnitSettings& settings) {
  double elements = 0.0;
  for (const ParameterGroup group : k_all_parameter_groups)
    elements += ends_with_shard(settings, group) ? updated[group] : parameters.elements[group];
  return static_cast<std::int64_t>(elements);
}

StepEndOptions options(const StageKind& kind, std::span<const StageBody* const> bodies,
                       const StageParameters& parameters, const PerGroup<double>& updated, const UnitSettings& settings,
                       const EndRanks& ranks, const StepEndSettings& own) {
  const Offload& offload = settings.offload;
  const ParameterTreatment& treatment = *settings.treatment;
  const bool tied = kind.apart > 0;
  const auto dense = ParameterGroup::dense;
  // Where a rank holds only a shard of the gradients, only that shard is summed over the other axes.
  const double share = ends_with_shard(settings, dense) ? static_cast<double>(settings.shards[dense].size) : 1.0;
  const double gradient_bytes = numerics::bytes_per_element(treatment.gradients) / share;
  const double partial = parameters.partial_elements.empty() ? 0.0 : parameters.partial_elements.front();
  StepEndOptions options{
      .settings = own,
      .behaviour = treatment.step_end,
      .sync = settings.apply() ? settings.sync(true) : gradient_sync(settings),
      .already_reduced = settings.reduces_in_passes() || settings.sharding == Sharding::by_schedule,
      .elements = parameters.elements,
      .tensor = ranks.tensor,
      .partial_bytes = partial * gradient_bytes,
      .tied = {.axis = Axis::pipeline, .size = tied ? 2 : 1, .stride = tied ? ranks.pipeline.stride * kind.apart : 1},
      .tied_bytes = tied ? exchanged_elements(kind, bodies) * gradient_bytes : 0.0,
      .replicated = kind.replicated,
      .bucket_kernels = nullptr,
      .bucket_elements = treatment.step_end.copies_to_buckets
                             ? settings.bucket_bytes / numerics::bytes_per_element(treatment.reduce)
                             : 0.0,
      .whole = nullptr,
      .whole_elements = treatment.step_end.whole_gradients ? held_gradients(parameters, updated, settings) : 0,
      .update = nullptr,
      .updated_elements = static_cast<std::int64_t>(sum(updated)),
      .gather = settings.gathers_updated() && settings.copied() && !settings.overlap_parameter_gather,
      .gather_bytes_per_element = numerics::bytes_per_element(treatment.gather),
      .narrow = nullptr,
      .narrow_elements = static_cast<std::int64_t>(parameters.narrow_elements),
      .bucket_bytes_held = settings.single_stage ? 0.0 : settings.held_buckets(),
      .freed_bytes = freed_bytes(parameters, updated, settings),
      .maxima_bytes = treatment.history > 0 ? parameters.narrow_tensors * k_scaled_per_product *
                                                  numerics::bytes_per_element(numerics::Format::fp32)
                                            : 0.0,
      .leaving = {}};
  // Buckets, waits and held memory concern gradients that passes send; here all that is left is reduced at once.
  options.sync.bucket_bytes = 0.0;
  options.sync.waits = false;
  options.sync.held_bytes = 0.0;
  if (offload.parameters != Home::device && offload.optimizer == Home::device) {
    const double bytes = sum(updated) * numerics::bytes_per_element(treatment.parameters);
    options.leaving.push_back(leg(Copy{.lane = Lane::to_host, .bytes = bytes}));
    if (offload.parameters == Home::storage)
      options.leaving.push_back(leg(Copy{.lane = Lane::to_storage, .bytes = bytes}));
  }
  return options;
}

StageBytes held_bytes(const StageKind& kind, const StageParameters& parameters, const PerGroup<double>& updated,
                      const UnitSettings& settings, double kept) {
  StageBytes bytes = stage_bytes(parameters, updated, settings, kept);
  bytes.device[static_cast<std::size_t>(Category::parameters)] *= static_cast<double>(kind.versions);
  return bytes;
}

}  // namespace

StageParameters parameters_of(std::span<const StageBody* const> bodies) {
  StageParameters parameters;
  for (const StageBody* body : bodies) parameters.add_numbers(body->parameters);
  return parameters;
}

double resident_at_least(const StageKind& kind, const StageParameters& parameters, const UnitSettings& settings) {
  const CategoryBytes bytes =
      held_bytes(kind, parameters, updated_elements(parameters, settings), settings, 0.0).device;
  return std::accumulate(bytes.begin(), bytes.end(), 0.0);
}

StageEnd stage_end(const StageKind& kind, std::span<const StageBody* const> bodies, const UnitSettings& settings,
                   const EndRanks& ranks, const StepEndSettings& own, StepEnds& ends) {
  StageParameters parameters;
  for (const StageBody* body : bodies) parameters.add(body->parameters);
  // Offload::resident_units is allowed with one virtual stage only, which unit_settings() checks.
  const bool stay = settings.offload.parameters != Home::device && settings.offload.resident_units > 0;
  const double kept = stay ? UnitPasses::kept_bytes(bodies.front()->stretches, settings) : 0.0;
  const PerGroup<double> updated = updated_elements(parameters, settings);
  const StepEnds::Entry& entry =
      ends.of(options(kind, bodies, parameters, updated, settings, ranks, own), settings.offload, kept);
  StageEnd end{.finalize = entry.finalize,
               .update = entry.update,
               .bytes = held_bytes(kind, parameters, updated, settings, kept),
               .held = {}};
  end.held = held_tensors(end.bytes.device, parameters, *settings.treatment);
  return end;
}

}  // namespace cairn::plan
