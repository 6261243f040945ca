// Gradients of parameters on their way from the backward pass that makes them to the ranks that hold copies: unsent
// until a bucket is full, in flight until the transfer after their own starts.
#pragma once

#include "layer_pass.h"
#include "step_writer.h"

namespace cairn::plan {

class GradientQueue {
 public:
  // All must outlive it.
  GradientQueue(const LayerPass& pass, StepWriter& writer, const Progress& progress)
      : pass_(pass), writer_(writer), progress_(progress) {}

  // What the layers before this one left unsent and in flight is taken over. `sync` must outlive the queue's use.
  void begin(const GradientSync& sync);
  // A parameter's gradient is complete.
  void add(ir::TensorId parameter);
  // Full buckets start, and whatever is left.
  void send_full();
  void send_all();
  // Until resume() gradients wait for a block to come, which holds their memory from its beginning.
  void defer() { defers_ = true; }
  void resume();

  // Elements of the last transfer, which still hold their memory.
  const PerGroup<double>& in_flight() const { return in_flight_; }

 private:
  void send(ParameterGroup group);
  Dependency send_onward(const Onward& onward, double elements, double before, Dependency reduced);

  const LayerPass& pass_;
  StepWriter& writer_;
  const Progress& progress_;
  const GradientSync* sync_ = nullptr;
  PerGroup<double> unsent_elements_;
  PerGroup<double> in_flight_;
  bool defers_ = false;
  double deferred_bytes_ = 0.0;
  Dependency last_update_ = entry_of(Stream::processor);
};

}  // namespace cairn::plan
