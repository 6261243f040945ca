// What the forward pass of a layer leaves to its backward pass: which tensors it keeps and in which placements, and
// which operators run again instead.
#pragma once

#include <vector>

#include "rank_layer.h"

namespace cairn::plan {

// The operator that makes an exit layer's result: its last product, before the loss. -1: none.
ir::OperatorId result_operator(const ir::LayerClass& layer);

class KeptTensors {
 public:
  // `layer` must outlive it.
  explicit KeptTensors(const RankLayer& layer);
  // Notes the placement of every tensor at the end of the forward pass, in which saved tensors are kept (sharded
  // inputs: in shards of it).
  void settle(std::vector<Placements> placements);
  // Notes which border tensors and gradients a layer hands over while their transfer still runs. Layers of one class
  // follow each other, so the next layer finds the same tensors in transit. In the order of outputs and inputs.
  void expect(const std::vector<char>& outputs_under_way, const std::vector<char>& input_gradients_under_way);

  // By forward operator: whether it is recomputed.
  const std::vector<char>& recomputed() const { return recomputed_; }
  // Whether the storage of some tensor is saved for backward, whole or as a shard.
  bool saved(ir::TensorId storage) const { return saved_[at(storage)] != 0; }
  // Whether it is an input that is saved as shards over the tensor axis (LayerSettings::share_saved_inputs).
  bool shared(ir::TensorId tensor) const { return shared_[at(tensor)] != 0; }
  // Whether it is an input that the layer below saves for its own backward pass, so that it is stored once.
  bool held_below(ir::TensorId tensor) const;
  // Whether the transfer of a border tensor may still run when the layer begins.
  bool arrives(ir::TensorId tensor) const { return arrives_[at(tensor)] != 0; }
  const Placements& settled(ir::TensorId tensor) const { return settled_[at(tensor)]; }
  // On this rank.
  double bytes(ir::TensorId tensor) const { return layer_.bytes(tensor, settled(tensor)); }

 private:
  bool asked_for(ir::OperatorId id) const;
  void find_recomputed();
  void keep_result();
  void leave_unread();
  void keep_unread_products();
  void share_inputs();

  const RankLayer& layer_;
  std::vector<char> recomputed_;     // by forward operator
  std::vector<char> saved_;          // by storage
  std::vector<char> shared_;         // by tensor
  std::vector<char> arrives_;        // by tensor
  std::vector<Placements> settled_;  // by tensor
};

}  // namespace cairn::plan
