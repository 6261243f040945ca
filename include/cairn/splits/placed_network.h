// A network on a cluster: what placements its operators have there and what each costs, and which of them are asked for.
//
//   strategy file, YAML or JSON; also the document of an answer (cairn.placements/1), which holds one
//     network: alexnet                of models/network.h, or a file that ends in .onnx
//     batch: 128
//     format: bf16                    of values, parameters and gradients; statistics stay in fp32
//     cluster: {file: dgx-a100, nodes: 4}
//     axes: [4, 8]                    devices along each axis, outermost first; left out: every accelerator, by level
//     placements: {conv1: S(b) S(b)}  per operator what each axis does; splits/signature.h
//     annotations: {fc6.weight: "* S(n)"}  in place of placements: some tensors, from which the rest follows;
//                                          splits/propagation.h
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cairn/config/fields.h"
#include "cairn/config/loaded.h"
#include "cairn/config/loader.h"
#include "cairn/config/node.h"
#include "cairn/core/quantity.h"
#include "cairn/splits/autoddl.h"
#include "cairn/splits/cluster_mesh.h"

namespace cairn::splits {

// Of a pipeline; splits/staged_network.h.
struct StageStrategy {
  std::vector<std::int64_t> axes = {};
  std::vector<std::pair<std::string, std::string>> placements = {};
};
void describe(config::Fields& fields, StageStrategy& stage);

struct PlacementStrategy {
  std::string network = {};
  std::int64_t batch = 0;  // 0: the network's own
  std::string format = "bf16";
  config::Node cluster = {};
  std::vector<std::int64_t> axes = {};
  std::vector<std::pair<std::string, std::string>> placements = {};   // of each operator
  std::vector<std::pair<std::string, std::string>> annotations = {};  // of some tensors, in place of placements
  std::int64_t micro_batches = 1;
  std::vector<StageStrategy> stages = {};  // in place of axes, placements and annotations
};
void describe(config::Fields& fields, PlacementStrategy& strategy);

// `file` as it was loaded, with where each key was written. An ONNX file is looked for beside it, then in the working
// folder. Throws core::ConfigurationError with everything wrong in it.
config::Loaded<PlacementStrategy> read_strategy(const config::Node& file);

class PlacedNetwork {
 public:
  // `devices`: the first so many accelerators, where the strategy has no axes; 0: all. Its placements count only when
  // they are asked for. Throws core::ConfigurationError at the strategy's keys, at `devices`, and at `axes` where the
  // costs of all pairs of placements would not fit into memory.
  PlacedNetwork(const PlacementStrategy& asked, std::int64_t devices, const config::Loader& loader);

  const Mesh& mesh() const { return mesh_->mesh(); }
  const std::string& cluster() const { return cluster_; }  // its name
  const PlacementProblem& problem() const { return problem_; }
  // Bytes of a device that placements may fill: what the accelerator has, less what driver, context and communicators take.
  core::Bytes memory() const { return memory_; }
  // The works are priced once more: what prices rest on is said of them alone, not of all that was compared.
  PlacementAnswer explain(std::span<const choice::Option> options);
  // The time of the step as a Program, by the executor of every Program: that of the answer, as nothing overlaps.
  core::Picoseconds run(const PlacementAnswer& answer);
  // The placements of the strategy, or those that follow from its annotations. Throws core::ConfigurationError with
  // every operator that has none, or one that it cannot have.
  std::vector<choice::Option> asked() const;
  // The strategy with batch, mesh and these placements written out, and a cluster of the user's own as its block: what
  // it means stays the same elsewhere.
  PlacementStrategy strategy(std::span<const choice::Option> options) const;

  std::vector<std::string> assumptions();
  std::vector<std::string> warnings();

 private:
  std::vector<choice::Option> propagated() const;

  PlacementStrategy strategy_;
  std::string cluster_;
  std::vector<std::string> assumptions_;
  core::Bytes memory_ = {};
  std::unique_ptr<ClusterMesh> mesh_;
  PlacementProblem problem_;
};

}  // namespace cairn::splits
