// The dense peak that a step is held against.
//
//   peak = the largest, over the number formats that contractions run in, of the accelerator's dense rate in that format
//
// A recipe may name several: products in fp8 or int8 beside attention and a head in bf16. A contraction takes at least
// its FLOPs over the peak of its own format, so that all of them together take at least their sum over the largest of
// these peaks, and never over a smaller one: int8 units of some accelerators are slower than their bf16 units. Where
// the recipe's own products have the largest peak, as with every 16-bit and fp8 recipe, it is theirs.
#pragma once

#include "cairn/hardware/accelerator.h"
#include "cairn/ir/model.h"
#include "cairn/numerics/format.h"

namespace cairn::cost {

// Of the first operand, which decides the units that a contraction runs on.
numerics::Format operand_format(const ir::Operator& op, const ir::Graph& graph);

struct Peak {
  numerics::Format format = numerics::Format::bf16;
  core::FlopsPerSecond rate = {};
};
// `products`: the format of the recipe's products, which is named where another is as fast.
Peak dense_peak(const ir::Model& model, numerics::Format products, const hardware::Accelerator& accelerator);

}  // namespace cairn::cost
