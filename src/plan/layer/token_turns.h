// Halves of the tokens that take turns, one computing while the other communicates.
//
// Later tokens see earlier ones: forward begins with the first half, backward with the second. Operators without tokens
// run once, with the half that comes last.
#pragma once

#include <array>
#include <optional>

#include "layer_pass.h"

namespace cairn::plan {

class TokenTurns {
 public:
  // `pass` must outlive it.
  explicit TokenTurns(const LayerPass& pass);

  // Whether the pass goes by halves; else everything below is of the whole.
  bool taken() const { return taken_; }
  std::array<int, 2> order(Term term) const;
  // Both halves go on from where the whole has come to. The layer below has seen to it that the half it began with has
  // arrived.
  void begin(Progress& whole);
  // The half at work from now on; `progress` becomes its own.
  void turn_to(int half, Progress& progress);
  // All of a stretch that runs by halves.
  void come_last(bool last) { last_ = last; }

  // Whether what is at work comes to an operator last.
  bool last() const { return last_; }
  bool has_work(const ir::Operator& op) const;
  // Of a tensor's bytes, what is at work moves this share.
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
