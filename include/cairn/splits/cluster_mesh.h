// The accelerators of a cluster as a mesh, with calibrated prices of what they do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cairn/cost/calibration.h"
#include "cairn/hardware/accelerator.h"
#include "cairn/hardware/cluster.h"
#include "cairn/hardware/host_times.h"
#include "cairn/predict/price/cost_pricer.h"
#include "cairn/splits/autoddl.h"

namespace cairn::splits {

// Whether the first `devices` accelerators leave no domain of a level that they reach beyond half used.
bool fills_units(const hardware::Network& network, std::int64_t devices);
// One axis for each level of the network that the first `devices` accelerators span, named as the level is.
// Errors: core::ConfigurationError at `devices` for more than the cluster has, or as many as leave a unit of a level
// half used.
Mesh mesh_of(const hardware::Network& network, std::int64_t devices);
// Axes of these sizes, outermost first. Errors: the same for their product, at `axes`.
Mesh mesh_of(const hardware::Network& network, const std::vector<std::int64_t>& sizes);

class ClusterMesh {
 public:
  // `calibration`: of the accelerator, with the prices of the network's fabric. `state_bytes`: as PlacementSetup has it.
  ClusterMesh(Mesh mesh, hardware::Accelerator accelerator, hardware::Network network, cost::Calibration calibration,
              double state_bytes);
  ClusterMesh(const ClusterMesh&) = delete;
  ClusterMesh& operator=(const ClusterMesh&) = delete;

  const Mesh& mesh() const { return mesh_; }
  // This must outlive it.
  PlacementSetup setup() { return {.mesh = mesh_, .pricer = *pricer_, .sizes = {}, .state_bytes = state_bytes_}; }
  // Prices from here on are the same, and what they rest on counts anew. Setups end here.
  void start_over();
  // What the prices given so far rest on, and which of them lie outside the measurements.
  std::vector<std::string> assumptions();
  std::vector<std::string> warnings();

 private:
  Mesh mesh_;
  hardware::Accelerator accelerator_;
  hardware::Network network_;
  cost::Calibration calibration_;
  hardware::HostTimes host_ = {};
  double state_bytes_ = 0.0;
  std::optional<predict::CostPricer> pricer_;
};

}  // namespace cairn::splits
