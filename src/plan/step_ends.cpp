#include "step_ends.h"

namespace cairn::plan {

StepEnds::StepEnds(const ParameterTreatment& treatment, PassAssembly& assembly)
    : assembly_(assembly),
      state_bytes_(state_bytes(treatment)),
      parameter_bytes_(numerics::bytes_per_element(treatment.parameters)),
      update_(parameter_update(treatment)),
      narrow_(narrow_copies(treatment)),
      host_update_(host_parameter_update(treatment)) {}

const StepEnds::Entry& StepEnds::of(StepEndOptions options, const Offload& offload, double kept_bytes) {
  Entry& entry = entries_[key(options, offload, kept_bytes)];
  if (entry.settle != nullptr) return entry;
  options.update = &update_;
  options.narrow = &narrow_;
  entry.settle_block = std::make_unique<Block>(settle(options));
  entry.update_block = std::make_unique<Block>(
      offload.optimizer == Home::device ? update(options)
                                        : offloaded_update({.end = options,
                                                            .host_update = &host_update_,
                                                            .offload = offload,
                                                            .state_bytes = state_bytes_,
                                                            .parameter_bytes = parameter_bytes_,
                                                            .kept_bytes = kept_bytes,
                                                            .done_in_backward = offload.update_in_backward}));
  const bool sends = options.tied.size > 1 || options.meets;
  entry.settle = assembly_.single(entry.settle_block.get(), sends ? Send::next : Send::none);
  entry.update = assembly_.single(entry.update_block.get(), Send::none);
  entry.both = assembly_.pair(entry.settle_block.get(), entry.update_block.get());
  return entry;
}

StepEnds::Key StepEnds::key(const StepEndOptions& options, const Offload& offload, double kept_bytes) {
  const auto dense = ParameterGroup::dense;
  const auto expert = ParameterGroup::expert;
  const GradientSync& sync = options.sync;
  const std::int64_t flags = options.already_reduced + 2 * options.gather + 4 * sync.onward.has_value() +
                             8 * offload.update_in_backward + 16 * static_cast<std::int64_t>(offload.optimizer) +
                             64 * static_cast<std::int64_t>(offload.parameters) +
                             256 * static_cast<std::int64_t>(sync.collective) + (std::int64_t{1} << 32) * options.meets;
  return {flags,
          bits(options.elements[dense]),
          bits(options.elements[expert]),
          word(sync.copies[dense]),
          word(sync.copies[expert]),
          word(sync.replicas[dense]),
          word(sync.replicas[expert]),
          word_of_rows(sync.copies[dense]),
          word_of_rows(sync.copies[expert]),
          word_of_rows(sync.replicas[dense]),
          word_of_rows(sync.replicas[expert]),
          word(options.tensor),
          bits(options.partial_bytes),
          word(options.tied),
          bits(options.tied_bytes),
          options.updated_elements,
          options.narrow_elements,
          bits(options.maxima_bytes),
          bits(offload.subgroup_elements),
          offload.device_every,
          bits(kept_bytes)};
}

}  // namespace cairn::plan
