// Emits the steps of one block: operators in order, the transfers they need, and the memory they hold.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "cairn/plan/layer.h"
#include "vocabulary.h"

namespace cairn::plan {

// Position of a tensor or an operator in a list parallel to those of its graph.
inline std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

// A weight gradient on its own, before it is added to the accumulator.
inline bool is_fresh_gradient(const ir::Tensor& tensor) {
  return tensor.role == ir::Role::gradient && tensor.of == ir::k_no_tensor;
}

class BlockBuilder {
 public:
  using Placements = boost::container::static_vector<Placement, k_axes>;

  BlockBuilder(const LayerLowering& layer, std::string name, bool backward);

  // The boundary tensor arrives in its border placement and its buffer belongs to this block from now on.
  void receive(ir::TensorId tensor, bool held_elsewhere);
  // A tensor kept by the forward block, in the placement it settled in.
  void restore(ir::TensorId tensor, bool held_elsewhere);
  // Runs the operators. `terms` parallel to `order`.
  void run(const std::vector<ir::OperatorId>& order, const std::vector<Term>& terms, const GradientSync& sync);
  // The same in two parts, the second in a block of its own: `first` runs, what lies between is done, cut() hands the
  // first block out, run_second() runs. What the second part reads stays held; what the first one gathered is gathered
  // again. Gradients are sent by the second.
  void run_first(const std::vector<ir::OperatorId>& first, const std::vector<Term>& terms,
                 const std::vector<ir::OperatorId>& second, const GradientSync& sync);
  Block cut(std::string name_of_second);
  void run_second(const std::vector<ir::OperatorId>& second, const std::vector<Term>& terms, const GradientSync& sync);
  // Brings a boundary tensor to its border placement and hands its buffer over.
  void hand_over(ir::TensorId tensor);
  // Gathers parameters over the ranks that hold copies, as early as that communicator is free; computation waits for
  // it.
  void gather_parameters(const GradientSync& sync, const PerGroup<double>& elements);

  // What the unit fetches for itself or for a later one; what it gives up and sends away at its end.
  void open(const UnitTraffic& traffic);
  void close(const UnitTraffic& traffic);

  Block finish();
  // Elements of the last transfer of gradients, which still hold their memory.
  const PerGroup<double>& in_flight() const { return in_flight_; }
  const std::vector<Placements>& placements() const { return placements_; }
  // Whether a transfer that the block has issued still has to make the tensor whole.
  bool in_flight(ir::TensorId tensor) const { return ready_[static_cast<std::size_t>(tensor)] >= 0; }

 private:
  struct TensorCopy {
    ir::TensorId tensor;
    Placements placement;
    std::int32_t step;
    double bytes;
  };

  // One position of the order: the transfers its operands need, the operator, what its results need next.
  void step(std::size_t position, const std::vector<ir::OperatorId>& order, const std::vector<Term>& terms,
            const GradientSync& sync);
  void emit(std::size_t position, const std::vector<ir::OperatorId>& order, Term term);
  std::int32_t compute(const ir::Operator& op, const loopnest::Box& box, Term term, std::int32_t part,
                       std::int32_t parts, const boost::container::small_vector<Dependency, 4>& waits);

  // A product and the transfers around it, cut along its tokens.
  struct Pieces {
    std::int32_t count = 1;
    int dim = -1;  // of the operator's domain
  };
  Pieces pieces_of(std::size_t position, const std::vector<ir::OperatorId>& order) const;
  bool leaves_in_pieces(const ir::Operator& op, std::size_t position, const std::vector<ir::OperatorId>& order) const;

  std::int32_t redistribute_by(Collective collective, const Group& group, double bytes,
                               const boost::container::small_vector<Dependency, 4>& after);

