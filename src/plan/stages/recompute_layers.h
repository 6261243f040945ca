// Which layers recompute, and groups of layers that recompute together (RecomputeMethod::uniform).
//
// A group saves only the input of its first layer. In backward the whole group runs forward again, saving what layers
// without recomputation save, and then backward, last layer first:
//   forward    first: keeps its input   others: keep nothing
//   backward   forward again of all, then backward of all in reverse
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cairn/plan/strategy.h"
#include "layer/lowered_layer.h"
#include "vocabulary.h"

namespace cairn::plan {

// Whether recomputation is done by groups of more than one layer.
bool recomputes_in_groups(const Structure& structure);

// The longest run of body layers that all recompute, or all do not, from layer `layer` of the model on; `local` is its
// position in the virtual stage.
struct RecomputeStretch {
  std::int64_t layers = 0;
  bool recomputes = true;
};
RecomputeStretch recompute_stretch(const RecomputeLayers& layers, std::int64_t layer, std::int64_t local);

struct RecomputeGroup {
  std::size_t first_stretch = 0;  // of the forward pass
  std::size_t stretches = 0;
  std::vector<Stretch> again;     // in forward order
  std::vector<Stretch> backward;  // in forward order
};

// Returns the lowered layer of a class. `inputs_held`: LayerOptions::inputs_held; `recomputes`: as the plan says, or
// not.
using LayerOf = std::function<LoweredLayer&(std::int32_t layer_class, std::uint32_t inputs_held, bool recomputes)>;

// Appends the forward stretches of one group to `stretches`. `held_below`: bits of the first layer's inputs that the
// layer below it saves anyway.
RecomputeGroup append_group(const std::vector<std::int32_t>& classes, std::uint32_t held_below, const LayerOf& layer,
                            std::vector<Stretch>& stretches);
void append_group_backward(Pass& pass, const RecomputeGroup& group, Half half, const GradientSync* sync);

}  // namespace cairn::plan
