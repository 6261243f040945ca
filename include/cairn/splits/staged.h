// A network as a pipeline: consecutive operators in stages, each placed in its own way on a submesh of its own (Alpa).
//
//   T = sum over stages t_s + (B - 1) max t_s             B micro-batches
//   t_s = least over placements of   kernels + statistics + boxing + border + parameter gradients / B
//         with     parameters + min(B, stages from here on) x saved tensors <= memory of a device
//
// all as autoddl.h has them for the whole network, of the stage's operators alone. Its borders are
//
//   leaving      what operators of later stages read becomes whole, as what leaves the network does, and its gradient
//                comes back from there: a partial sum is added up before it is sent
//   receiving    a tensor made before the stage comes in once, in the placement E without P that is cheapest for the
//                first reader: message(part of E) + boxing from E to what it reads, and the same way back for the
//                gradient. The other readers box from E. So a replicated reader gets whole copies, or slices that the
//                stage gathers itself, whichever takes less.
//   message      a device sends the part that one device of the stage receives to it; the stage that receives is
//                charged. That a smaller stage has fewer devices to send is not seen, as stages are priced by
//                themselves.
//   parameters   every stage that reads a parameter keeps it and makes its gradient whole. Where stages before it keep
//                it, too, two messages of its part, once a step, take the gradient there and bring the sum back.
//   memory       a tensor counts in each stage that reads it in a derivative, where it is made or as it was received,
//                and where readers keep it in other placements. In a stage that only makes it, it does not count.
//
// Sums of gradients of a tensor with several readers are priced where it is made.
//
// Operators are first joined into layers, of which stages are made (clusters()); a layer's operators stay together. The
// least t_s is exact where memory does not decide (elimination), and with its bound where it does (choice/within.h); the
// stages are exact over these (partition/stage_plan.h). What a step takes once is shared out in whole picoseconds,
// rounded up, for each operator and each link between two.
//
// Example: x W of 8 x 8 fp32 by S(k), its result read in the next stage; 2 devices a stage, links of b bytes/s without
// latency. The first stage scatters the sum (1/2 x 256 / b) and gathers its gradient (as much). The next stage reads
// the batch in parts: messages of 128 / b each way.
//
// Source: L. Zheng et al., "Alpa: Automating Inter- and Intra-Operator Parallelism for Distributed Deep Learning",
// OSDI 2022 (arXiv 2201.12023). It solves the placements of a stage by integer programming; elimination finds the same.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "cairn/partition/stage_plan.h"
#include "cairn/splits/autoddl.h"

namespace cairn::splits {

// `layers` parts of consecutive operators, or one part an operator where these are fewer. None has more than (1 +
// slack) times the average FLOPs unless it is one operator; of all such cuts one where the most bytes that any part
// reads from operators before it are least. Where there is no such cut, the slack is doubled, to 1 at least.
std::vector<OperatorRange> clusters(const ir::Graph& graph, const loopnest::Sizes& sizes, std::int64_t layers,
                                    double slack = 0.5);

// A submesh that stages may take.
struct StageMesh {
  const PlacementProblem& problem;  // of the network at the size of a micro-batch: placed_operators() will do
  PlacementSetup setup;             // its pricer has prices of messages: of sends to a device of the next stage
};

struct StagedRequest {
  std::vector<OperatorRange> layers = {};
  std::int64_t devices = 1;
  std::int64_t micro_batches = 1;
  double memory = 0.0;  // bytes of a device
};

struct PlacedStage {
  OperatorRange operators = {};
  std::size_t submesh = 0;
  std::vector<choice::Option> options = {};  // of its operators, on that submesh
  core::Picoseconds time = 0;                // t, of one micro-batch
  double memory = 0.0;                       // bytes of a device
};

// Stages as they are given: fills in times and memory of each from its operators, submesh and options. The works of
// explain() of the same range take the time, what a step takes once shared out.
void price_stages(std::vector<PlacedStage>& stages, std::span<const StageMesh> submeshes, const StagedRequest& request);

struct StagedAnswer {
  std::vector<PlacedStage> stages = {};
  core::Picoseconds total = 0;
  core::Picoseconds bottleneck = 0;
  std::size_t priced = 0;  // stages whose placements were searched
};

// Nothing where nothing fits. `progress`: how many stages' placements were searched so far. Errors:
// core::ConfigurationError at `cluster` where a stage's costs of pairs would not fit into memory, or its exact search
// would look at too many combinations.
std::optional<StagedAnswer> stage(std::span<const StageMesh> submeshes, const StagedRequest& request,
                                  const std::function<void(std::size_t)>& progress = {});

}  // namespace cairn::splits
