// The blocks around the layers: what a pass receives and sends, and the end of the step.
#pragma once

#include "cairn/plan/layer.h"
#include "cairn/plan/program.h"

namespace cairn::plan {

// The tensors that pass from one stage to the next, on one rank.
struct Border {
  double bytes = 0.0;
  bool sliced = false;  // sent as slices over the tensor axis, gathered on arrival
};

struct BeginOptions {
  bool receives = false;
  bool forward = true;
  bool host_waits = false;
  bool host_synchronises = false;  // waits for the computation issued so far
  Border border;
  Group tensor;
};
// Host work of a micro-batch, in its forward pass; with an arrival, computation (and the host, if it blocks) waits for
// it.
Block begin(const BeginOptions& options);

struct SendOptions {
  Stream stream = Stream::next;
  Border border;
  bool beside_computation = true;
  Group pipeline;
  Group tensor;
};
Block send(const SendOptions& options);

struct StepEndOptions {
  GradientSync sync;
  bool already_reduced = false;  // by the last backward pass
  PerGroup<double> elements;     // parameters on this rank
  Group tensor;
  double partial_bytes = 0.0;  // gradients to be summed over the tensor axis
  Group tied;                  // size 2: exchange with the other holder of a tied parameter
  double tied_bytes = 0.0;
  const ir::Graph* update = nullptr;
  std::int64_t updated_elements = 0;
  bool gather = false;  // parameters over the ranks that hold copies, after the update
  double gather_bytes_per_element = 0.0;
  const ir::Graph* narrow = nullptr;  // makes narrow copies of weights, after the gather
  std::int64_t narrow_elements = 0;
  double maxima_bytes = 0.0;  // largest values of narrow tensors, agreed on by the tensor and data ranks
};
// Gradients made whole: over the data axis, over the tensor axis, between the holders of a tied parameter.
Block settle(const StepEndOptions& options);
Block update(const StepEndOptions& options);

}  // namespace cairn::plan
