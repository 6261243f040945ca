// What the operators of a pass do with a tensor later: who reads it next, and who touches it last.
#pragma once

#include <optional>
#include <vector>

#include "layer_pass.h"

namespace cairn::plan {

class TensorUses {
 public:
  // `pass` must outlive it.
  explicit TensorUses(const LayerPass& pass);

  // Operators that run after those noted before.
  void note(const OperatorOrder& order);
  // Whether nothing noted touches the tensor's storage after operator `index` of all that were noted.
  bool is_last(ir::TensorId tensor, std::size_t index) const {
    return last_[at(pass_.storage(tensor))] == static_cast<std::int32_t>(index);
  }
  // Whether anything noted touches the tensor's storage.
  bool touched(ir::TensorId tensor) const { return last_[at(pass_.storage(tensor))] >= 0; }
  // Where a result of the operator at `position` is wanted next: by a later operator of the order, at the border, or by
  // the derivative it is saved for.
  std::optional<Placements> next_wanted(ir::TensorId tensor, std::size_t position, const OperatorOrder& order) const;
  // Whether the pass hands the tensor over: outputs forward, gradients of inputs backward.
  bool leaves(ir::TensorId tensor) const;

 private:
  const LayerPass& pass_;
  std::vector<std::int32_t> last_;  // by storage: the last operator to touch it, or -1
  std::int32_t noted_ = 0;
};

}  // namespace cairn::plan
