// Runs the operators of a layer in order and writes the block they make: before each the transfers that its operands
// need, after it what its results need next, and the memory of both.
//
// Each part of that has its own class, which says how: where tensors are and how they come there (redistributor), the
// memory they hold (tensor_memory), who reads them next (tensor_uses), products cut in pieces (product_cuts), halves of
// the tokens that take turns (token_turns), gradients to be reduced (gradient_queue), FSDP gathers and offload copies
// (block_traffic).
#pragma once

#include <string>

#include "gradient_queue.h"
#include "product_cuts.h"
#include "redistributor.h"
#include "shared_attention.h"
#include "tensor_memory.h"
#include "tensor_uses.h"
#include "token_turns.h"

namespace cairn::plan {

class BlockBuilder {
 public:
  // All but the name must outlive it.
  BlockBuilder(const LayerPass& pass, std::string name, const UnitTraffic& traffic);
  BlockBuilder(const BlockBuilder&) = delete;
  BlockBuilder& operator=(const BlockBuilder&) = delete;

  // Gathers parameters over the ranks that hold copies, as early as that communicator is free; computation waits for
  // it.
  void gather_parameters(const GradientSync& sync, const PerGroup<double>& elements);
  // A boundary tensor arrives in its border placement; from now on its buffer belongs to this block.
  void receive(ir::TensorId tensor, bool held_elsewhere);
  // A tensor that the forward block saved, in the placement in which it was saved.
  void restore(ir::TensorId tensor, bool held_elsewhere);
  void run(const OperatorOrder& order, const GradientSync& sync);
  // run() in two blocks, called in this order: run_first(), cut(), which returns the first block, run_second(). Tensors
  // that the second block reads stay in memory between the two; what the first gathered is gathered again. The second
  // sends the gradients.
  void run_first(const OperatorOrder& first, const OperatorOrder& second, const GradientSync& sync);
  Block cut(std::string name_of_second, const UnitTraffic& traffic_of_second);
  void run_second(const OperatorOrder& second);
  // Brings a boundary tensor to its border placement and hands its buffer over.
  void hand_over(ir::TensorId tensor);
  // Lets go of what the forward pass left and nothing has read.
  void drop_unread();
  Block finish();

  // Where the tensors are.
  const Progress& progress() const { return progress_; }
  const GradientQueue& gradients() const { return gradients_; }

 private:
  void start();
  void leave_running();
  void run_by_halves(const OperatorOrder& order);
  std::vector<char> segment_starts(const OperatorOrder& order) const;
  // One position of the order: the transfers its operands need, the operator, what its results need next.
  void step(std::size_t position, const OperatorOrder& order);
  // Returns the products of the pieces that the operator is cut in, if it is.
  Pieces emit(std::size_t position, const OperatorOrder& order);
  Dependencies obtain_operands(std::size_t position, const OperatorOrder& order, const ProductCut& cut,
                               std::vector<Arrival>& in_pieces);
  void make_results(const ir::Operator& op);
  Dependency compute(const ir::Operator& op, const ProductCut& cut, std::int32_t piece, Term term,
                     const Dependencies& waits);
  void resolve_partials(std::size_t position, const OperatorOrder& order, const Pieces& pieces);
  void release_dead(const ir::Operator& op, std::size_t position);
  void complete_gradients(const ir::Operator& op, std::size_t position);
  // Requests the transfers of all tensors that operators [begin, end) read and none of them computes.
  void request(std::size_t begin, std::size_t end, const OperatorOrder& order);
  void overlap_weight_gradient(std::size_t position, const OperatorOrder& order);
  bool is_last_use(ir::TensorId tensor, std::size_t position) const { return uses_.is_last(tensor, done_ + position); }

  const LayerPass& pass_;
  const UnitTraffic* traffic_;
  StepWriter writer_;
  TensorUses uses_;
  TokenTurns turns_;
  Progress progress_;
  TensorMemory memory_;
  Redistributor tensors_;
  ProductCuts cuts_;
  SharedAttention shared_;
  GradientQueue gradients_;
  std::size_t done_ = 0;  // operators of the part before
};

}  // namespace cairn::plan
