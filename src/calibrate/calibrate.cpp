#include "cairn/calibrate/calibrate.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/calibrate/robust_fit.h"
#include "cairn/config/loader.h"
#include "cairn/config/read.h"
#include "cairn/config/yaml.h"
#include "cairn/core/assert.h"
#include "cairn/cost/carried.h"
#include "cairn/hardware/files.h"
#include "families.h"
#include "plausible.h"

namespace cairn::calibrate {
namespace {

constexpr std::string_view k_calibrations = "calibration";

// Which accelerator each device name of the files means; "" for none.
using Devices = std::map<std::string, std::string>;

Devices devices_of(const config::Loader& loader, std::span<const measure::MeasurementFile> files) {
  Devices devices;
  for (const measure::MeasurementFile& file : files) {
    for (const measure::Measurement& row : file.rows) {
      if (!devices.contains(row.device)) devices[row.device] = accelerator_of(loader, row.device);
    }
  }
  return devices;
}

// How an accelerator comes to be known: see accelerator_of().
std::string steps_for_new(std::string_view device) {
  return fmt::format(
      "1. copy the nearest file of configs/accelerators to accelerators/{}.yaml, there or in the folder that "
      "CAIRN_CONFIGS names; 2. fill in its data sheet; 3. give --base NEAREST, whose calibration supplies what is not "
      "measured",
      accelerator_name_for(device));
}

core::ConfigurationError unknown_devices(const std::vector<std::string>& names) {
  if (names.empty())
    return {"--gpu", "the files name no device", "say which accelerator it is, as in --gpu h100-sxm5-80gb"};
  return {
      "--gpu", fmt::format("none of the devices is known: {}", fmt::join(names, ", ")),
      fmt::format("if `cairn config list accelerators` has it under another name, give --gpu NAME, and for good add "
                  "the line `NAME: [{}]` to configs/devices/names.yaml. If it is new: {}",
                  names.front(), steps_for_new(names.front()))};
}

std::string chosen_accelerator(const config::Loader& loader, const Devices& devices, const std::string& named) {
  const std::vector<std::string> known = loader.names("accelerators");
  if (!named.empty()) {
    if (std::find(known.begin(), known.end(), named) != known.end()) return named;
    const std::string meant = accelerator_of(loader, named);
    if (!meant.empty()) return meant;
    const std::string near = core::nearest(named, known);
    throw core::ConfigurationError(
        "--gpu", fmt::format("no accelerator is called '{}'", named),
        near.empty() ? "`cairn config list accelerators` lists them. A new one: " + steps_for_new(named)
                     : fmt::format("did you mean '{}'?", near));
  }
  std::set<std::string> found;
  std::vector<std::string> unknown;
  for (const auto& [device, accelerator] : devices) {
    if (!accelerator.empty())
      found.insert(accelerator);
    else if (!device.empty())
      unknown.push_back(device);
  }
  if (found.size() == 1) return *found.begin();
  if (found.empty()) throw unknown_devices(unknown);
  throw core::ConfigurationError("--gpu",
                                 fmt::format("the files measure several accelerators: {}", fmt::join(found, ", ")),
                                 "choose one, as in --gpu " + *found.begin());
}

// Rows of the accelerator. A single device that no name is known for is the one that was named.
Rows rows_of(std::span<const measure::MeasurementFile> files, const Devices& devices, const Options& options,
             const std::string& accelerator) {
  const bool lone = !options.accelerator.empty() && devices.size() == 1 && devices.begin()->second.empty();
  Rows rows;
  for (const measure::MeasurementFile& file : files) {
    for (const measure::Measurement& row : file.rows) {
      if (lone || devices.at(row.device) == accelerator) rows.push_back(&row);
    }
  }
  if (!rows.empty()) return rows;
  std::vector<std::string> names;
  for (const auto& [device, known] : devices) names.push_back(device.empty() ? "(unnamed)" : device);
  throw core::ConfigurationError(
      "--gpu", fmt::format("no row was measured on {}; the files name {}", accelerator, fmt::join(names, ", ")),
      "name the accelerator of these devices, or other files");
}

void mark_carried_over(cost::Provenance& provenance, const std::string& from) {
  if (provenance.source.empty()) return;
  provenance = {.evidence = cost::Evidence::assumed, .source = fmt::format("carried over from {}", from)};
}

// The accelerator's own calibration, or another's under this one's name, with everything in it marked as assumed.
cost::Calibration base_calibration(const config::Loader& loader, const Options& options, const std::string& name,
                                   const hardware::Accelerator& accelerator) {
  const std::vector<std::string> known = loader.names(k_calibrations);
  const std::string base = options.base.empty() ? name : options.base;
  if (std::find(known.begin(), known.end(), base) == known.end()) {
    throw core::ConfigurationError("--base", fmt::format("there is no calibration '{}'", base),
                                   "name the calibration of the nearest accelerator, as in --base h100-sxm5-80gb: it "
                                   "supplies what is not measured");
  }
  cost::Calibration calibration = cost::load_calibration(loader, base);
  if (calibration.accelerator == name) return calibration;
  const auto mark_products = [&base](std::vector<cost::GemmSet>& sets) {
    for (cost::GemmSet& set : sets) {
      mark_carried_over(set.provenance, base);
      set.fit.reset();
    }
  };
  const auto mark_all = [&base](auto& sets) {
    for (auto& set : sets) mark_carried_over(set.provenance, base);
  };
  mark_products(calibration.gemm);
  if (calibration.attention_operator) {
    mark_carried_over(calibration.attention_operator->provenance, base);
    calibration.attention_operator->fit.reset();
  }
  mark_all(calibration.flash_attention);
  mark_all(calibration.transposes);
  for (auto& each : calibration.libraries) {
    mark_products(each.second.gemm);
    mark_all(each.second.flash_attention);
    mark_all(each.second.kernels);
  }
  mark_carried_over(calibration.transfer_provenance, base);
  calibration.memory_bound_fit.reset();
  calibration.name = accelerator.name;
  calibration.accelerator = name;
  calibration.machine = cost::machine_rates(accelerator);
  return calibration;
}

std::function<double(std::string_view)> peaks_of(const hardware::Accelerator& accelerator) {
  return [&accelerator](std::string_view type) {
    const auto peak = cost::product_peak(type, accelerator);
    return peak ? peak->base() : 0.0;
  };
}

Limits limits_of(const config::Loader& loader, const hardware::Accelerator& accelerator,
                 const cost::Calibration& calibration) {
  const cost::Fabrics fabrics = cost::load_fabrics(loader);
  const cost::Fabric* fabric = fabrics.find(calibration.fabric);
  CAIRN_ASSERT(fabric != nullptr);  // it was found when the calibration was loaded
  return {.peak_flops = peaks_of(accelerator),
          .link_bandwidth = calibration.transfers.domain.link_bandwidth,
          .fabric_name = calibration.fabric,
          .fabric = *fabric};
}

void count_others(std::span<const measure::MeasurementFile> files, const Rows& rows, Result& result) {
  const std::set<const measure::Measurement*> wanted(rows.begin(), rows.end());
  for (const measure::MeasurementFile& file : files) {
    for (const measure::Measurement& row : file.rows) {
      if (!wanted.contains(&row))
        result.drop(fmt::format("measured on another device: {}", row.device.empty() ? "(unnamed)" : row.device), 1);
    }
  }
}

bool is_fitted(const Result& result, std::string_view kind, std::string_view type) {
  return std::any_of(result.families.begin(), result.families.end(), [&](const FamilyResult& family) {
    return family.kind == kind && family.type == type && !family.skipped;
  });
}

// What was measured is of the libraries that run here, whichever a framework's profile names. Attention kernels stay:
// rows of attention are of an operator of benchmarks.
void leave_to_fits(Result& result) {
  for (auto& each : result.calibration.libraries) {
    cost::Libraries& libraries = each.second;
    std::erase_if(libraries.gemm, [&](const cost::GemmSet& set) { return is_fitted(result, "gemm", set.type); });
    if (is_fitted(result, "memory-bound", "any")) libraries.kernels.clear();
  }
}

void fit_all(const Rows& rows, const hardware::Accelerator& accelerator, Result& result) {
  std::map<std::string, Rows> by;
  for (const measure::Measurement* row : rows) {
    const std::string& kind = row->kind;
    const bool launch = kind == "launch" || kind == "graph";
    by[kind == "gemm" || kind == "attention" || launch ? kind
       : is_memory_bound(kind)                         ? "memory"
       : collective_of(kind)                           ? "collective"
                                                       : "other"]
        .push_back(row);
  }
  result.drop("of kinds that are not fitted", by["other"].size());
  if (by.contains("gemm")) fit_gemm(by["gemm"], peaks_of(accelerator), result);
  if (by.contains("attention")) fit_attention(by["attention"], result);
  if (by.contains("memory")) fit_memory_bound(by["memory"], result);
  if (by.contains("launch")) fit_launch(by["launch"], result);
  if (by.contains("collective")) fit_collectives(by["collective"], result);
  leave_to_fits(result);
  // The gap between kernels: of launches; else of memory-bound kernels; else the floor of 16-bit products.
  if (!is_fitted(result, "launch", "none")) {
    if (is_fitted(result, "memory-bound", "any"))
      result.calibration.gap_s = result.calibration.memory_bound.gap_s;
    else if (is_fitted(result, "gemm", "bf16"))
      result.calibration.gap_s = result.calibration.find_gemm("bf16")->parameters.launch_floor_s;
  }
}

void require_something(const Result& result, std::span<const measure::MeasurementFile> files) {
  std::vector<core::Diagnostic> why;
  for (const FamilyResult& family : result.families) {
    if (!family.skipped) return;
    core::Diagnostic diagnostic;
    diagnostic.file = files.front().file;
    diagnostic.line = files.front().rows.empty() ? 1 : files.front().rows.front().line;
    diagnostic.column = 1;
    diagnostic.message = fmt::format("{} {}: {}", family.kind, family.type, *family.skipped);
    diagnostic.hint = family.remedy;
    why.push_back(std::move(diagnostic));
  }
  if (why.empty())
    throw core::ConfigurationError("", "none of the rows is of a kind that is fitted",
                                   "gemm, attention, memory-bound kernels, launches and collectives inside a node are");
  throw core::ConfigurationError(std::move(why));
}

}  // namespace

Result calibrate(const config::Loader& loader, std::span<const measure::MeasurementFile> files,
                 const Options& options) {
  if (!can_fit()) throw core::CapabilityError("calibrating needs Eigen, which this build was made without");
  const Devices devices = devices_of(loader, files);
  Result result;
  result.accelerator = chosen_accelerator(loader, devices, options.accelerator);
  const Rows rows = rows_of(files, devices, options, result.accelerator);
  const hardware::Accelerator accelerator = hardware::load_accelerator(loader, result.accelerator);
  result.calibration = base_calibration(loader, options, result.accelerator, accelerator);
  count_others(files, rows, result);
  for (const measure::MeasurementFile& file : files)
    result.warnings.insert(result.warnings.end(), file.warnings.begin(), file.warnings.end());
  require_usable(files, rows, limits_of(loader, accelerator, result.calibration));
  fit_all(rows, accelerator, result);
  require_something(result, files);
  require_agreement(result, files);
  return result;
}

std::string calibration_yaml(const Result& result) {
  core::Diagnostics diagnostics;
  const config::Node node =
      config::parse_text(config::to_json(result.calibration), config::Syntax::json, "calibration", diagnostics);
  diagnostics.raise_if_errors();
  return "# Written by `cairn calibrate`. The forms are in "
         "include/cairn/cost/{gemm,attention,memory_bound,transfer}.h;\n"
         "# efficiencies are relative to the rates under `machine`. `fit`: scores as fractions, in sample and of\n"
         "# predictions of groups that the fit did not see; quantiles of measured / predicted - 1.\n" +
         config::to_yaml(node);
}

}  // namespace cairn::calibrate
