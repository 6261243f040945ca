// What settings apply to: a model, a machine, the software that trains, and what the machine's kernels and transfers
// were measured to take. Each is read from files by its name, or made in C++.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cairn/config/loader.h"
#include "cairn/config/node.h"
#include "cairn/cost/calibration.h"
#include "cairn/experiment/interval.h"
#include "cairn/hardware/files.h"
#include "cairn/models/huggingface.h"
#include "cairn/models/transformer_config.h"
#include "cairn/software/files.h"

namespace cairn::experiment {

// A calibration adapted to one machine: scaled to its accelerator's figures (cost/carried.h), with its fabric's prices.
struct Calibrated {
  cost::Calibration calibration = {};
  std::string carried = {};  // how the accelerator's figures differ from those of the calibration; empty: they do not
};

struct Parts {
  models::TransformerConfig model = {};
  hardware::Machine machine = {};
  software::Software software = {};
  Calibrated calibrated = {};
  std::optional<IntervalTable> intervals = {};  // how far predictions of measured runs were off
};

// `reference`: a name of configs/calibration, {file: name, overriding keys} or the whole block; null: the accelerator's
// own. `libraries`: releases of libraries that the framework runs (cost/calibration.h). Throws
// core::ConfigurationError at `calibration` where there is none or the accelerator has another, and at
// `cluster.inter.fabric` for a fabric that was never calibrated.
Calibrated load_calibrated(const config::Loader& loader, const hardware::Machine& machine,
                           const config::Node& reference = {}, std::string_view libraries = {});

}  // namespace cairn::experiment
