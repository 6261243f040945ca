// Lowering of one layer class: its graph under split rules becomes one forward and one backward Block.
//
// The forward block runs the operators in order. Where an operator needs a tensor in another placement than it was
// produced in, a collective is inserted (redistribution, program/placement.h); a Partial result is redistributed at
// once, to what its first consumer needs. The backward block starts from the placements that forward left behind: what
// was saved as a shard is gathered again, unless the framework keeps what it gathered
// (FrameworkBehaviour::keeps_gathered_inputs). A recomputed region runs right before the first backward operator reads
// it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cairn/ir/model.h"
#include "cairn/plan/framework_behaviour.h"
#include "cairn/plan/strategy.h"
#include "cairn/plan/unit_traffic.h"
#include "cairn/program/parameter_group.h"
#include "cairn/program/placement.h"
#include "cairn/program/program.h"

namespace cairn::plan {

// Offload: what happens to the shard of a reduced gradient when the optimizer's state is not on the device. All bytes
// are per element of the shard.
struct Onward {
  double gradient_bytes = 0.0;          // copied to the host
  double returned_bytes = 0.0;          // copied to the host before, and back to the device
  const ir::Graph* update = nullptr;    // the update that the host's cores then run; null: it waits for the step's end
  double state_bytes = 0.0;             // optimizer state read from storage before the update and written after it
  double stored_parameter_bytes = 0.0;  // parameters written to storage after the update
  double parameter_bytes = 0.0;         // parameters copied back to the device after the update
  double written_bytes() const { return state_bytes + stored_parameter_bytes; }
  friend bool operator==(const Onward&, const Onward&) = default;
};

// Data-parallel communication of one layer: how its parameter gradients are reduced over the ranks that hold copies of
// the parameters, or how its parameters are gathered from them.
struct GradientSync {
  program::Collective collective = program::Collective::none;
  program::PerGroup<program::Group> copies;    // the ranks that hold copies; of size 1 nothing is sent
  double bytes_per_element = 0.0;              // on the wire
  double bucket_bytes = 0.0;                   // a transfer starts as soon as this much is ready
  program::PerGroup<double> carried_elements;  // gradients of earlier layers that are complete and not yet sent
  program::PerGroup<bool> hold;                // this layer sends nothing: a later one sends its gradients too (bucket)
  program::PerGroup<program::Group> replicas =
      {};                   // ranks that hold equal shards: a reduced shard is summed over them as well
  bool waits = false;       // computation waits for every transfer
  double held_bytes = 0.0;  // gradient memory per element, from its computation until the transfer after its own starts
  program::PerGroup<double> in_flight =
      {};  // elements of the last transfer before this block: their gradients still hold memory
  std::optional<Onward> onward = {};
  // Whether gradients of the group take memory only until they have been sent.
  bool holds(program::ParameterGroup group) const { return held_bytes > 0.0 && (copies[group].size > 1 || onward); }
  bool without_tied = false;  // tied parameters are left out: another layer of the stage sends them
  // Computed on whole gradients before they are reduced to shards; null: nothing. What is reduced is then a copy, of
  // `copy_bytes` an element, which goes when the gradients go; 0: the gradients themselves.
  const ir::Graph* kernels = nullptr;
  double copy_bytes = 0.0;
  // Memory per element that a transfer holds until the next one starts.
  double in_flight_bytes(program::ParameterGroup group) const {
    return (holds(group) ? held_bytes : 0.0) + (copies[group].size > 1 ? copy_bytes : 0.0);
  }
  friend bool operator==(const GradientSync&, const GradientSync&) = default;
};

// The ranks that share every sequence, and how they share attention.
struct ContextSharing {
  program::Group group = {.axis = program::Axis::context};
  AttentionSharing sharing = {};
  friend bool operator==(const ContextSharing&, const ContextSharing&) = default;
};

struct LayerOptions {
  loopnest::Sizes sizes;                  // on one rank: sequences per micro-batch, tokens
  std::vector<program::SplitRule> rules;  // at most one per axis
  std::vector<program::Group> groups;     // parallel to rules
  LayerSettings settings = {};
  ContextSharing context = {};
  std::vector<std::string> recompute;  // operators to recompute, by name or region
  bool recompute_all = false;
  bool recompute_second = false;  // everything but attention and every second product
  bool expert_overlap = false;    // token exchange (MoE) overlaps all computation that does not depend on it
  double across = 1.0;            // of token exchanges: Transfer::across
  double sent = 1.0;              // of token exchanges: rows that travel over copies of tokens
  bool issues_per_peer = false;   // of transfers over the tensor axis: Transfer::per_peer
  FrameworkBehaviour behaviour = {};
  std::uint32_t inputs_held =
      0;  // bit i: input i is not stored twice, for the layer below saves it (its output i) for its own backward pass
};

// Parameters stored once together with those of other layers.
struct Tied {
  std::string tag;
  program::ParameterGroup group = program::ParameterGroup::dense;
  double elements = 0.0;                 // on one rank
  double factored = 0.0;                 // as LayerState::factored_elements
  std::vector<double> partial_elements;  // as LayerState::partial_elements
};

// What one layer stores on one rank: parameters and saved activations, before any execution.
struct LayerState {
  program::PerGroup<double> elements;  // of parameters on this rank, tied ones included
  program::PerGroup<double>
      factored_elements;  // of a factored second moment: rows + columns of a matrix, all of a vector; without tied ones
  program::PerGroup<double> tied_elements;  // those of `elements` that are tied
  std::vector<Tied> tied;
  // Elements whose gradient is Partial over a rule's axis (by rule): summed once per step.
  std::vector<double> partial_elements;
  double saved_bytes = 0.0;  // per micro-batch, statistics included
  double saved_statistic_bytes = 0.0;
  double result_bytes = 0.0;        // exit layer only: the result of its last product (logits), as the loss reads it
  std::uint32_t kept_outputs = 0;   // bit i: output i is saved
  double narrow_elements = 0.0;     // of `elements`: products read them in a format of less than 16 bits
  std::int64_t narrow_tensors = 0;  // parameters of that kind
  std::vector<double> untied;       // elements of each parameter that is not tied, on this rank

