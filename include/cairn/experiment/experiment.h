// The experiment file: one model, one cluster, one training setup, one parallel strategy. This is the structure as
// written; Job is what follows from it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cairn/config/fields.h"
#include "cairn/config/loader.h"
#include "cairn/config/node.h"
#include "cairn/config/read.h"
#include "cairn/experiment/parts.h"
#include "cairn/experiment/settings.h"

namespace cairn::experiment {

// Settings, and the names (or inline blocks) of the model, cluster, recipe, framework and calibration they apply to.
struct Experiment : Settings {
  std::string name;
  config::Node model;
  config::Node cluster;
  config::Node precision;    // under `training`; default: bf16
  config::Node framework;    // under `training`; default: megatron
  config::Node calibration;  // default: the accelerator's
};

void describe(config::Fields& fields, Experiment& experiment);
void describe(config::Fields& fields, StrategyChoice& strategy);

struct LoadedExperiment {
  Experiment experiment;
  config::Origins origins;
  config::Sources sources = {};     // the files it was written in
  std::filesystem::path home = {};  // their folder; empty: written in none
};

// Reads a file, as it is named on the command line, with its overrides (`strategy.tp=4`). Throws
// core::ConfigurationError with everything wrong in it.
LoadedExperiment load(const config::Loader& loader, const std::string& name,
                      const std::vector<std::string>& overrides = {});
LoadedExperiment load_file(const config::Loader& loader, const std::filesystem::path& file,
                           const std::vector<std::string>& overrides = {});
// The same from a tree that was read already and that may extend a file.
LoadedExperiment read(const config::Loader& loader, const config::Node& node,
                      const std::vector<std::string>& overrides = {});
// The same from a tree that extends nothing.
LoadedExperiment read(const config::Node& node, const std::vector<std::string>& overrides = {});

// The parts that an experiment names. Throws core::ConfigurationError with the places of everything wrong.
Parts load_parts(const LoadedExperiment& loaded, const config::Loader& loader);
// The same, with remarks about their files.
Parts load_parts(const LoadedExperiment& loaded, const config::Loader& loader, std::vector<std::string>& remarks);

// The experiment as it can be read from any folder: parts in the search folders by name, the content of all others
// inline. Settings are as they are written: its strategy need not be a plan (Job::written_out completes one that is).
Experiment portable(const LoadedExperiment& loaded, const config::Loader& loader);

}  // namespace cairn::experiment
