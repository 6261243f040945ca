// The steps from an experiment to a plan, each small enough to test by eye.
#pragma once

#include "cairn/experiment/experiment.h"
#include "cairn/experiment/job.h"

namespace cairn::experiment {

// Everything resolved before the plan is priced.
struct Resolved {
  Experiment experiment;
  config::Origins origins;
  models::TransformerConfig transformer;
  hardware::Machine machine;
  software::PrecisionRecipe recipe;
  software::FrameworkProfile framework;
  cost::Calibration calibration;  // on the accelerator as the cluster describes it
  std::string carried = {};       // how its figures differ from those of the calibration; empty: they do not
  plan::Strategy strategy;        // stage_layers empty while they wait for prices
  std::shared_ptr<const pipeline::Schedule> schedule;  // that the strategy's settings generate
  plan::ParameterTreatment treatment;
  plan::FrameworkBehaviour behaviour;
  std::int64_t global_batch = 0;
  models::BuildOptions build;
  bool choose_resident = false;  // units whose parameters stay on the device: as many as fit
  bool choose_interval = false;  // of how many subgroups one is updated on the device: what prices balance
  std::vector<std::string> warnings;
  config::Sources sources;  // every file that this rests on
};

// What the experiment names, or the default where it names none: a name, {file: name, overriding keys} or a block.
config::Node framework_reference(const Resolved& resolved);
config::Node calibration_reference(const Resolved& resolved);
// As messages call it: megatron@2024.
std::string framework_label(const Resolved& resolved);
// Beside what transfers of routed tokens run: as the experiment says, or as the framework does.
ExpertOverlapKind expert_overlap(const Resolved& resolved);

// Reads the files the experiment names. Errors go to `diagnostics`.
void read_parts(Resolved& resolved, const config::Loader& loader, core::Diagnostics& diagnostics);
// Degrees, batch, overlap, treatment of parameters.
void resolve_strategy(Resolved& resolved, core::Diagnostics& diagnostics);
// The part of it that is sharded, fetched and offloaded; after treatment and overlap.
void resolve_zero(Resolved& resolved, core::Diagnostics& diagnostics);

// Sends `error` to diagnostics with the place of its key in the experiment.
void add_placed(const core::ConfigurationError& error, const config::Origins& origins, core::Diagnostics& diagnostics);

}  // namespace cairn::experiment
