// What each layer of an experiment's model takes of a plan that shares all layers alike, by the prices of its machine.
//
//   T(k)      a step of k micro-batches of the plan with all layers in one stage, by the analytic engine
//   T'(k)     the same with nothing sharded where each pass exchanges parameters or gradients (ZeRO 2 and 3); else T(k)
//   P, P'     T(k + 1) - T(k), T'(k + 1) - T'(k), at k = min(m, 2) of m micro-batches
//   a, e      of layer l, what its block takes alone: from all streams free until all are free again; its parameters
//
//   forward   P' a_f / sum (a_f + a_b) + g (P - P') e / sum e           of a micro-batch
//   backward  P' a_b / sum (a_f + a_b) + (1 - g) (P - P') e / sum e
//   once      (T(k) - k P - H) e / sum e                                of a step: gradients reduced at its end, the
//                                                                       update, parameters gathered then
//   g         what of exchanges is forward: under ZeRO 3 one of three, of two where parameters stay gathered; else 0
//   H         what the host takes of a step by itself, on every device (host_per_step)
//
// So m (forward + backward) + once, summed over all layers, with H is T(m) but for rounding, once micro-batches follow
// each other alike. Layers of one class are alike; the embedding and the head are layers, too. Memory of a device:
//
//   state      p + g + o, each divided by the copies that shard it: parameters, gradients, the optimizer's state; with
//              workspace that is free at the end of a pass only
//   saved      kept from forward to backward, of each micro-batch under way
//   transient  the most that lives within a pass beside these, gathered parameters and buckets among it
//
// The allocator's factor (framework) is on all that comes and goes. Parameters that several layers share count in each;
// `tied` is what a device that holds them for another layer already has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cairn/core/quantity.h"
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
  core::Picoseconds once = 0;  // of a step, beside its passes
  std::int64_t state = 0;      // bytes
  std::int64_t tied = 0;       // bytes, of `state`: parameters that other layers share, and what goes with them
  std::int64_t saved = 0;      // bytes
  std::int64_t transient = 0;  // bytes
  std::int64_t moved = 0;      // bytes, of `transient`: gathered parameters, gradients and buckets on their way
  std::int64_t gathered = 0;   // bytes of the layer's parameters as copies would gather them
  std::int64_t reduced = 0;    // bytes of its gradients as copies would reduce them
};

// Memory of a device beside what its process, libraries and driver hold.
core::Bytes room_for_layers(const experiment::Parts& parts);

// Bytes of one sequence between two layers.
double stream_bytes(const experiment::Settings& settings, const experiment::Parts& parts);

inline constexpr std::int64_t k_most_told_apart = 1024;  // layers

class LayerPrices {
 public:
  // Refers to both, which must outlive it.
  LayerPrices(const experiment::Settings& settings, const experiment::Parts& parts);
  ~LayerPrices();
  LayerPrices(const LayerPrices&) = delete;
  LayerPrices& operator=(const LayerPrices&) = delete;

  // By class of layer, in the order of ir::Model::classes. `resolved`: of these parts; its strategy holds, whatever its
  // stages are. Throws core::ConfigurationError for layers that do not split so, and where some layers run again and
  // others do not, or groups of them do together (strategy.recompute: method, count, layers).
  std::vector<LayerCost> costs(const experiment::Resolved& resolved);
  core::Picoseconds time(const program::Transfer& transfer);  // 0 where nothing is sent
  core::Picoseconds host_per_step();

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
