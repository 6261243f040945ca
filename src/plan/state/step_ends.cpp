#include "step_ends.h"

namespace cairn::plan {

StepEnds::StepEnds(const ParameterTreatment& treatment, PassStore& passes)
    : passes_(passes),
      state_bytes_(state_bytes(treatment)),
      parameter_bytes_(numerics::bytes_per_element(treatment.parameters)),
      bucket_kernels_(bucket_kernels(treatment)),
      whole_(whole_gradient_passes(treatment)),
      update_(parameter_update(treatment)),
      subgroup_update_(subgroup_update(treatment)),
      narrow_(narrow_copies(treatment)),
      host_update_(host_parameter_update(treatment)) {}

const StepEnds::Entry& StepEnds::of(StepEndOptions options, const Offload& offload, double kept_bytes) {
  Entry& entry = entries_[{.options = options, .offload = offload, .kept_bytes = kept_bytes}];
  if (entry.finalize != nullptr) return entry;
  options.bucket_kernels = &bucket_kernels_;
  options.whole = &whole_;
  options.update = offload.optimizer == Home::device ? &update_ : &subgroup_update_;
  options.narrow = &narrow_;
  entry.finalize_block = std::make_unique<Block>(finalize(options));
  entry.update_block = std::make_unique<Block>(
      offload.optimizer == Home::device ? update(options)
                                        : offloaded_update({.end = options,
                                                            .host_update = &host_update_,
                                                            .offload = offload,
                                                            .state_bytes = state_bytes_,
                                                            .parameter_bytes = parameter_bytes_,
                                                            .kept_bytes = kept_bytes,
                                                            .done_in_backward = offload.update_in_backward}));
  const bool sends = options.tied.size > 1 || options.replicated;
  entry.finalize = passes_.single(entry.finalize_block.get(), sends ? Send::next : Send::none);
  entry.update = passes_.single(entry.update_block.get(), Send::none);
  return entry;
}

const Pass* StepEnds::await_replica() {
  if (await_ != nullptr) return await_;
  await_block_ = std::make_unique<Block>(plan::await_replica());
  return await_ = passes_.single(await_block_.get(), Send::none);
}

std::size_t StepEnds::Key::hash() const {
  core::Hash hash;
  add(hash, options.elements);
  add(hash, options.sync.copies);
  add(hash, options.sync.replicas);
  add(hash, options.tensor);
  add(hash, options.tied);
  add(hash, options.tied_bytes);
  hash.add(options.updated_elements)
      .add(options.gather)
      .add(options.already_reduced)
      .add(options.settings.device_every);
  return hash.value();
}

}  // namespace cairn::plan
