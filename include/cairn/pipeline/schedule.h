// A pipeline schedule is nothing but order lists: for every device, the operations it runs, one at a time, in order.
//
// What flows: a micro-batch passes the virtual stages of one chain upwards (forward), then downwards (gradients).
//   forward(s, i)          needs forward(s-1, i)                      from the device of stage s-1
//   backward(s, i)         needs backward(s+1, i)                     from the device of stage s+1
//   input_gradient(s, i)   needs the gradient of stage s+1 as backward does; sends its own to stage s-1
//   weight_gradient(s, i)  needs input_gradient(s, i)                 on its own device
// and every gradient needs forward(s, i) on its own device. `backward` is input and weight gradient in one operation.
// A device starts its next operation as soon as it is free and what the operation needs has arrived.
//
// Other work stands in the same lists: passes of a vocabulary split over all devices, the optimizer, collectives,
// copies to and from the host, anything else. What it awaits, and what awaits it, is said edge by edge in `waits`.
//
// Two operations may be joined: they run as one, which starts when both could and ends both at the same instant (two
// micro-batches in one forward; a forward and a backward that overlap their communication).
//
// Placement: device d holds `chunks` virtual stages; which ones is a table, so that loops (chunk*stages + device), V
// shapes and pipelines in both directions are the same structure. Virtual stages 0 .. chain_length-1 form the first
// chain, the next chain_length the second, ...; a micro-batch passes exactly one chain.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::pipeline {

enum class Phase : std::uint8_t {
  forward,
  backward,
  input_gradient,
  weight_gradient,
  vocabulary_forward,   // this device's share of the output layer up to its softmax
  vocabulary_backward,  // and its gradients
  optimizer,
  communication,
  offload,  // activations of (chunk, micro-batch) to the host
  reload,   // and back
  extra,
};
inline constexpr std::int32_t k_phases = 11;

std::string_view name(Phase phase);
// F B b w S T O C > < +: in pictures and timelines.
char letter(Phase phase);
// The phases that the chain orders by itself.
constexpr bool on_chain(Phase phase) { return phase <= Phase::weight_gradient; }
// True for the operations whose result goes to the stage below: backward and input_gradient.
constexpr bool sends_gradient(Phase phase) { return phase == Phase::backward || phase == Phase::input_gradient; }

// Of a device's chunks. Long lists are as fast as memory: an operation takes eight bytes.
using ChunkNumber = std::int16_t;
inline constexpr std::int32_t k_most_chunks = std::numeric_limits<ChunkNumber>::max();
// Of a chunk known to be in range: 0 to k_most_chunks - 1.
constexpr ChunkNumber chunk_number(std::int32_t chunk) { return static_cast<ChunkNumber>(chunk); }

struct Operation {
  Phase phase = Phase::forward;
  bool joined = false;  // runs as one with the next operation of the list
  ChunkNumber chunk = 0;
  std::int32_t micro_batch = 0;
  friend bool operator==(const Operation&, const Operation&) = default;
};
static_assert(sizeof(Operation) == 8);

// An edge that the chain does not imply: `operation` starts after `on` has ended (both are positions in `operations`),
// plus the delay of a message where their devices differ.
struct Wait {
  std::int32_t operation = 0;
  std::int32_t on = 0;
  friend auto operator<=>(const Wait&, const Wait&) = default;
};

struct Schedule {
  std::string kind;
  std::int32_t stages = 0;              // devices
  std::int32_t micro_batches = 0;       // per iteration, over all chains
  std::int32_t chunks = 1;              // virtual stages per device
  std::int32_t chain_length = 0;        // virtual stages a micro-batch passes
  std::vector<std::int32_t> placement;  // virtual stage of [device * chunks + chunk]
  std::vector<std::int32_t> row_begin;  // rows + 1 offsets into operations
  std::vector<Operation> operations;    // row after row
  std::vector<std::int32_t> side_rows;  // device of each row behind the first `stages`: a stream beside its compute
  std::vector<Wait> waits;              // ascending
  std::int32_t pieces =
      1;  // micro-batches of the lists that make up one of the user's (halves where backward is halved)

  std::int32_t rows() const { return stages + static_cast<std::int32_t>(side_rows.size()); }
  std::int32_t device_of_row(std::int32_t row) const { return row < stages ? row : side_rows[row - stages]; }
  // Copies of the model's parameters over all devices: one per chain.
  std::int32_t weight_copies() const { return virtual_stages() / chain_length; }
  // Operations of one phase that make up the work of 1/stages of the model on one of the user's micro-batches.
  std::int32_t operations_per_stage() const { return pieces * (chain_length / stages); }

  std::span<const Operation> row(std::int32_t device) const {
    return std::span(operations).subspan(row_begin[device], row_begin[device + 1] - row_begin[device]);
  }
  std::int32_t virtual_stage(std::int32_t device, std::int32_t chunk) const {
    return placement[device * chunks + chunk];
  }
  std::int32_t virtual_stages() const { return stages * chunks; }
};

// The device of every virtual stage: the inverse of the placement table.
std::vector<std::int32_t> devices_of_virtual_stages(const Schedule& schedule);

// When a micro-batch's saved activations of one chunk become free.
enum class Release : std::uint8_t {
  at_input_gradient,   // when the gradient that is sent on is done
  at_weight_gradient,  // when the weight gradient is done; the same as above where the two are one operation
};

// Largest number of (chunk, micro-batch) activation sets alive at once, per device [sets; one set is 1 /
// operations_per_stage() of what a micro-batch saves on a device that holds 1/stages of the model]. Acquired when
// forward starts; operations of a device never overlap, so the order alone decides, not the durations.
std::vector<std::int32_t> peak_activations(const Schedule& schedule, Release release);

// Throws core::ConfigurationError with everything that is wrong: a placement that is no permutation, an operation out
// of range, missing, twice, or before what it needs on its own device, a micro-batch on two chains, and order lists
// that wait for each other (the cycle is named).
void validate(const Schedule& schedule);

// "backward of micro-batch 3, chunk 0"
std::string describe(const Operation& operation);
// "B3", with several chunks on a device "B3 chunk 0"
std::string short_name(const Operation& operation, std::int32_t chunks);

}  // namespace cairn::pipeline
