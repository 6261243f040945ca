// In which order the dimensions of each tensor lie in memory, so that products take their operands as they are.
//
// A layout is an order of a tensor's dimensions, outermost first; dimensions of extent 1 have no place. A kernel takes
// its operands without copies when
//   product      each operand's dimensions fall into batch, rows and columns (of what is summed or of one side); those
//                of a group lie next to each other, in one order for all operands, so that a group has one stride; the
//                innermost dimension is not of the batch. This is what strided batched products of libraries ask for
//   otherwise    the dimensions that two operands share lie in one order in both, so that both are swept alike
// An operand that does not fit is copied into another order: 2 x its bytes. An operator that only copies one tensor to
// another order costs 2 x its bytes too, and nothing when both lie alike, for then they are one.
//
// Search: from the orders as written, one tensor after the other takes its best order until none gets better, from
// several starts (as written, and with one dimension outermost everywhere). The result is a local optimum; 0 is
// optimal.
//
// Worked example, attention: context = probabilities x values for each sequence and head gives [batch, head, token,
// channel], the projection behind wants [batch, token, head, channel]: a copy. With tokens outermost, [token, batch,
// head, channel], batch and head have one stride in the first product, and token and batch in the second: no copy.
//
// Source: layout selection of Ivanov et al., "Data Movement Is All You Need" (MLSys 2021), with bytes in place of
// measured times.
#pragma once

#include <vector>

#include "cairn/ir/graph.h"

namespace cairn::cost {

// Positions of a tensor's dimensions, outermost first; empty for tensors that the operators do not touch.
using Order = std::vector<std::uint8_t>;

struct Layouts {
  std::vector<Order> orders;  // by tensor
  double copied_bytes = 0.0;  // moved by copies
};

// Of the operators [0, count). `written`: tensors as declared. `chosen`: the best found.
Layouts written_layouts(const ir::Graph& graph, const loopnest::Sizes& sizes, std::size_t count);
Layouts chosen_layouts(const ir::Graph& graph, const loopnest::Sizes& sizes, std::size_t count);

}  // namespace cairn::cost
