// The bucketed gradient reduction of one backward block. A parameter's gradient is unsent until its bucket is full;
// then the bucket is reduced over the ranks that hold copies, and counts as in flight until the next transfer starts.
#pragma once

#include "layer_pass.h"
#include "step_writer.h"

namespace cairn::plan {

class GradientQueue {
 public:
  // All must outlive it.
  GradientQueue(const LayerPass& pass, StepWriter& writer, Progress& progress)
      : pass_(pass), writer_(writer), progress_(progress) {}

  // Takes over what earlier layers left unsent and in flight. `sync` must outlive the queue's use.
  void begin(const GradientSync& sync);
  // Adds the gradient of a parameter, which is now complete.
  void add(ir::TensorId parameter);
  // Starts the transfer of full buckets, or of everything that is unsent.
  void send_full();
  void send_all();
  // Between defer() and resume() nothing is sent: the gradients' memory counts from the start of the next block on.
  void defer() { defers_ = true; }
  void resume();

  // Elements of the last transfer, which still hold their memory.
  const PerGroup<double>& in_flight() const { return in_flight_; }

 private:
  void send(ParameterGroup group);
  Dependency send_onward(const Onward& onward, double elements, double before, Dependency reduced);

  const LayerPass& pass_;
  StepWriter& writer_;
  Progress& progress_;
  const GradientSync* sync_ = nullptr;
  PerGroup<double> unsent_elements_;
  PerGroup<double> in_flight_;
  bool defers_ = false;
  double deferred_bytes_ = 0.0;
  Dependency last_update_ = entry_of(Stream::processor);
};

}  // namespace cairn::plan
