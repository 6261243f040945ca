// What can be asked of `answer()`: how much data a computation, an exchange between devices, or the layers of a model
// must move. Requests are plain values; what comes from files is read by pebble, hardware, models and cost.
//
//   const bound::Answer product = bound::answer(bound::ComputationRequest{
//       .computation = pebble::matmul_operation({.m = 8192, .n = 8192, .k = 8192}),
//       .fast = 228.0 * 1024.0 * core::k_byte});
//   product.lower_words(), product.upper->words: no schedule moves fewer words, this one moves so many
//
// Errors name the field that is wrong: request.fast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "cairn/collective/collective.h"
#include "cairn/core/quantity.h"
#include "cairn/cost/calibration.h"
#include "cairn/hardware/accelerator.h"
#include "cairn/hardware/cluster.h"
#include "cairn/models/transformer.h"
#include "cairn/numerics/format.h"
#include "cairn/pebble/cdag_file.h"
#include "cairn/pebble/exact.h"
#include "cairn/pebble/operation.h"
#include "cairn/pebble/play_file.h"

namespace cairn::bound {

// Of data or memory: a number of words, or the bytes that words of the request's format take.
using Amount = std::variant<pebble::Words, core::Bytes>;

// The network that joins devices, for the time that a device's links need for what it must send or receive.
struct Links {
  std::string name = {};
  hardware::Network network = {};
};

struct Devices {
  std::int64_t count = 1;  // at most collective::k_most_paired
  std::optional<Links> links = std::nullopt;
};

// A play of a graph that is to be verified.
struct Moves {
  std::string file = {};  // its name, for the answer
  pebble::NumberedPlay play = {};
};

// Any computation, value by value.
struct Graph {
  std::string name = {};  // for the answer and for errors
  pebble::NamedCdag graph = {};
  std::optional<Moves> moves = std::nullopt;
  bool reorder = false;  // asks for LocalityRows: traffic in its own order and in the best order found
};

struct ComputationRequest {
  std::variant<pebble::Operation, Graph> computation = {};
  std::string what = {};  // the operation's name in the answer; empty: its own
  Amount fast = {};       // fast memory, at least one word; for a whole chip use Accelerator::on_chip_capacity()
  numerics::Format format = numerics::Format::bf16;  // of a word
  pebble::Game game = {};
  // Asks for the optimum by exact search over at most so many states; the graph may have at most 64 values.
  std::optional<std::size_t> exact_states = std::nullopt;
  std::optional<hardware::Accelerator> accelerator = std::nullopt;  // its levels of memory, and what limits it
  std::optional<Devices> devices = std::nullopt;                    // several devices that share the work
};

struct ExchangeRequest {
  collective::Collective collective = collective::Collective::all_reduce;  // one of exchanges()
  std::int64_t devices = 1;                                                // at most collective::k_most_paired
  Amount amount = {};     // the whole vector; of all-to-all one device's buffer
  std::string what = {};  // its name in the answer; empty: that of the collective
  numerics::Format format = numerics::Format::bf16;
  std::optional<Links> links = std::nullopt;
};

// The operators of a model's layers, undivided, on one device.
struct LayersRequest {
  models::TransformerConfig model = {};
  std::optional<std::int64_t> layer = std::nullopt;     // 0 the embedding, 1 the first block; absent: every class once
  std::optional<std::int64_t> sequence = std::nullopt;  // tokens; absent: 2048, or as many positions as there are
  std::int64_t batch = 1;                               // sequences
  bool backward = false;
  // Absent: unfused, or flash2 of latent attention, which has no other.
  std::optional<models::AttentionKernel> attention = std::nullopt;
  Amount fast = {};
  numerics::Format format = numerics::Format::bf16;
  std::optional<hardware::Accelerator> accelerator = std::nullopt;
  // Calibration of the accelerator's kernels, for the predicted times of the operators.
  std::optional<cost::Calibration> calibration = std::nullopt;
};

}  // namespace cairn::bound
