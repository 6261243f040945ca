// What the operators of a layer must move between device memory and the chip: each on its own (operator_floor.h),
// fused, and at least.
//
// Fused: consecutive operators run as one in the tiles that move least (fusion.h): all of them, or all that are no
// contractions, against each one in its own best tiles.
//
// At least: whatever is fused with whatever,
//   lower_bytes = max( border of the layer, sum over contractions of their bounds with inner tensors free )
// The second holds by decomposition: the parts are disjoint, tensors made and used inside cost nothing in either, a
// parameter is charged to the first operator that reads it. Red-blue-white game: recomputed values are operators of
// their own.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cairn/cost/fusion.h"
#include "cairn/cost/operator_floor.h"

namespace cairn::cost {

struct OperatorFloor {
  std::string name;
  OperatorClass kind = OperatorClass::elementwise;
  ir::Phase phase = ir::Phase::forward;
  double flops = 0.0;
  double alone_bytes = 0.0;
  double lower_bytes = 0.0;
  std::string method;  // of lower_bytes
  std::size_t group = 0;
};

struct LayerFloor {
  std::vector<OperatorFloor> operators;
  std::vector<FusedGroup> groups;
  std::array<double, k_operator_classes> flops{};  // by class
  std::array<double, k_operator_classes> bytes{};  // by class, lower_bytes of each operator
  double separate = 0.0;                           // sum over operators of lower_bytes: every operator through memory
  double unfused = 0.0;                            // moved when each operator runs alone in its best tiles
  double fused_rows = 0.0;                         // moved when all operators but contractions are fused
  double fused = 0.0;                              // moved when contractions are fused too: sum over groups
  double written_copies = 0.0;  // moved by layout copies (layout.h) when tensors keep the declared order of dimensions
  double chosen_copies = 0.0;   // the same in the best orders found
  std::vector<std::pair<std::string, std::string>>
      reordered;        // tensors whose best order differs from the declared one, and that order
  double border = 0.0;  // inputs, parameters and outputs of the layer, each once
  double lower_bytes = 0.0;
  std::string method;  // of lower_bytes
};

// Whole operators at `sizes`, undivided. `backward`: the derivative's operators as well; what forward keeps for them is
// then inside. Without it only the layer's outputs are stored. `on_chip_bytes` > 0.
LayerFloor layer_floor(const ir::Graph& graph, const loopnest::Sizes& sizes, double on_chip_bytes, bool backward);

}  // namespace cairn::cost
