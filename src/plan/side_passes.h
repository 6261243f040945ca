// The passes of a chunk's side tables (cairn/plan/pass_order.h): what side rows bring to the device and take from it.
//
//   parameters, gradients   gathered before use, reduced after it, over the ranks that hold copies. Of a parameter that
//                           several layers of a chunk share there is one; chunks of a device that share one gather it
//                           each, and each reduces its part of the gradient
//   activations             what a forward pass of the chunk keeps, to the host and back. One copy at a time, in the
//                           order of the side row, whichever way it goes
//
// Exchanges of a device follow each other: each begins when the one before it has ended on all its communicators.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "pass_store.h"
#include "stage_body.h"
#include "step_writer.h"
#include "unit_settings.h"
#include "vocabulary.h"

namespace cairn::plan {

class SidePasses {
 public:
  using Tables = std::array<std::array<std::array<const Pass*, 2>, 2>, PassOrder::k_side_tables>;

  explicit SidePasses(PassStore& passes) : passes_(passes) {}

  Tables of_parameters(const StageBody& body, const UnitSettings& settings);
  // `forward`: a forward pass of the chunk.
  Tables of_activations(const Pass& forward);

 private:
  Tables nothing();
  void set(Tables& tables, PassOrder::Side side, StepWriter& writer);

  PassStore& passes_;
  std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace cairn::plan
