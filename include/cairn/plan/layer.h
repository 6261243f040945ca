// Lowering of one layer class: its graph under split rules becomes one forward and one backward Block.
//
// Forward runs the operators in order. Where a tensor is wanted in another placement than it was produced in, a
// transfer is inserted; results that are Partial are redistributed at once, towards their first consumer. Backward
// starts from the placements forward left behind: a tensor that was saved as a shard is gathered again. Recomputed
// regions run again right before the first backward operator that reads one of their results.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cairn/ir/model.h"
#include "cairn/plan/strategy.h"
#include "cairn/plan/unit_traffic.h"
#include "cairn/program/parameter_group.h"
#include "cairn/program/placement.h"
#include "cairn/program/program.h"

namespace cairn::plan {

// Where the shard of a reduced gradient goes on to when the optimizer's state is not on the device. Bytes per element
// of the shard.
struct Onward {
  double gradient_bytes = 0.0;          // to the host
  const ir::Graph* update = nullptr;    // run by the host's cores at once; null: at the end of the step
  double state_bytes = 0.0;             // read from storage before the update, written after it
  double stored_parameter_bytes = 0.0;  // written to storage after it
  double parameter_bytes = 0.0;         // back to the device after it
  double written_bytes() const { return state_bytes + stored_parameter_bytes; }
  friend bool operator==(const Onward&, const Onward&) = default;
};

// What happens to a layer's parameter gradients over the ranks that hold copies, or to the parameters themselves (a
// gather).
struct GradientSync {
  program::Collective collective = program::Collective::none;
  program::PerGroup<program::Group> copies;    // the ranks that hold copies; of size 1 nothing is sent
  double bytes_per_element = 0.0;              // on the wire
  double bucket_bytes = 0.0;                   // a transfer starts as soon as this much is ready
  program::PerGroup<double> carried_elements;  // ready from layers before this one and not yet sent
  program::PerGroup<bool> hold;                // send nothing yet: a later layer carries it
  program::PerGroup<program::Group> replicas =
      {};                   // ranks that hold equal shards: a reduced shard is summed over them as well
  bool waits = false;       // computation waits for every transfer
  double held_bytes = 0.0;  // per element: memory that lives from a gradient's making until the transfer after its own
  program::PerGroup<double> in_flight =
      {};  // elements of the transfer before this block: their memory is held, their state unwritten
  std::optional<Onward> onward = {};
  // Whether the group's gradients hold memory of their own only until they have gone.
  bool holds(program::ParameterGroup group) const { return held_bytes > 0.0 && (copies[group].size > 1 || onward); }
  bool without_tied = false;  // leave tied parameters out: another layer of the stage sends them
  friend bool operator==(const GradientSync&, const GradientSync&) = default;
};

struct LayerOptions {
  loopnest::Sizes sizes;                  // on one rank: sequences per micro-batch, tokens
  std::vector<program::SplitRule> rules;  // at most one per axis
  std::vector<program::Group> groups;     // parallel to rules
  std::vector<std::string> recompute;     // operators to recompute, by name or region
  bool recompute_all = false;
  bool recompute_ends = false;      // recompute_all holds for the first and the last layer too, but not for the loss
  bool recompute_second = false;    // everything but attention and every second product
  bool share_saved_inputs = false;  // whole saved inputs are kept in shards over the first rule's axis
  bool expert_overlap = false;      // transfers of routed tokens run beside whatever does not need them
  double across = 1.0;              // of routed tokens, see Transfer
  bool tensor_overlap = true;       // in backward, transfers of the input's gradient run beside the weight's gradient
  bool asynchronous = false;        // a transfer is awaited by what reads its result alone, also across layers
  TensorPieces pieces = {};
  bool issues_per_peer = false;     // of transfers over the tensor axis, see Transfer
  bool records_reductions = false;  // see FrameworkBehaviour
  std::uint32_t inputs_held =
      0;  // bit i: the layer below keeps this layer's input i, its output i, for its own backward pass
};

// Parameters stored once together with those of other layers.
struct Tied {
  std::string tag;
  program::ParameterGroup group = program::ParameterGroup::dense;
  double elements = 0.0;                 // on one rank
  double factored = 0.0;                 // its rows and columns, or the whole vector
  std::vector<double> partial_elements;  // of these, by rule, as in LayerState
};

// What a layer keeps on one rank, independent of any execution.
struct LayerState {
  program::PerGroup<double> elements;  // of parameters on this rank, tied ones included
  program::PerGroup<double>
      factored_elements;  // rows and columns of the matrices among them, whole vectors; tied ones apart
  program::PerGroup<double> tied_elements;  // of these, tied
  std::vector<Tied> tied;
  // Elements whose gradient is Partial over a rule's axis (by rule): summed once per step.
  std::vector<double> partial_elements;
  double saved_bytes = 0.0;  // per micro-batch, statistics included
  double saved_statistic_bytes = 0.0;
  double result_bytes = 0.0;        // of an exit layer: its last product's result as the next operator reads it
  std::uint32_t kept_outputs = 0;   // bit i: output i is saved
  double narrow_elements = 0.0;     // of `elements`: products read them in a format of less than 16 bits
  std::int64_t narrow_tensors = 0;  // parameters of that kind
  std::vector<double> untied;       // elements of each parameter that is not tied, on this rank

  double parameter_elements() const { return sum(elements); }
  // Elements that a layer moves over the ranks that hold copies: all, or those that it does not share with other
  // layers.
  program::PerGroup<double> moved_elements(bool without_tied) const;
};

// The lowering of one class under one set of options. Blocks refer to the class's operators, so the model must outlive
// them.
class LayerLowering {
 public:
  // Throws core::ConfigurationError when a dimension cannot be split evenly.
  LayerLowering(const ir::LayerClass& layer, LayerOptions options);
  ~LayerLowering();
  LayerLowering(const LayerLowering&) = delete;
  LayerLowering& operator=(const LayerLowering&) = delete;

  const ir::LayerClass& layer() const;
  const LayerState& state() const;
  // `parameter_gather`: gather the layer's parameters over the data axis first (nothing when none).
  program::Block forward(const GradientSync& parameter_gather = {}, const UnitTraffic& traffic = {}) const;
  // `in_flight`: receives the elements whose gradients are still on their way at the end of the block.
  program::Block backward(const GradientSync& gradient_sync = {}, const UnitTraffic& traffic = {},
                          program::PerGroup<double>* in_flight = nullptr) const;
  // The same in two blocks: what the layer below awaits, and the rest, which makes gradients of parameters alone. An
  // operator is of the rest when what it writes is a parameter's gradient or read by the rest only; whatever the rest
  // reads stays held in between.
  struct Split {
    program::Block input_gradient;
    program::Block weight_gradient;
  };
  // Throws core::ConfigurationError where halves of the tokens take turns.
  Split split_backward(const GradientSync& gradient_sync = {}, const UnitTraffic& first_traffic = {},
                       const UnitTraffic& second_traffic = {}, program::PerGroup<double>* in_flight = nullptr) const;
  // The forward block once more, as recomputation, of a layer that kept nothing the first time.
  program::Block again() const;

  // Bytes of a border tensor on one rank as it is handed from layer to layer.
  double border_bytes(ir::TensorId tensor) const;
  // Whether a border tensor is whole on every rank of rule `rule`'s axis.
  bool border_replicated(ir::TensorId tensor, std::size_t rule) const;

 private:
  class Implementation;
  std::unique_ptr<const Implementation> implementation_;
};

}  // namespace cairn::plan
