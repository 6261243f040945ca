// What a strategy names, read: the network, and the machine with its prices.
#pragma once

#include <string>
#include <vector>

#include "cairn/core/quantity.h"
#include "cairn/cost/calibration.h"
#include "cairn/hardware/files.h"
#include "cairn/models/network.h"
#include "cairn/splits/placed_network.h"

namespace cairn::splits {

struct AskedNetwork {
  models::Network network = {};  // of a micro-batch
  hardware::Machine machine = {};
  config::Node reference = {};  // to its cluster, as it can be read from anywhere
  cost::Calibration calibration = {};
  std::vector<std::string> assumptions = {};  // that the calibration rests on
  double state_bytes = 0.0;                   // of Adam for each element of a parameter

  std::unique_ptr<ClusterMesh> on(Mesh mesh) const;
};

// Throws core::ConfigurationError at the strategy's keys; the micro-batches divide the batch.
AskedNetwork read_asked(const PlacementStrategy& asked, const config::Loader& loader);

// What prices of all works rest on is counted anew, of these alone.
void price_again(ClusterMesh& mesh, const std::vector<PlacedWork>& works);

}  // namespace cairn::splits
