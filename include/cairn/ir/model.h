// A model: a run-length list of layer classes. 126 equal layers are one class with count 126.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cairn/ir/graph.h"

namespace cairn::ir {

// Where a layer may sit in a pipeline: entry layers stay with the first body layer, exit layers with the last.
enum class Position : std::uint8_t { entry, body, exit };

struct LayerClass {
  std::string name;
  Position position = Position::body;
  Graph graph;
};

struct LayerRun {
  std::int32_t layer_class = 0;
  std::int64_t count = 1;
};

struct Model {
  std::string name;
  std::vector<LayerClass> classes;
  std::vector<LayerRun> layers;

  std::int64_t body_layers() const;
  // Elements of all parameters; tied ones counted once.
  std::int64_t parameters() const;
  // FLOPs of the contractions of one forward pass at `sizes`, of attention the unmasked pairs alone or full, whatever
  // kernel runs it (ir/operator.h); of iterations that data spread over ranks those of an even spread, without what
  // pads them.
  double forward_flops(const loopnest::Sizes& sizes, bool unmasked) const;
};

}  // namespace cairn::ir
