// Attention whose sequence is shared by the ranks of the context axis: in place of one operator the tiles and messages
// of one rank, as the scheme lists them (sequence/list.h).
//
// The ranks of a context group run one list each. Blocks hold the one that stands for all (sequence::GroupPass).
#pragma once

#include <optional>
#include <string>

#include "cairn/sequence/list.h"
#include "layer_pass.h"

namespace cairn::plan {

// Why no scheme shares what the operator does, which mixes tokens; nothing where one does.
std::optional<std::string> cannot_be_shared(const ir::Graph& graph, const ir::Operator& op);

class SharedAttention {
 public:
  // Both must outlive it.
  SharedAttention(const LayerPass& pass, StepWriter& writer);

  bool shares(const ir::Operator& op) const;
  // Writes the steps of the operator, whose operands are there after `waits`. Returns the last one that computes.
  Dependency run(const ir::Operator& op, Term term, const Dependencies& waits);
  // The calls of the latest run() that were still under way when it computed last: what reads its results waits for
  // them.
  const Dependencies& under_way() const { return under_way_; }

 private:
  class Run;
  const LayerPass& pass_;
  StepWriter& writer_;
  Dependencies under_way_;
};

}  // namespace cairn::plan
