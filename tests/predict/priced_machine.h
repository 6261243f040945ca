// A shipped cluster and calibration, and the prices that follow.
#pragma once

#include <string>
#include <vector>

#include "cairn/hardware/files.h"
#include "cairn/predict/price/cost_pricer.h"
#include "support/shipped.h"

namespace cairn::testing {

struct PricedMachine {
  PricedMachine(const std::string& cluster, const std::string& calibration_name,
                const std::vector<std::string>& overrides = {})
      : loader(shipped()),
        machine(hardware::load_machine(loader, cluster, overrides)),
        calibration(cost::load_calibration(loader, calibration_name)),
        pricer(calibration, machine.accelerator.value, machine.network, fitted),
        prices(pricer) {}
  PricedMachine(const PricedMachine&) = delete;
  PricedMachine& operator=(const PricedMachine&) = delete;

  config::Loader loader;
  hardware::Machine machine;
  cost::Calibration calibration;
  hardware::HostTimes fitted;
  predict::CostPricer pricer;
  predict::PriceTable prices;
};

}  // namespace cairn::testing
