#include "read_parts.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/cost/carried.h"
#include "narrow.h"
#include "resolving.h"

namespace cairn::experiment {
namespace {

// A remark about a file, without its place.
std::string sentence(const core::Diagnostic& remark) {
  return remark.key_path + ": " + remark.message + (remark.hint.empty() ? "" : " (" + remark.hint + ")");
}

// The bare name under which configs/ knows the accelerator.
std::string accelerator_key(const hardware::Machine& machine) {
  const config::Node& accelerator = machine.cluster.value.accelerator;
  const config::Node* named = accelerator.is_map() ? accelerator.find("file") : &accelerator;
  if (named == nullptr || !named->is_scalar()) return {};
  return std::filesystem::path(named->text).stem().string();
}

bool has_calibration(const config::Loader& loader, const std::string& accelerator) {
  const std::vector<std::string> known = loader.names("calibration");
  return std::find(known.begin(), known.end(), accelerator) != known.end();
}

// The calibration on the accelerator as the cluster describes it.
Calibrated on_accelerator(const config::Loader& loader, const hardware::Machine& machine, const config::Node& reference,
                          std::string_view libraries) {
  const std::string chip = accelerator_key(machine);
  const hardware::Accelerator& accelerator = machine.accelerator.value;
  if (reference.is_null() && chip.empty())
    throw core::ConfigurationError("calibration", "an accelerator written inline has no calibration of its own",
                                   "name the nearest one, as in calibration: a100-sxm4-80gb; its prices follow the "
                                   "accelerator's figures");
  cost::Calibration calibration =
      cost::load_calibration(loader, reference.is_null() ? config::make_scalar(chip, {}) : reference);
  // A block written inline is known by the name it gives.
  const bool same_chip = chip.empty() ? calibration.name == accelerator.name : calibration.accelerator == chip;
  if (!same_chip && has_calibration(loader, chip))
    throw core::ConfigurationError(
        "calibration",
        fmt::format("'{}' was measured on {}, not on {}", calibration.name, calibration.accelerator, chip),
        fmt::format("use calibration: {}, or leave it out", chip));
  calibration.use(libraries);
  cost::Carried carried = cost::carried(calibration, accelerator);
  Calibrated result{.calibration = std::move(carried.calibration)};
  if (!same_chip)
    result.carried = fmt::format("kernels and transfers of {} on {}, where nothing was measured", calibration.name,
                                 accelerator.name);
  if (carried.differences.empty()) return result;
  result.carried += fmt::format("{}: {} (a peak does not follow the clock)",
                                same_chip ? "kernels follow the accelerator's own figures" : ", by its figures",
                                fmt::join(carried.differences, "; "));
  return result;
}

// The laws of the innermost network between domains that names its fabric.
void take_fabric(const config::Loader& loader, const hardware::Network& network, cost::Calibration& calibration) {
  std::string fabric;
  for (const hardware::NetworkLevel& level : network.beyond())
    if (fabric.empty()) fabric = level.fabric;
  if (fabric.empty() || fabric == calibration.fabric) return;
  const cost::Fabrics fabrics = cost::load_fabrics(loader);
  const cost::Fabric* found = fabrics.find(fabric);
  if (found == nullptr)
    throw core::ConfigurationError("cluster.inter.fabric", fmt::format("no calibrated fabric '{}'", fabric),
                                   "see configs/calibration/fabrics.yaml");
  calibration.transfers.fabric = found->laws;
  calibration.fabric = fabric;
}

software::Software read_software(const Experiment& experiment, const config::Loader& loader,
                                 core::Diagnostics& diagnostics) {
  const config::Node& precision = experiment.precision;
  const software::PrecisionRecipe asked =
      software::read_precision(loader, precision, "training.precision", diagnostics).value;
  software::FrameworkProfile framework =
      software::read_framework(loader, experiment.framework, "training.framework", diagnostics).value;
  software::Software software = software::together(std::move(framework), asked);
  if (precision.is_map()) {
    if (precision.find("gradients")) software.recipe.gradients = asked.gradients;
    if (precision.find("gradients") || precision.find("reduce")) software.recipe.reduce = asked.reduce;
  }
  if (const config::Node named = framework_reference(experiment); named.is_scalar()) software.label = named.text;
  return software;
}

}  // namespace

config::Node framework_reference(const Experiment& experiment) {
  return experiment.framework.is_null() ? config::make_scalar(std::string(software::k_default_framework), {})
                                        : experiment.framework;
}

config::Node calibration_reference(const Experiment& experiment, const hardware::Machine& machine) {
  return experiment.calibration.is_null() ? config::make_scalar(accelerator_key(machine), {}) : experiment.calibration;
}

Calibrated load_calibrated(const config::Loader& loader, const hardware::Machine& machine,
                           const config::Node& reference, std::string_view libraries) {
  Calibrated calibrated = on_accelerator(loader, machine, reference, libraries);
  take_fabric(loader, machine.network, calibrated.calibration);
  return calibrated;
}

Parts read_parts(const LoadedExperiment& loaded, const config::Loader& loader, std::vector<std::string>& remarks) {
  const Experiment& experiment = loaded.experiment;
  core::Diagnostics diagnostics;
  Parts parts;
  parts.model = models::read_model(experiment.model, loader, diagnostics);
  parts.machine = hardware::read_machine(loader, experiment.cluster, "cluster", diagnostics);
  parts.software = read_software(experiment, loader, diagnostics);
  diagnostics.raise_if_errors();
  const hardware::Accelerator& accelerator = parts.machine.accelerator.value;
  if (!has_units_for(accelerator, parts.software.recipe))
    diagnostics.add(loaded.origins.error(
        "training.precision", missing_units(accelerator, parts.software.recipe),
        fmt::format("recipes it has: {}", fmt::join(software::recipes_of(loader, accelerator), ", "))));
  diagnostics.raise_if_errors();
  try {
    parts.calibrated =
        load_calibrated(loader, parts.machine, experiment.calibration, parts.software.framework.libraries);
  } catch (const core::ConfigurationError& problem) {
    const core::ConfigurationError with_places = placed(problem, loaded.origins);
    for (const core::Diagnostic& each : with_places.diagnostics()) diagnostics.add(each);
  }
  diagnostics.raise_if_errors();
  parts.intervals = load_intervals(loader);
  for (const core::Diagnostic& each : diagnostics.all()) remarks.push_back(sentence(each));
  return parts;
}

core::ConfigurationError placed(const core::ConfigurationError& error, const config::Origins& origins) {
  std::vector<core::Diagnostic> all = by_settings(error).diagnostics();
  for (core::Diagnostic& each : all)
    if (each.file.empty() && !each.key_path.empty()) each = origins.error(each.key_path, each.message, each.hint);
  return core::ConfigurationError(std::move(all));
}

Parts load_parts(const LoadedExperiment& loaded, const config::Loader& loader) {
  std::vector<std::string> remarks;
  return load_parts(loaded, loader, remarks);
}

Parts load_parts(const LoadedExperiment& loaded, const config::Loader& loader, std::vector<std::string>& remarks) {
  return read_parts(loaded, loader, remarks);
}

}  // namespace cairn::experiment
