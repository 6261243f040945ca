#include "cairn/cost/peak.h"

#include "cairn/core/assert.h"

namespace cairn::cost {

numerics::Format operand_format(const ir::Operator& op, const ir::Graph& graph) {
  for (const ir::Access& access : op.accesses)
    if (access.mode == ir::Mode::read) return graph.tensor(access.tensor).format;
  CAIRN_ASSERT(!"a contraction reads its operands");
  return numerics::Format::fp32;
}

Peak dense_peak(const ir::Model& model, numerics::Format products, const hardware::Accelerator& accelerator) {
  Peak peak{.format = products, .rate = accelerator.product_peak(products)};
  for (const ir::LayerClass& layer : model.classes)
    for (const ir::Operator& op : layer.graph.operators()) {
      if (op.kind != ir::Kind::contraction) continue;
      const numerics::Format format = operand_format(op, layer.graph);
      const core::FlopsPerSecond rate = accelerator.product_peak(format);
      if (rate > peak.rate) peak = {.format = format, .rate = rate};
    }
  return peak;
}

}  // namespace cairn::cost
