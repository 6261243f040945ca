// What the operators of a layer must move between device memory and the chip: each on its own (operator_floor.h),
// fused, and at least.
//
// Fused: consecutive operators that are no contractions become one when all they hand to each other has the same rows
// and one row of everything they touch fits on the chip: then row by row nothing that only they use leaves it. Such a
// group moves exactly its border, which is also its lower bound. Sum over groups = `fused`; contractions stay alone.
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

struct FusedGroup {
  std::vector<std::size_t> operators;
  double bytes = 0.0;      // its border: contractions alone move at least so much
  double row_bytes = 0.0;  // of everything it touches, one row; 0: a single operator
};

struct LayerFloor {
  std::vector<OperatorFloor> operators;
  std::vector<FusedGroup> groups;
  std::array<double, k_operator_classes> flops{};  // by class
  std::array<double, k_operator_classes> bytes{};  // by class, lower_bytes of each operator
  double separate = 0.0;                           // sum over operators of lower_bytes: every operator through memory
  double fused = 0.0;   // sum over groups: contractions their lower_bytes, others their border
  double border = 0.0;  // inputs, parameters and outputs of the layer, each once
  double lower_bytes = 0.0;
  std::string method;  // of lower_bytes
};

// Whole operators at `sizes`, undivided. `backward`: the derivative's operators as well; what forward keeps for them is
// then inside. Without it only the layer's outputs are stored. `on_chip_bytes` > 0.
LayerFloor layer_floor(const ir::Graph& graph, const loopnest::Sizes& sizes, double on_chip_bytes, bool backward);

}  // namespace cairn::cost
