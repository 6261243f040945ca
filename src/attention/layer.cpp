#include "cairn/attention/layer.h"

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/core/assert.h"
#include "cairn/models/transformer.h"

namespace cairn::attention {
namespace {

constexpr std::string_view k_operator = "attention";

// A transformer of one block around the heads; sizes of its other parts do not matter.
ir::Model around(const LayerShape& shape) {
  CAIRN_ASSERT(!models::keeps_scores(shape.kernel));
  models::TransformerConfig config;
  config.name = k_operator;
  config.layers = 1;
  config.hidden = shape.head_dim;
  config.heads = shape.heads;
  config.kv_heads = shape.kv_heads;
  config.head_dim = shape.head_dim;
  config.ffn = 1;
  config.vocab = 1;
  config.position = models::PositionEncoding::none;
  config.bias = false;
  config.causal = shape.causal;
  models::BuildOptions options;
  options.kernels.attention = shape.kernel;
  options.kernels.separate_qkv = true;
  return models::build_transformer(config, options);
}

const ir::Operator* find_attention(const ir::Graph& graph) {
  for (const ir::Operator& op : graph.operators())
    if (op.name == k_operator && op.phase == ir::Phase::forward) return &op;
  return nullptr;
}

// The operator and the tensors it accesses, by themselves.
class Extract {
 public:
  explicit Extract(const ir::Graph& from) : from_(from) {}

  ir::Graph of(ir::Operator op) {
    std::vector<ir::TensorId> inputs, outputs;
    for (ir::Access& access : op.accesses) {
      access.tensor = moved(access.tensor);
      if (access.mode == ir::Mode::read)
        inputs.push_back(access.tensor);
      else if (!graph_.tensor(access.tensor).statistic)
        outputs.push_back(access.tensor);
    }
    for (ir::TensorId& kept : op.backward_reads) kept = moved(kept);
    graph_.add_operator(std::move(op));
    graph_.set_inputs(std::move(inputs));
    graph_.set_outputs(std::move(outputs));
    graph_.differentiate({});
    return std::move(graph_);
  }

 private:
  ir::TensorId moved(ir::TensorId tensor) {
    const auto [slot, fresh] = ids_.try_emplace(tensor, ir::k_no_tensor);
    if (fresh) slot->second = graph_.add_tensor(from_.tensor(tensor));
    return slot->second;
  }

  const ir::Graph& from_;
  ir::Graph graph_;
  std::map<ir::TensorId, ir::TensorId> ids_;
};

}  // namespace

ir::LayerClass attention_layer(const LayerShape& shape) {
  const ir::Model model = around(shape);
  for (const ir::LayerClass& layer : model.classes)
    if (const ir::Operator* op = find_attention(layer.graph))
      return {.name = std::string(k_operator), .graph = Extract(layer.graph).of(*op)};
  CAIRN_ASSERT(false && "a transformer has attention");
  return {};
}

}  // namespace cairn::attention