  double parameter_elements() const { return sum(elements); }
  // Elements that the layer exchanges with the ranks that hold copies: all of them, or without those that it shares
  // with other layers.
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
  // `parameter_gather`: gathers the layer's updated parameters over the data axis first (nothing when none); it belongs
  // to ZeRO 1 whose gather after the update overlaps the first forward pass. `traffic`: what the layer moves as a unit
  // under FSDP, ZeRO 2 and 3 and offload, so the gathers of ZeRO 3 are there.
  program::Block forward(const GradientSync& parameter_gather = {}, const UnitTraffic& traffic = {}) const;
  // `in_flight`: receives the elements whose gradients are still on their way at the end of the block.
  program::Block backward(const GradientSync& gradient_sync = {}, const UnitTraffic& traffic = {},
                          program::PerGroup<double>* in_flight = nullptr) const;
  // The backward pass in two blocks (zero-bubble schedules): `input_gradient` computes what the layer below waits for,
  // `weight_gradient` only gradients of parameters. An operator belongs to the latter when all its results are gradients
  // of parameters or are read there alone; what the second block reads stays in memory between the two.
  struct Split {
    program::Block input_gradient;
    program::Block weight_gradient;
  };
  // Throws core::ConfigurationError under TensorPieces::Kind::halves.
  Split split_backward(const GradientSync& gradient_sync = {}, const UnitTraffic& first_traffic = {},
                       const UnitTraffic& second_traffic = {}, program::PerGroup<double>* in_flight = nullptr) const;
  // The forward block of a layer that saved nothing, run a second time before its backward block (recomputation).
  program::Block recomputation() const;

  // Bytes on one rank of an input or output tensor of the layer, as neighbouring layers hand it over.
  double border_bytes(ir::TensorId tensor) const;
  // Whether that tensor is replicated over the axis of rule `rule`.
  bool border_replicated(ir::TensorId tensor, std::size_t rule) const;

 private:
  class Implementation;
  std::unique_ptr<const Implementation> implementation_;
};

}  // namespace cairn::plan
