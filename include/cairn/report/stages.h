// What `cairn search --method alpa`, and `cairn run --strategy-file` of stages, answer, as JSON (cairn.stages/1) and as
// text: a network as a pipeline, each stage placed on a submesh of its own.
//
// A sample of the text is tests/golden/searches (bert-stages).
#pragma once

#include <string>
#include <vector>

#include "cairn/report/run.h"
#include "cairn/splits/staged_network.h"

namespace cairn::report {

struct Stages {
  const splits::PlacementStrategy& strategy;      // written out
  std::string cluster;                            // its name
  const splits::NetworkStages* answer = nullptr;  // none: no stages fit into memory
  core::Bytes capacity = {};                      // of a device
  std::vector<std::string> assumptions = {};
  std::vector<std::string> warnings = {};
  Tool tool = {};

  bool searched() const { return answer == nullptr || answer->priced > 0; }
  bool fits() const { return answer != nullptr && answer->memory <= capacity.base(); }
};

std::string text(const Stages& of, const TextStyle& style = {});
std::string json(const Stages& of);
std::string stages_schema();  // of cairn.stages/1

}  // namespace cairn::report
