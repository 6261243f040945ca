// The figures of a machine that prices depend on, each as something that can be scaled.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cairn/config/units.h"
#include "cairn/experiment/job.h"

namespace cairn::sweep {

// Everything that a plan's prices are made from, to be changed at will.
struct PricedMachine {
  cost::Calibration calibration = {};  // of `accelerator`
  hardware::Accelerator accelerator = {};
  hardware::Network network = {};
  hardware::HostTimes host_times = {};
  std::optional<hardware::Host> host = {};

  explicit PricedMachine(const experiment::Parts& parts);
};

struct Figure {
  std::string name = {};
  config::Dimension dimension = config::Dimension::bytes_per_second;
  std::optional<double> value = {};
  std::function<void(PricedMachine& machine, double factor)> scale = {};

  bool is_time() const { return dimension == config::Dimension::seconds; }
};

// In the order of the experiment's keys. Figures that are 0 are left out: nothing is a multiple of 0.
std::vector<Figure> figures_of(const experiment::Job& job);

}  // namespace cairn::sweep
