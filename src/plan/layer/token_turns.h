// TensorPieces::Kind::halves: the two halves of the tokens take turns, one computes while the other communicates.
//
// Causal attention needs earlier tokens first, so forward begins with the first half and backward with the second.
// Operators without a token dimension run once, with the half that runs last.
#pragma once

#include <array>
#include <optional>

#include "layer_pass.h"

namespace cairn::plan {

class TokenTurns {
 public:
  // `pass` must outlive it.
  explicit TokenTurns(const LayerPass& pass);

  // Whether the pass runs in halves; if not, all functions below refer to all tokens.
  bool taken() const { return taken_; }
  std::array<int, 2> order(Term term) const;
  // Both halves start from the state of the whole. The neighbouring layer has waited for the tokens of the first half
  // to run.
  void begin(Progress& whole);
  // Switches to a half; `progress` becomes that half's state.
  void turn_to(int half, Progress& progress);
  // Says whether the half that now runs its stretch of operators is the last to run them.
  void come_last(bool last) { last_ = last; }

  // Whether the current half (or the whole) is the last to run the operators at hand.
  bool last() const { return last_; }
  bool has_work(const ir::Operator& op) const;
  // The share of a tensor's bytes that belongs to the current half.
  double share(ir::TensorId tensor) const;
  // Throws core::ConfigurationError for tokens that cannot be halved.
  loopnest::Box box(const ir::Operator& op) const;

 private:
  const LayerPass& pass_;
  bool taken_;
  int half_ = -1;  // at work, or -1: the whole
  bool last_ = true;
  std::optional<Progress> other_;  // of the half that is not at work
};

}  // namespace cairn::plan
