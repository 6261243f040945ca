// The memory that a block holds for the tensors of its layer, from the step that needs it first to the last.
//
// Tensors that share storage share one buffer. What a communicator's stream has reduced can be recorded as in use by
// that stream: its workspace then comes free at the end of the pass alone.
#pragma once

#include <vector>

#include "rank_layer.h"
#include "step_writer.h"

namespace cairn::plan {

class TensorMemory {
 public:
  // Both must outlive it.
  TensorMemory(const ir::Graph& graph, StepWriter& writer);

  // From the next step on. Does nothing where the buffer is held already.
  void hold(ir::TensorId tensor, Category category, double bytes);
  // Saved activations that were held when the block began.
  void inherit(ir::TensorId tensor, double bytes);
  void release(ir::TensorId tensor);
  // A second buffer takes the place of the first, whose bytes are returned: they are held until let_go().
  double renew(ir::TensorId tensor, double bytes);
  void let_go(ir::TensorId tensor, double bytes);
  // A part of a second buffer that will take the place of the first: shrink() then gives that up.
  void grow(ir::TensorId tensor, double bytes);
  // Does nothing where the buffer is not larger.
  void shrink(ir::TensorId tensor, double bytes);
  void record(ir::TensorId tensor) { buffer(tensor).recorded = true; }
  // The next block records it, or not.
  void hand_over(ir::TensorId tensor) { buffer(tensor).recorded = false; }

 private:
  struct Buffer {
    double bytes = 0.0;  // 0: not held
    double grown = 0.0;  // of these, of a second buffer that will take the place of the first
    Category category = Category::workspace;
    bool recorded = false;
    bool comes_free_late() const { return recorded && category == Category::workspace; }
  };
  Buffer& buffer(ir::TensorId tensor) { return buffers_[at(storage(graph_, tensor))]; }

  const ir::Graph& graph_;
  StepWriter& writer_;
  std::vector<Buffer> buffers_;  // by storage
};

}  // namespace cairn::plan
