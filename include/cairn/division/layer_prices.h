// What each layer of an experiment's model takes under one plan for all of them, by the prices of its machine: the
// blocks that a Lowering makes of the layer, run alone, and the exchanges of its parameters and gradients with the
// ranks that hold copies of them.
//
//   forward    F, or max(F, gather) where parameters are sharded and gathered ahead          of a micro-batch
//   backward   B, or max(B, gather + reduce) where they are, and where each micro-batch's gradients are reduced
//   once       what else of reducing gradients, and of gathering updated parameters, the layer's own last backward
//              pass, and its own first forward pass, do not hide
//
// F and B: the block from the moment at which all streams are free until the last of them is; its collectives with the
// ranks that share the layer are in it. Layers of one class are alike; the embedding and the head are layers, too.
// Memory of a device:
//
//   state      p + (g + o) / n, ..., by what the n copies shard: parameters, gradients, the optimizer's state
//   saved      kept from forward to backward, of each micro-batch under way
//   transient  the most that lives within a pass beside these, gathered parameters among them
//
// Parameters that several layers share count in each of them. The update of the parameters is left out of the times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cairn/core/time.h"
#include "cairn/experiment/parts.h"
#include "cairn/experiment/resolve.h"
#include "cairn/experiment/settings.h"
#include "cairn/ir/model.h"
#include "cairn/program/work.h"

namespace cairn::division {

// Adds up times. Throws core::OutOfRange beyond what simulated time reaches.
inline void add_time(core::Picoseconds& sum, core::Picoseconds time) {
  if (sum > core::k_reach - time) core::raise_beyond_reach(core::to_seconds(sum) + core::to_seconds(time));
  sum += time;
}

struct LayerCost {
  core::Picoseconds forward = 0;
  core::Picoseconds backward = 0;
  core::Picoseconds once = 0;  // of a step
  std::int64_t state = 0;      // bytes
  std::int64_t saved = 0;      // bytes
  std::int64_t transient = 0;  // bytes
  std::int64_t gathered = 0;   // bytes of the layer's parameters as copies would gather them
  std::int64_t reduced = 0;    // bytes of its gradients as copies would reduce them
};

inline constexpr std::int64_t k_most_told_apart = 1024;  // layers

class LayerPrices {
 public:
  // Refers to both, which must outlive it.
  LayerPrices(const experiment::Settings& settings, const experiment::Parts& parts);
  ~LayerPrices();
  LayerPrices(const LayerPrices&) = delete;
  LayerPrices& operator=(const LayerPrices&) = delete;

  // By class of layer, in the order of ir::Model::classes. `resolved`: of these parts; its strategy holds, whatever its
  // stages are. Throws core::ConfigurationError for layers that do not split so.
  std::vector<LayerCost> costs(const experiment::Resolved& resolved);
  core::Picoseconds time(const program::Transfer& transfer);  // 0 where nothing is sent

  // The classes, and that of every layer from the embedding to the head.
  struct Layers {
    std::vector<std::string> classes = {};     // their names
    std::vector<ir::Position> positions = {};  // of each class
    std::vector<std::size_t> of = {};
    std::string name(std::size_t layer) const;  // "embedding", "layer 1", ...
    bool in_body(std::size_t layer) const { return positions[of[layer]] == ir::Position::body; }
  };
  // Throws core::ConfigurationError for more than k_most_told_apart.
  Layers layers(const experiment::Resolved& resolved);

  // What the prices given so far rest on, and what lies beyond what was measured.
  std::vector<std::string> assumptions() const;
  std::vector<std::string> warnings() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace cairn::division
