// From settings to a plan, without a file: degrees and batch are completed and checked against the model and the
// machine, and what settings leave out comes from the framework.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cairn/experiment/parts.h"
#include "cairn/experiment/settings.h"
#include "cairn/models/transformer.h"
#include "cairn/pipeline/schedule.h"
#include "cairn/plan/framework_behaviour.h"
#include "cairn/plan/strategy.h"

namespace cairn::experiment {

// Everything that a Program is lowered from.
struct Resolved {
  models::TransformerConfig model = {};  // as it is trained with sequences of this length
  models::BuildOptions build = {};
  plan::Strategy strategy = {};  // stage_layers are empty where prices will balance the stages (strategy.stages)
  std::shared_ptr<const pipeline::Schedule> schedule = {};  // generated from the strategy's settings
  plan::ParameterTreatment treatment = {};
  plan::FrameworkBehaviour behaviour = {};
  std::int64_t global_batch = 0;  // sequences
  bool choose_resident = false;   // strategy.offload.resident_units is still to be chosen: as many as fit
  bool choose_interval = false;   // strategy.device_every is still to be chosen: the fastest
  std::vector<std::string> warnings = {};
};

// Throws core::ConfigurationError with what is wrong, each by the key that says it ("strategy.tp") and with a remedy.
Resolved resolve(const Settings& settings, const Parts& parts);

// Sequences of a step. Throws core::ConfigurationError at training.global_batch for tokens that are no whole number of
// them.
std::int64_t sequences_per_step(const Training& training);
// Micro-batches of them on each of `data` ranks. Throws core::ConfigurationError at training.global_batch where they do
// not divide so.
std::int64_t micro_batches_per_step(const Training& training, std::int64_t micro_batch, std::int64_t data);

// What the token exchange of experts overlaps: as the settings say, else as the framework does.
ExpertOverlapKind expert_overlap(const Settings& settings, const software::FrameworkProfile& framework);

}  // namespace cairn::experiment
