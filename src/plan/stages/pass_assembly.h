// A pass put together from the blocks it runs: what it begins with, its layers in order, the message it sends.
#pragma once

#include <variant>

#include "interned.h"
#include "pass_store.h"
#include "stage_body.h"
#include "stage_messages.h"
#include "state/unit_passes.h"
#include "state/unit_settings.h"
#include "vocabulary.h"

namespace cairn::plan {

// How layers gather their parameters and reduce their gradients over the ranks that hold copies (no sharded gradients).
GradientSync parameter_gather(const UnitSettings& settings);
GradientSync gradient_sync(const UnitSettings& settings);

// Which parameters and gradients the layers of a pass move. monostate: none; GradientSync: each layer gathers its
// parameters, or reduces its gradients; UnitMoves: what FSDP and offload ask for (unit_passes.h). `special`: the pass
// is its chunk's first forward pass, or the last that computes its weight gradients.
struct UnitMoves {
  UnitSettings settings;
  bool special = false;
  friend bool operator==(const UnitMoves&, const UnitMoves&) = default;
};
struct PassMoves {
  std::variant<std::monostate, GradientSync, UnitMoves> what;
  friend bool operator==(const PassMoves&, const PassMoves&) = default;
  std::size_t hash() const;
};

class PassAssembly {
 public:
  explicit PassAssembly(PassStore& passes) : passes_(passes) {}

  const Pass* forward(const VirtualStage& stage, const StageBody& body, const MessageKey& messages,
                      const PassMoves& moves);
  const Pass* backward(const VirtualStage& stage, const StageBody& body, const MessageKey& messages,
                       const PassMoves& moves, Half half);
  // What a forward pass that moves no parameters leaves behind for the backward pass. [bytes]
  double kept(const VirtualStage& stage, const StageBody& body, const MessageKey& messages);

 private:
  Pass& start(const Block* block);

  PassStore& passes_;
  StageMessages messages_;
  UnitPasses units_;
  Pass draft_;
};

}  // namespace cairn::plan
