// What a stage holds for the whole step, and the passes that end it.
#pragma once

#include <span>

#include "pass_assembly.h"
#include "stage_body.h"
#include "stage_partition.h"
#include "step_ends.h"
#include "vocabulary.h"

namespace cairn::plan {

struct StageEnd {
  const Pass* settle = nullptr;
  const Pass* update = nullptr;
  const Pass* both = nullptr;
  StageBytes bytes;
};

// `bodies`: of the stage's virtual stages, in the order in which a micro-batch passes them.
StageEnd stage_end(const StageKind& kind, std::span<const StageBody* const> bodies, const UnitSettings& settings,
                   const Meshes& meshes, StepEnds& ends);

}  // namespace cairn::plan
