// Brings tensors from the placement they are in to the one they are wanted in: by transfers, whole or in pieces, and
// with the memory that takes.
//
// A sum that lies in parts is replaced by what it is made whole to; of anything else a copy is gathered, which later
// readers find. Routed tokens move: their old buffer goes.
#pragma once

#include <cstdint>

#include <boost/container/small_vector.hpp>

#include "layer_pass.h"
#include "tensor_memory.h"
#include "token_turns.h"

namespace cairn::plan {

// How the transfers around a product that is cut along its tokens are cut over the tensor axis.
struct Pieces {
  std::int32_t count = 1;
  boost::container::small_vector<std::int32_t, 8> products;  // what each piece waits for; none: all for the tensor
};

// What to wait for before reading a tensor.
struct Arrival {
  Dependency step = -1;                                   // -1: nothing
  boost::container::small_vector<std::int32_t, 8> parts;  // instead, where it arrives in pieces: one for each
};

class Redistributor {
 public:
  // All must outlive it.
  Redistributor(const LayerPass& pass, const TokenTurns& turns, StepWriter& writer, TensorMemory& memory,
                Progress& progress)
      : pass_(pass), turns_(turns), writer_(writer), memory_(memory), progress_(progress) {}

  Arrival obtain(ir::TensorId tensor, const Placements& wanted, const Pieces& pieces = {});
  // The tensor is made, or arrives, in these placements. `ready`: what completes it, or -1.
  void place(ir::TensorId tensor, const Placements& placements, Dependency ready = -1);

  // Gives up the memory of a tensor's copies.
  void free_copies(ir::TensorId tensor);
  // What recomputation gathers it does not keep, no more than a forward pass does: what there is stays, what comes
  // after is dropped. An input gathered from its shares stays for the whole layer.
  void begin_recomputation() { progress_.kept_copies = progress_.copies.size(); }
  void end_recomputation();
  // The block ends here and another goes on: no copies are left, and what is still under way is awaited as a frontier
  // of its stream.
  void cut();

 private:
  Arrival bring(ir::TensorId tensor, const Placements& wanted, const Pieces& pieces);
  void replace(ir::TensorId tensor, const Placements& made, Dependency ready);
  Dependency move(ir::TensorId tensor, const Placements& wanted);
  Arrival redistribute_by(Collective collective, std::size_t rule, double bytes, const Dependencies& after,
                          const Pieces& pieces);
  Arrival transfer(Collective collective, std::size_t rule, double bytes, const Dependencies& after,
                   const Pieces& pieces);
  bool triggered() const { return pass_.options().pieces.kind == TensorPieces::Kind::triggered; }

  const LayerPass& pass_;
  const TokenTurns& turns_;
  StepWriter& writer_;
  TensorMemory& memory_;
  Progress& progress_;
};

}  // namespace cairn::plan
