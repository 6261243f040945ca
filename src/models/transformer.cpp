#include "cairn/models/transformer.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cairn/core/diagnostics.h"
#include "layer.h"

namespace cairn::models {
namespace {

class TransformerBuilder {
 public:
  TransformerBuilder(const TransformerConfig& config, const BuildOptions& options)
      : config_(config), options_(options), axes_(config, config.padded_vocab(options.vocab_divisor)) {}

  ir::Model build() {
    model_.name = config_.name;
    model_.classes.reserve(3 + config_.blocks.size());
    embedding();
    body();
    head();
    return std::move(model_);
  }

 private:
  void embedding() {
    Layer layer(config_, options_, axes_);
    layer.graph.set_outputs({append_embedding(layer)});
    finish("embedding", ir::Position::entry, std::move(layer.graph));
    append_run(0, 1);
  }

  void head() {
    Layer layer(config_, options_, axes_);
    ir::TensorId x = layer.stream("x");
    if (config_.residual == Residual::ladder) {
      const ir::TensorId pending = layer.stream("pending");
      layer.graph.set_inputs({x, pending});
      x = append_residual(layer, "", x, pending, ir::k_no_tensor);
    } else {
      layer.graph.set_inputs({x});
    }
    append_head(layer, x);
    append_run(finish("head", ir::Position::exit, std::move(layer.graph)), 1);
  }

  std::int32_t block(const AttentionPattern& pattern) {
    Layer layer(config_, options_, axes_);
    const ir::TensorId x = layer.stream("x");
    layer.graph.set_inputs({x});
    const ir::TensorId context = append_attention(layer, pattern, append_norm(layer, "norm1", x));
    const Biased attended = append_projection(layer, context);
    const ir::TensorId middle = append_residual(layer, "1", x, attended.value, attended.bias);
    const Biased transformed = append_mlp(layer, append_norm(layer, "norm2", middle));
    layer.graph.set_outputs({append_residual(layer, "2", middle, transformed.value, transformed.bias)});
    const bool slides = pattern.kind == AttentionKind::sliding;
    const std::string name = slides ? "block.sliding." + std::to_string(pattern.window) : "block";
    return finish(name, ir::Position::body, std::move(layer.graph));
  }

  // Every sub-layer reads the stream without the result of the one before it, which joins afterwards (Ladder-Residual, arXiv
  // 2501.06589): x' = x + h(x before h's predecessor joined). A block hands on the stream and the MLP's result, still to join.
  std::int32_t ladder_block(const AttentionPattern& pattern, bool first) {
    Layer layer(config_, options_, axes_);
    const ir::TensorId x = layer.stream("x");
    const ir::TensorId pending = first ? ir::k_no_tensor : layer.stream("pending");
    layer.graph.set_inputs(first ? std::vector<ir::TensorId>{x} : std::vector<ir::TensorId>{x, pending});
    const Biased attended = append_projection(layer, append_attention(layer, pattern, append_norm(layer, "norm1", x)));
    const ir::TensorId middle = first ? x : append_residual(layer, "1", x, pending, ir::k_no_tensor);
    const Biased transformed = append_mlp(layer, append_norm(layer, "norm2", middle));
    layer.graph.set_outputs({append_residual(layer, "2", middle, attended.value, attended.bias), transformed.value});
    return finish(first ? "block.first" : "block", ir::Position::body, std::move(layer.graph));
  }

  // Equal attention means an equal block: every distinct pattern is built once.
  void body() {
    if (config_.residual == Residual::ladder) {
      append_run(ladder_block(AttentionPattern{}, true), 1);
      if (config_.layers > 1) append_run(ladder_block(AttentionPattern{}, false), config_.layers - 1);
      return;
    }
    if (config_.blocks.empty()) {
      append_run(block(AttentionPattern{}), config_.layers);
      return;
    }
    std::vector<std::int32_t> class_of(config_.blocks.size());
    for (std::size_t i = 0; i < config_.blocks.size(); ++i) {
      const auto begin = config_.blocks.begin();
      const auto same = [&](const BlockPattern& other) { return other.attention == config_.blocks[i].attention; };
      const auto first = static_cast<std::size_t>(std::find_if(begin, config_.blocks.end(), same) - begin);
      class_of[i] = first < i ? class_of[first] : block(config_.blocks[i].attention);
    }
    for (std::int64_t built = 0; built < config_.layers;) {
      for (std::size_t i = 0; i < config_.blocks.size(); ++i) {
        append_run(class_of[i], config_.blocks[i].repeat);
        built += config_.blocks[i].repeat;
      }
    }
  }

  std::int32_t finish(std::string name, ir::Position position, ir::Graph graph) {
    graph.differentiate(
        {.parameter_gradient = options_.parameter_gradient, .fused_accumulation = options_.fused_accumulation});
    if (options_.narrow && position == ir::Position::body) {
      ir::NarrowProducts narrow = *options_.narrow;
      narrow.own_parts = {axes_.kv_heads.name, axes_.ffn.name};
      ir::narrow_products(graph, narrow);
    }
    model_.classes.push_back(ir::LayerClass{.name = std::move(name), .position = position, .graph = std::move(graph)});
    return static_cast<std::int32_t>(model_.classes.size()) - 1;
  }

  void append_run(std::int32_t layer_class, std::int64_t count) {
    if (!model_.layers.empty() && model_.layers.back().layer_class == layer_class)
      model_.layers.back().count += count;
    else
      model_.layers.push_back({.layer_class = layer_class, .count = count});
  }

  const TransformerConfig& config_;
  const BuildOptions& options_;
  Axes axes_;
  ir::Model model_;
};

}  // namespace

ir::Model build_transformer(const TransformerConfig& config, const BuildOptions& options) {
  validate(config);
  if (config.position == PositionEncoding::learned && !config.max_positions) {
    throw core::ConfigurationError("model.max_positions", "learned positions need their number",
                                   "give max_positions, or build with for_sequence()");
  }
  return TransformerBuilder(config, options).build();
}

}  // namespace cairn::models