  // Two halves of the tokens, one computing while the other communicates.
  bool halves() const;
  void run_halves(const std::vector<ir::OperatorId>& order, const std::vector<Term>& terms, const GradientSync& sync);
  std::vector<char> segment_starts(const std::vector<ir::OperatorId>& order, const std::vector<Term>& terms,
                                   const GradientSync& sync) const;
  std::array<int, 2> half_order(Term term) const;
  void wait_for_first_half();
  // False for an operator without tokens while the first half is at work: it runs once, with the second.
  bool has_work(const ir::Operator& op) const;
  void turn_to(int half);
  loopnest::Box box(const ir::Operator& op) const;
  // Of a tensor's bytes, what the half at work moves.
  double share(ir::TensorId tensor) const;
  // Has moved what the operators from `begin` to `end` read and none of them makes.
  void request(std::size_t begin, std::size_t end, const std::vector<ir::OperatorId>& order);
  void overlap_weight_gradient(std::size_t position, const std::vector<ir::OperatorId>& order);
  void resolve_partials(const ir::Operator& op, std::size_t position, const std::vector<ir::OperatorId>& order);
  void release_dead(const ir::Operator& op, std::size_t position);
  // Step to wait for before reading the tensor as wanted, or -1.
  std::int32_t obtain(ir::TensorId tensor, const Placements& wanted);
  // The same for routed tokens, which move instead of being copied.
  std::int32_t move(ir::TensorId tensor, const Placements& wanted);
  // A communicator call waits for `after`; in pieces, where a product is cut.
  std::int32_t transfer(Collective collective, const Group& group, double bytes,
                        const boost::container::small_vector<Dependency, 4>& after);
  // The legs one after the other; the last of their steps.
  std::int32_t travel(const std::vector<Leg>& journey, Dependency after);
  std::int32_t add_work(const Leg& leg, const boost::container::small_vector<Dependency, 4>& after);
  // Whatever comes later on the stream starts after these.
  void wait(Stream stream, const boost::container::small_vector<Dependency, 4>& dependencies);
  // The way of a reduced shard of `elements` from the device, `before` the shard before it; returns when it has left.
  Dependency send_onward(const Onward& onward, double elements, double before, Dependency reduced);
  std::int32_t add_step(Step step, const boost::container::small_vector<Dependency, 4>& dependencies);
  void send_gradients(const GradientSync& sync, ParameterGroup group);
  void hold_gradient(double bytes);
  void gradients_ready(const ir::Operator& op, std::size_t position, const GradientSync& sync);
  // Gradients of parameters accumulate part by part and are made whole once per step, not by the layer.
  bool is_accumulator(ir::TensorId tensor) const;

  std::optional<Placements> next_wanted(ir::TensorId tensor, std::size_t position,
                                        const std::vector<ir::OperatorId>& order) const;
  void drop_copies(std::size_t from);
  void drop_all_copies();
  void note_uses(const std::vector<ir::OperatorId>& order);
  // Whether the operator at `position` of the part under way is the last to touch the tensor.
  bool is_last_use(ir::TensorId root, std::size_t position) const {
    return last_use_[static_cast<std::size_t>(root)] == first_position_ + static_cast<std::int32_t>(position);
  }
  void wait_on_entry();
  bool leaves(ir::TensorId tensor) const;
  Placements border(ir::TensorId tensor) const;
  Placements wanted(const ir::Operator& op, const ir::Access& access) const;
  double bytes_at(ir::TensorId tensor, const Placements& placement) const;
  ir::TensorId storage(ir::TensorId tensor) const;
  void hold(ir::TensorId tensor, Category category, double bytes);
  void release(ir::TensorId tensor);
  void memory(bool after, Category category, double bytes);
  bool saved(ir::TensorId tensor) const;

  const LayerLowering& layer_;
  const ir::Graph& graph_;
  bool backward_;
  Block block_;
  // What each half has of its own.
  struct HalfState {
    std::vector<BlockBuilder::Placements> placements;
    std::vector<std::int32_t> ready;
    std::vector<TensorCopy> copies;
    boost::container::small_vector<Dependency, 4> blocking;
    Dependency last_compute = entry_of(Stream::compute);
    std::int32_t last_transfer = -1;
    std::size_t kept_copies = 0;
  };
  HalfState other_;                                              // the half that is not at work
  int half_ = -1;                                                // at work, or -1: the whole
  bool last_ = true;                                             // of the halves, the one that comes to a position last
  std::int32_t pieces_ = 1;                                      // of the transfers being made
  boost::container::small_vector<std::int32_t, 8> piece_steps_;  // products they wait for, one each
  boost::container::small_vector<std::int32_t, 8> moved_pieces_;  // steps of the last transfer made in pieces
  std::vector<Placements> placements_;                            // by tensor
  std::vector<Dependency> ready_;                                 // by tensor: transfer that completed it, or -1
  std::vector<std::int32_t> last_use_;                            // by tensor storage: position in the order, or -1
  std::vector<double> held_;                                      // by tensor storage: bytes held, 0 when not
  std::vector<Category> held_as_;
  std::vector<char> recorded_;  // by storage: reduced on a communicator's stream, which keeps it to the end of the pass
  std::vector<TensorCopy> copies_;
  boost::container::small_vector<Dependency, 4> blocking_;  // the next compute step waits for these
  Dependency last_compute_ = entry_of(Stream::compute);
  std::int32_t last_transfer_ = -1;
  std::size_t kept_copies_ = 0;
  std::int32_t first_position_ = 0;  // of the part under way, in last_use_
  bool defers_ = false;              // gradients wait for the second part
  double deferred_bytes_ = 0.0;      // of those that do, where they hold memory of their own
  PerGroup<double> unsent_elements_;
  PerGroup<double> in_flight_;
  Dependency last_update_ = entry_of(Stream::processor);
};

}  // namespace cairn::plan
