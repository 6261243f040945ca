// A layer class lowered under one set of options, with the blocks of it that also move parameters or gradients.
#pragma once

#include <memory>
#include <unordered_map>

#include "cairn/plan/layer.h"
#include "interned.h"
#include "vocabulary.h"

namespace cairn::plan {

// The tensors that pass from one layer to the next, on one rank.
struct LayerBorder {
  double bytes = 0.0;
  bool replicated = false;  // the last of them is whole on every rank of the first rule's axis
};

class LoweredLayer {
 public:
  LoweredLayer(const ir::LayerClass& layer_class, LayerOptions options);

  // The forward block after a gather of its parameters, and the backward block with the reduction of its gradients.
  // Each variant is made once.
  const Block* gathering(const GradientSync& sync) { return synchronised(Part::forward, sync); }
  const Block* reducing(const GradientSync& sync) { return synchronised(Part::backward, sync); }
  // The forward block run again in backward (recomputation).
  const Block* recomputation() {
    if (!recomputation_) recomputation_ = std::make_unique<Block>(lowering.recomputation());
    return recomputation_.get();
  }

  // The backward block split into input and weight gradient; the latter also with the reduction of its gradients.
  const LayerLowering::Split& split() {
    if (!split_) split_ = std::make_unique<LayerLowering::Split>(lowering.split_backward());
    return *split_;
  }
  const Block* reducing_weights(const GradientSync& sync) { return synchronised(Part::weight_gradient, sync); }

  // A block with FSDP gathers or offload copies (UnitTraffic), and the elements whose reduction still runs at its end.
  struct Moving {
    Block block;
    PerGroup<double> in_flight;
  };
  enum class Part : std::uint8_t { backward, forward, input_gradient, weight_gradient };
  const Moving& moving(Part part, const GradientSync& sync, const UnitTraffic& traffic);

  LayerLowering lowering;
  Block forward;
  Block backward;
  LayerBorder below;  // its inputs
  LayerBorder above;  // its outputs

 private:
  LayerBorder border(const std::vector<ir::TensorId>& tensors) const;

  const Block* synchronised(Part part, const GradientSync& sync) {
    static const UnitTraffic k_none;
    return &moving(part, sync, k_none).block;
  }
  std::unique_ptr<Block> recomputation_;
  std::unique_ptr<LayerLowering::Split> split_;
  // Cache key of a block. Look-ups pass references, since the key is large.
  template <class Sync, class Traffic>
  struct BlockKeyOf {
    Part part = Part::backward;
    Sync sync;
    Traffic traffic;
  };
  using BlockKey = BlockKeyOf<GradientSync, UnitTraffic>;
  using BlockView = BlockKeyOf<const GradientSync&, const UnitTraffic&>;
  struct BlockHash {
    using is_transparent = void;
    std::size_t operator()(const BlockKey& key) const { return (*this)(BlockView{key.part, key.sync, key.traffic}); }
    std::size_t operator()(const BlockView& key) const;
  };
  struct SameBlock {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return a.part == b.part && a.sync == b.sync && a.traffic == b.traffic;
    }
  };
  std::unordered_map<BlockKey, std::unique_ptr<Moving>, BlockHash, SameBlock> moving_;
};

// A run of equal layers inside a virtual stage.
struct Stretch {
  LoweredLayer* layer;
  std::int64_t count;
  bool owns_ties = true;  // it is the first on its device to hold its tied parameters, so it gathers and reduces them
  friend bool operator==(const Stretch&, const Stretch&) = default;
};

void append(Pass& pass, const Block* block, std::int64_t count);
// Appends the stretch forward, each layer after a gather of its parameters. Of layers that share parameters the first
// to run gathers them.
void append_gathering(Pass& pass, const Stretch& stretch, const GradientSync& sync);
enum class Half : std::uint8_t { both, input_gradient, weight_gradient };  // which parts of backward a pass runs
// Appends the stretch backward; with `sync` not null, whole or weight-gradient parts also reduce gradients. Of layers
// that share parameters, the one that completes the gradient last reduces it; of layers that share a bucket, the last.
void append_backward(Pass& pass, const Stretch& stretch, Half half, const GradientSync* sync);

}  // namespace cairn::plan
