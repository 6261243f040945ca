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
  // Where every tensor is when a forward pass ends, by tensor: what is kept is kept there, or in shares of it.
  void settle(std::vector<Placements> placements);
  // Layers of one kind follow each other: what one leaves under way, the next finds under way. By border tensor and
  // gradient of one, in the order of inputs and outputs.
  void expect(const std::vector<char>& outputs_under_way, const std::vector<char>& input_gradients_under_way);

  // By forward operator: whether it runs again.
  const std::vector<char>& recomputed() const { return recomputed_; }
  // Whether the storage of some tensor is kept. Its own share counts, too.
  bool saved(ir::TensorId storage) const { return saved_[at(storage)] != 0; }
  // A saved input of which each rank keeps its share.
  bool shared(ir::TensorId tensor) const { return shared_[at(tensor)] != 0; }
  // An input that the layer below keeps for its own backward pass.
  bool held_below(ir::TensorId tensor) const;
  // Whether a border tensor may still be under way when the layer begins.
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
