// The passes of a schedule's side rows (cairn/program/pass_order.h): transfers beside the computation, chunk by chunk.
//
//   parameters, gradients   parameters are gathered before use, gradients reduced after it, over the ranks that hold
//                           copies. A parameter that layers of one chunk share moves once; chunks of a device that
//                           share one each gather it, and each reduces its part of the gradient
//   activations             what a forward pass of the chunk saves is copied to the host and back, one copy at a time,
//                           in the order of the side row, whichever way it goes
//
// Exchanges of a device follow each other: each begins when the one before it has ended on all its communicators.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "pass_store.h"
#include "stage_body.h"
#include "state/unit_settings.h"
#include "step_writer.h"
#include "vocabulary.h"

namespace cairn::plan {

class SidePasses {
 public:
  // By kind, from PassKind::fetch to PassKind::sent.
  using Passes = std::array<const Pass*, 6>;

  explicit SidePasses(PassStore& passes) : passes_(passes) {}

  Passes of_parameters(const StageBody& body, const UnitSettings& settings);
  // `forward`: a forward pass of the chunk.
  Passes of_activations(const Pass& forward);

 private:
  Passes nothing();
  void set(Passes& passes, PassKind kind, StepWriter& writer);

  PassStore& passes_;
  std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace cairn::plan
