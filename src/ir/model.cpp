#include "cairn/ir/model.h"

#include <algorithm>

namespace cairn::ir {

std::int64_t Model::body_layers() const {
  std::int64_t total = 0;
  for (const LayerRun& run : layers)
    if (classes[static_cast<std::size_t>(run.layer_class)].position == Position::body) total += run.count;
  return total;
}

std::int64_t Model::parameters() const {
  std::int64_t total = 0;
  std::vector<std::string> seen;
  for (const LayerRun& run : layers)
    for (const Tensor& tensor : classes[static_cast<std::size_t>(run.layer_class)].graph.tensors()) {
      if (tensor.role != Role::parameter) continue;
      std::int64_t copies = run.count;
      if (!tensor.tied.empty()) {
        copies = std::find(seen.begin(), seen.end(), tensor.tied) == seen.end() ? 1 : 0;
        seen.push_back(tensor.tied);
      }
      total += copies * tensor.elements(loopnest::Sizes{});
    }
  return total;
}

double Model::forward_flops(const loopnest::Sizes& sizes, bool unmasked) const {
  double total = 0.0;
  for (const LayerRun& run : layers) {
    const Graph& graph = classes[static_cast<std::size_t>(run.layer_class)].graph;
    for (std::size_t id = 0; id < graph.forward_count(); ++id) {
      const Operator& op = graph.operators()[id];
      if (op.kind != Kind::contraction) continue;
      const Shard shard{.op = &op, .graph = &graph, .box = op.domain.box(sizes)};
      double routed = static_cast<double>(run.count);
      for (const loopnest::Dim& dim : op.domain.dims()) routed *= dim.extent.useful(sizes);
      total += routed * (unmasked ? flops_unmasked(shard) : flops_full(shard));
    }
  }
  return total;
}

}  // namespace cairn::ir
