// What a stage holds for the whole step, and the passes that end it.
#pragma once

#include <span>
#include <vector>

#include "pass_assembly.h"
#include "stage_body.h"
#include "stage_partition.h"
#include "state/step_ends.h"
#include "vocabulary.h"

namespace cairn::plan {

struct StageEnd {
  const Pass* finalize = nullptr;
  const Pass* update = nullptr;
  StageBytes bytes;
  std::vector<HeldTensors> held;  // on the device
};

// The ranks that the end of a step has to do with, beside those that hold copies.
struct EndRanks {
  Group tensor;
  Group pipeline;  // where stages share parameters; else of size 1
  friend bool operator==(const EndRanks&, const EndRanks&) = default;
};

// `bodies`: of the stage's virtual stages, in the order in which a micro-batch passes them; `own`: what nothing else
// reads.
StageEnd stage_end(const StageKind& kind, std::span<const StageBody* const> bodies, const UnitSettings& settings,
                   const EndRanks& ranks, const StepEndSettings& own, StepEnds& ends);

// Without the list of tensors.
StageParameters parameters_of(std::span<const StageBody* const> bodies);
// What a stage of these holds for the whole step, but for offloaded parameters that stay all the same. [bytes]
double resident_at_least(const StageKind& kind, const StageParameters& parameters, const UnitSettings& settings);

}  // namespace cairn::plan
