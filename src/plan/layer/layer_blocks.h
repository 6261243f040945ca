// The blocks of one layer class on one rank.
//
// Forward runs the operators in order. Backward starts from what forward kept; recomputed regions run again right
// before the first backward operator that reads one of their results.
#pragma once

#include <functional>
#include <vector>

#include "cairn/plan/layer.h"
#include "kept_tensors.h"
#include "layer_pass.h"

namespace cairn::plan {

class BlockBuilder;

class LayerBlocks {
 public:
  // Called with the builder when the block is complete.
  using Observer = std::function<void(const BlockBuilder&)>;

  // Both must outlive it.
  LayerBlocks(const RankLayer& layer, const KeptTensors& kept);

  // `gathered`: elements of parameters that `parameter_gather` gathers.
  Block forward(const GradientSync& parameter_gather, const PerGroup<double>& gathered, const UnitTraffic& traffic,
                Term term, const Observer& observe) const;
  Block backward(const GradientSync& gradient_sync, const UnitTraffic& traffic, const Observer& observe) const;
  // Throws core::ConfigurationError where halves of the tokens take turns.
  LayerLowering::Split split(const GradientSync& gradient_sync, const UnitTraffic& first_traffic,
                             const UnitTraffic& second_traffic, const Observer& observe) const;

 private:
  void begin_backward(BlockBuilder& builder) const;
  void end_backward(BlockBuilder& builder) const;
  // By operator: whether it makes gradients of parameters alone.
  std::vector<char> weight_gradient_operators() const;

  const RankLayer& layer_;
  const KeptTensors& kept_;
  LayerPass forward_;
  LayerPass backward_;
  std::vector<ir::OperatorId> operators_;  // of a forward pass
  std::vector<ir::TensorId> data_;         // activations that come from outside the model
};

}  // namespace cairn::plan
