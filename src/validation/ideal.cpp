#include "ideal.h"

#include <utility>

#include "cairn/cost/calibration.h"

namespace cairn::validation {
namespace {

constexpr const char* k_ideal_framework = "ideal";

// Under cluster.accelerator, where a row's experiment has it.
std::string accelerator_of(const config::Node& experiment) {
  const config::Node* cluster = experiment.find("cluster");
  const config::Node* accelerator = cluster == nullptr ? nullptr : cluster->find("accelerator");
  return accelerator == nullptr ? std::string() : accelerator->text;
}

config::Node under_ideal(config::Node experiment, const std::string& libraries) {
  const config::Place place = experiment.place;
  config::Node framework = config::make_node(config::NodeKind::map, place);
  framework.put("file", config::make_scalar(k_ideal_framework, place));
  if (!libraries.empty()) framework.put("libraries", config::make_scalar(libraries, place));
  config::put_path(experiment, "training.framework", std::move(framework));
  return experiment;
}

}  // namespace

std::vector<IdealExperiment> ideal_experiments(const config::Node& experiment, const config::Loader& loader) {
  std::vector<IdealExperiment> all{{.experiment = under_ideal(experiment, {})}};
  const cost::Calibration calibration = cost::load_calibration(loader, accelerator_of(experiment));
  for (const auto& each : calibration.libraries)
    all.push_back({.libraries = each.first, .experiment = under_ideal(experiment, each.first)});
  return all;
}

}  // namespace cairn::validation
