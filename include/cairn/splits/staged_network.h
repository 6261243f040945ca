// A network on a cluster as a pipeline: the best stages (Alpa), and given ones.
//
//   strategy file: as placed_network.h has it, with
//     micro_batches: 16                            of the batch
//     stages:                                      in place of axes and placements
//       - {axes: [8], placements: {conv1: S(b)}}   devices along its axes, and operators that follow
//                                                    those of the stage before
//
// Two times: planned is Alpa's T (staged.h); time is that of the stages under a 1F1B schedule, forward and backward
// passes by themselves, which is what `cairn run` takes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cairn/splits/placed_network.h"
#include "cairn/splits/staged.h"

namespace cairn::splits {

struct NetworkStages {
  std::vector<PlacedStage> stages = {};
  core::Picoseconds planned = 0;
  core::Picoseconds time = 0;
  double memory = 0.0;     // bytes of the fullest device
  std::size_t priced = 0;  // stages whose placements were searched; 0: the stages were given
};

class StagedNetwork {
 public:
  // Throws core::ConfigurationError at the strategy's keys.
  StagedNetwork(const PlacementStrategy& asked, const config::Loader& loader);
  ~StagedNetwork();

  // Over `layers` layers and every accelerator of the cluster, on those of Alpa's submeshes that leave no domain of a
  // level half used. Nothing where nothing fits. Throws core::ConfigurationError at `micro_batches`, before it
  // searches, for more passes than can be run.
  std::optional<NetworkStages> search(std::int64_t layers, const std::function<void(std::size_t)>& progress = {});
  // The stages of the strategy, which has some. Throws core::ConfigurationError with what they lack, and at `stages`
  // for more accelerators than the cluster has.
  NetworkStages asked();

  const std::string& cluster() const;  // its name
  core::Bytes memory() const;          // that placements of a device may fill
  // The strategy with these stages written out.
  PlacementStrategy strategy(const NetworkStages& stages) const;
  // What the prices of these stages rest on.
  std::vector<std::string> assumptions(const NetworkStages& stages);
  std::vector<std::string> warnings(const NetworkStages& stages);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace cairn::splits
