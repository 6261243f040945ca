// The end of a step on one stage: what is left of reducing gradients, and the update of parameters.
#pragma once

#include "cairn/plan/layer.h"
#include "cairn/plan/strategy.h"
#include "parameter_update.h"
#include "step_writer.h"
#include "vocabulary.h"

namespace cairn::plan {

struct StepEndOptions {
  StepEndSettings settings = {};
  StepEndBehaviour behaviour = {};  // the same in all plans of a Lowering
  GradientSync sync;
  bool already_reduced = false;  // the last backward pass has reduced the gradients
  PerGroup<double> elements;     // parameters on this rank
  Group tensor;
  double partial_bytes = 0.0;  // gradients to be summed over the tensor axis
  Group tied;                  // of size 2 where another stage holds a tied parameter: their gradients are summed
  double tied_bytes = 0.0;
  // Another stage holds a copy of this one (Chimera): gradients are reduced over the data axis in update(), after the
  // copy reports that its backward passes have ended.
  bool replicated = false;
  const BucketKernels* bucket_kernels = nullptr;
  double bucket_elements = 0.0;      // of a bucket of copies that are reduced
  const ir::Graph* whole = nullptr;  // passes over all gradients, before an update on the device
  std::int64_t whole_elements = 0;
  const ir::Graph* update = nullptr;
  std::int64_t updated_elements = 0;
  bool gather = false;  // parameters are gathered over the ranks that hold copies, after the update
  double gather_bytes_per_element = 0.0;
  const ir::Graph* narrow = nullptr;  // makes narrow copies of weights, after the gather
  std::int64_t narrow_elements = 0;
  double bucket_bytes_held = 0.0;  // while gradients are reduced here
  double freed_bytes = 0.0;        // gradients and buckets that are gone while parameters are updated
  double maxima_bytes = 0.0;       // delayed scaling: maxima of narrow tensors, all-reduced over tensor and data ranks
  std::vector<Leg> leaving;        // after an update on the device: parameters that live elsewhere
  friend bool operator==(const StepEndOptions&, const StepEndOptions&) = default;
};
// What is left of reducing gradients: over the data axis (see StepEndOptions::replicated), over the tensor axis,
// between the holders of a tied parameter.
Block finalize(const StepEndOptions& options);
// Waits for a message that another stage's finalize() sends.
Block await_replica();
Block update(const StepEndOptions& options);
// The same at the beginning of an update.
void await_replica(StepWriter& writer, const StepEndOptions& options);
void append_parameter_gather(StepWriter& writer, const StepEndOptions& options);

struct OffloadedUpdate {
  StepEndOptions end;                      // `update`: subgroup_update()
  const ir::Graph* host_update = nullptr;  // and of one by the host
  Offload offload;
  double state_bytes = 0.0;  // per element: master copy and moments
  double parameter_bytes = 0.0;
  double kept_bytes = 0.0;        // offloaded parameters that stay on the device: the new values are copied there
  bool done_in_backward = false;  // the backward pass has issued all updates: only their end is awaited
  friend bool operator==(const OffloadedUpdate&, const OffloadedUpdate&) = default;
};
// The end of a step whose optimizer state is off the device: subgroup after subgroup is updated by the host's cores,
// one of every StepEndSettings::device_every by the device.
//   state on the drives:  read 1, read 2, [update 1] write 1, read 3, [update 2] write 2, ...   one read ahead
//   parameters:           every updated subgroup's go back to the device (or to the drives) while the next is updated
Block offloaded_update(const OffloadedUpdate& options);

}  // namespace cairn::plan
