// A layer class as one rank holds it: placements of its tensors, their bytes, and the iterations of its operators.
//
// Placements follow from the split rules of the options (program/placement.h); a rule does not apply to tensors of the
// other mesh. Nothing here depends on an execution.
#pragma once

#include <cstdint>
#include <vector>

#include <boost/container/static_vector.hpp>

#include "cairn/plan/layer.h"
#include "vocabulary.h"

namespace cairn::plan {

// The placements of one tensor, one for each split rule.
using Placements = boost::container::static_vector<Placement, k_axes>;

// Position of a tensor or an operator in a list parallel to those of its graph.
inline std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

// The tensor whose memory this one lives in.
inline ir::TensorId storage(const ir::Graph& graph, ir::TensorId tensor) {
  while (graph.tensor(tensor).alias_of != ir::k_no_tensor) tensor = graph.tensor(tensor).alias_of;
  return tensor;
}

// Whether it is a weight gradient that a separate operator then adds to the accumulator.
inline bool is_fresh_gradient(const ir::Tensor& tensor) {
  return tensor.role == ir::Role::gradient && tensor.of == ir::k_no_tensor;
}

// Whether it is the gradient accumulator of a parameter. It stays Partial: it is reduced once per step, not by the
// layer.
inline bool is_accumulator(const ir::Graph& graph, ir::TensorId tensor) {
  const ir::Tensor& gradient = graph.tensor(tensor);
  return gradient.role == ir::Role::gradient && gradient.of != ir::k_no_tensor &&
         graph.tensor(gradient.of).role == ir::Role::parameter;
}

class RankLayer {
 public:
  struct Parameter {
    ir::TensorId tensor;
    Placements placements;  // as the first operator reads it
    double elements;        // on this rank
  };

  RankLayer(const ir::LayerClass& layer, LayerOptions options);

  const ir::LayerClass& layer() const { return layer_; }
  const ir::Graph& graph() const { return layer_.graph; }
  const LayerOptions& options() const { return options_; }

  // The mesh a tensor lives on, named by its group.
  ParameterGroup mesh_of(ir::TensorId tensor) const { return mesh_[at(tensor)]; }
  // Placements of a tensor as an operator of the graph accesses it.
  Placements placements(const ir::Operator& op, const ir::Access& access) const;
  // Placements of a border tensor, or of its gradient, as it is handed from layer to layer.
  Placements border(ir::TensorId tensor) const;
  // bytes = elements x bytes per element / product of the sizes of the rules that shard it
  double bytes(ir::TensorId tensor, const Placements& placements) const;
  // The iterations that one rank executes. Throws core::ConfigurationError where they cannot be split evenly.
  loopnest::Box box(const ir::Operator& op) const;

  // In the order in which operators first read them: those of forward, then what backward alone reads.
  const std::vector<Parameter>& parameters() const { return parameters_; }
  // Of one rank.
  double elements_of(ir::TensorId parameter) const;

 private:
  int split_dim(const ir::Operator& op, std::size_t rule) const;
  Placement placement_of(const ir::Operator& op, const ir::Access& access, std::size_t rule) const;
  // FrameworkBehaviour::keeps_gathered_inputs: a sum of gradients that are all Partial is one of whole tensors, and
  // Partial itself.
  void add_up_partials();
  // Whether it is the gradient of `of` that one product made, and Partial over the rule's axis.
  bool is_part(ir::TensorId gradient, ir::TensorId of, std::size_t rule) const;
  double piece(const ir::Tensor& tensor, double elements) const;
  double divided(double whole, const Placements& placements) const;

  const ir::LayerClass& layer_;
  LayerOptions options_;
  std::vector<std::int8_t> split_dims_;  // by operator and rule; -1: none, k_adds_partials: see there
  std::vector<ParameterGroup> mesh_;     // by tensor
  std::vector<Parameter> parameters_;
};

}  // namespace cairn::plan
