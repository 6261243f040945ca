// Redistribution: brings a tensor from its placement to the one that a reader needs, by collectives, whole or in
// pieces, and accounts for the memory that takes. The rules are the table of program/placement.h.
//
// Reducing a Partial tensor replaces it. Gathering a Shard makes a copy, which later readers of the same placement use,
// or replaces it too (FrameworkBehaviour::keeps_gathered_inputs); it is then kept as it was gathered.
// Routed tokens (MoE token exchange) move: their old buffer is freed.
#pragma once

#include <cstdint>

#include <boost/container/small_vector.hpp>

#include "layer_pass.h"
#include "tensor_memory.h"
#include "token_turns.h"

namespace cairn::plan {

// The pieces of a transfer over the tensor axis, beside a product that is cut along its tokens (product_cuts.h).
struct Pieces {
  std::int32_t count = 1;
  boost::container::small_vector<std::int32_t, 8> products;  // step that each piece waits for; empty: the whole tensor
};

// The steps to wait for before reading a tensor.
struct Arrival {
  Dependency step = -1;                                   // -1: none
  boost::container::small_vector<std::int32_t, 8> parts;  // in place of `step` where it arrives in pieces: one for each
};

class Redistributor {
 public:
  // All must outlive it.
  Redistributor(const LayerPass& pass, const TokenTurns& turns, StepWriter& writer, TensorMemory& memory,
                Progress& progress)
      : pass_(pass), turns_(turns), writer_(writer), memory_(memory), progress_(progress) {}

  Arrival obtain(ir::TensorId tensor, const Placements& wanted, const Pieces& pieces = {});
  // Notes that the tensor now has these placements. `ready`: the transfer that completes it, or -1.
  void place(ir::TensorId tensor, const Placements& placements, Dependency ready = -1);

  // Gives up the memory of a tensor's copies.
  void free_copies(ir::TensorId tensor);
  // Copies that recomputation gathers are freed when it ends, as a forward pass frees them; copies from before stay. An
  // input gathered from its saved shards stays for the whole layer.
  void begin_recomputation() { progress_.kept_copies = progress_.copies.size(); }
  void end_recomputation();
  // Ends the block where a second one continues the pass: all copies are freed, and transfers that still run become
  // dependencies on their streams' frontiers.
  void cut();

 private:
  Arrival bring(ir::TensorId tensor, const Placements& wanted, const Pieces& pieces);
  // Whether what the layer makes is gathered along the sequence once, for all that read it.
  bool stays_gathered(ir::TensorId tensor, std::size_t rule, const Placement& shard) const;
  void replace(ir::TensorId tensor, const Placements& made, Dependency ready);
  Dependency move(ir::TensorId tensor, const Placements& wanted);
  Arrival redistribute_by(Collective collective, std::size_t rule, double bytes, const Dependencies& after,
                          const Pieces& pieces);
  Arrival transfer(Collective collective, std::size_t rule, double bytes, const Dependencies& after,
                   const Pieces& pieces);
  bool triggered() const { return pass_.options().settings.tensor_pieces.kind == TensorPieces::Kind::triggered; }

  const LayerPass& pass_;
  const TokenTurns& turns_;
  StepWriter& writer_;
  TensorMemory& memory_;
  Progress& progress_;
};

}  // namespace cairn::plan
