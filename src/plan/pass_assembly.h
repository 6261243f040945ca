// A pass put together from the blocks it runs: what it begins with, its layers in order, the message it sends.
#pragma once

#include "pass_store.h"
#include "stage_body.h"
#include "stage_messages.h"
#include "unit_passes.h"
#include "unit_settings.h"
#include "vocabulary.h"

namespace cairn::plan {

// Gradients that whole layers send, or parameters that they gather, over the ranks that hold copies.
GradientSync parameter_gather(const UnitSettings& settings);
GradientSync gradient_sync(const UnitSettings& settings);

class PassAssembly {
 public:
  PassAssembly(PassStore& passes, StageMessages& messages) : passes_(passes), messages_(messages) {}

  // `special`: a chunk's first forward pass, which gathers parameters, or the last that makes its weights' gradients,
  // which sends them.
  const Pass* forward(const VirtualStage& stage, const StageBody& body, const UnitSettings& settings, bool special);
  const Pass* backward(const VirtualStage& stage, const StageBody& body, const UnitSettings& settings, Half half,
                       bool special);
  // A pass of one block.
  const Pass* single(const Block* block, Send send);
  const Pass* pair(const Block* first, const Block* second);
  // A pass that no operation runs.
  const Pass* nothing();

 private:
  Pass& start(const Block* block);

  PassStore& passes_;
  StageMessages& messages_;
  UnitPasses units_;
  Pass draft_;
};

}  // namespace cairn::plan
