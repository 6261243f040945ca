// What one operator, on its own, must move between device memory and the chip.
//
// Classes are those of Ivanov, Dryden, Ben-Nun, Li, Hoefler, "Data Movement Is All You Need" (MLSys 2021):
//   contraction     multiply-adds over an index that is summed away
//   normalization   a reduction along rows and what is done with it: softmax, layer norms, their derivatives
//   elementwise     everything else: biases, activations, dropout, residual additions
//   lookup          tables addressed by data
//
// An operator that finds nothing on the chip and leaves nothing there moves at least
//   alone  = distinct bytes it reads + distinct bytes it writes
//   lower  = max( alone, words x narrowest )
// words: the pebble bound of its loop nest (pebble/projection.h; attention: pebble/operation.h) with S / narrowest
// words of fast memory; narrowest: bytes of its smallest number format. Every word has at least that many bytes, so S
// bytes hold no more words, and every word moved costs as much.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cairn/ir/graph.h"

namespace cairn::cost {

enum class OperatorClass : std::uint8_t { contraction, normalization, elementwise, lookup };
inline constexpr std::size_t k_operator_classes = 4;
std::string_view name(OperatorClass kind);
// A derivative is of its forward operator's class, but for gradients of factors that are no contractions.
OperatorClass class_of(const ir::Operator& op, const ir::Graph& graph);

// A tensor as one operator, or a group of them, uses it.
struct Use {
  double bytes = 0.0;  // distinct
  bool read_first = false;
  bool added_to = false;  // read only to be added to
  bool written = false;
};
using Uses = std::map<ir::TensorId, Use>;

// Accesses of one tensor that surely touch different parts of it, as queries, keys and values of one projection, add
// up.
Uses uses_of(const ir::Shard& shard);

// How much search to spend on a pebble bound; every bound that is found holds.
enum class Effort : std::uint8_t { quick, full };

struct ShardBytes {
  double alone = 0.0;
  double lower = 0.0;
  std::string method;  // of `lower`
};
// on_chip_bytes: S; 0 where it is not known, so that nothing beyond `alone` is proved.
ShardBytes least_bytes(const ir::Shard& shard, double on_chip_bytes, Effort effort);

// What an operator must still move when all S bytes of the chip hold operands of it before it starts, and results of it
// after it has ended:
//   loads  = max(0, distinct bytes it reads - S),  stores = max(0, distinct bytes it writes - S)
// Valid: the operator begins when its operands are there and they stay until they are read; its results are there when
// it ends. Nothing is assumed about what ran before or runs after it.
struct WarmBytes {
  double loads = 0.0;
  double first_loads = 0.0;  // loads where the accumulator is still zero, and so need not be read
  double stores = 0.0;
};
WarmBytes warm_bytes(const ir::Shard& shard, double on_chip_bytes);

// The pebble bound in bytes and its method; empty where none is known. Tensors for which `free` holds move at no cost;
// Effort::quick is for calls where nothing is free.
// Valid: red-blue-white game; each result of a contraction one running sum.
std::optional<std::pair<double, std::string>> pebble_bytes(const ir::Shard& shard, double on_chip_bytes,
                                                           const std::function<bool(ir::TensorId)>& free,
                                                           Effort effort = Effort::full);

}  // namespace cairn::cost
