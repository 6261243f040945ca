#include "cairn/models/transformer.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "layer.h"
#include "mixture.h"

namespace cairn::models {
namespace {

// Before the number of a module that predicts a further token, in the names of what it consists of.
constexpr std::string_view k_prediction = "further";

// One part of the batch on its way through a block.
//   dense            begin: everything
//   with experts     begin: attention, router, permutation; transform: experts; finish: combination, shared experts
//   shortcut         the experts read what the block reads, so that tokens travel while attention runs and return while
//                    the shared experts run
class BlockPart {
 public:
  BlockPart(Layer& layer, const AttentionPattern& pattern, MlpKind mlp, ir::TensorId x)
      : layer_(layer), pattern_(pattern), mlp_kind_(mlp), moe_(mlp == MlpKind::moe), x_(x) {}

  void begin() {
    if (moe_ && mixture().shortcut) routed_ = append_routing(layer_, append_norm(layer_, "shortcut_norm", x_));
    const bool mixes = pattern_.kind != AttentionKind::none;
    const bool shared = layer_.config.norm_place == NormPlace::shared;
    const ir::TensorId normed = mixes || shared ? before("norm1", x_) : ir::k_no_tensor;
    middle_ = mixes ? mix(normed) : x_;
    if (mlp_kind_ == MlpKind::none) return;
    y_ = shared ? normed : before("norm2", layer_.config.residual == Residual::parallel ? x_ : middle_);
    if (moe_ && !mixture().shortcut) routed_ = append_routing(layer_, y_);
    if (!moe_) mlp_ = append_mlp(layer_, y_, layer_.axis.ffn);
    if (moe_ && !mixture().shortcut && layer_.options.shared_experts_first) append_shared();
  }

  void transform() {
    if (moe_) append_experts(layer_, routed_);
  }

  ir::TensorId finish() {
    if (mlp_kind_ == MlpKind::none) return middle_;
    if (!moe_) return append_residual(layer_, "2", middle_, after("norm2", mlp_.value), mlp_.bias);
    if (mixture().shortcut) append_shared();
    ir::TensorId y = append_combine(layer_, routed_);
    append_shared();
    if (shared_.value != ir::k_no_tensor) y = append_shared_sum(layer_, y, y_, shared_);
    return append_residual(layer_, "2", middle_, after("norm2", y), ir::k_no_tensor);
  }

 private:
  const MixtureConfig& mixture() const { return *layer_.config.moe; }

  ir::TensorId before(const char* name, ir::TensorId x) {
    return layer_.config.norm_place == NormPlace::post ? x : append_norm(layer_, name, x);
  }

  ir::TensorId after(const std::string& name, ir::TensorId result) {
    const NormPlace place = layer_.config.norm_place;
    if (place != NormPlace::post && place != NormPlace::sandwich) return result;
    return append_norm(layer_, (name + ".after").c_str(), result);
  }

  ir::TensorId mix(ir::TensorId normed) {
    const Biased mixed =
        pattern_.kind == AttentionKind::mamba2
            ? append_mamba2(layer_, normed)
            : append_projection(layer_, append_attention(layer_, pattern_, normed), heads_of(layer_, pattern_.kind));
    return append_residual(layer_, "1", x_, after("norm1", mixed.value), mixed.bias);
  }

  void append_shared() {
    if (shared_.value != ir::k_no_tensor || mixture().shared_experts == 0) return;
    const Axis width{"ffn", loopnest::Extent::of(mixture().shared_width())};
    shared_ = append_mlp(layer_, y_, width, "shared.");
  }

  Layer& layer_;
  AttentionPattern pattern_;
  MlpKind mlp_kind_;
  bool moe_;
  ir::TensorId x_;
  ir::TensorId middle_ = ir::k_no_tensor;
  ir::TensorId y_ = ir::k_no_tensor;
  Biased shared_;
  Routed routed_;
  Biased mlp_;
};

class TransformerBuilder {
 public:
  TransformerBuilder(const TransformerConfig& config, const BuildOptions& options)
      : config_(config), options_(options), axes_(config, config.padded_vocab(options.vocab_divisor), options.parts) {}

  ir::Model build() {
    model_.name = config_.name;
    model_.classes.reserve(3 + config_.blocks.size());
    embedding();
    body();
    head();
    return std::move(model_);
  }

 private:
  using Tensors = std::vector<ir::TensorId>;

  // One tensor of the residual stream per part of the batch.
  Tensors streams(Layer& layer) const {
    Tensors result;
    for (std::int64_t part = 0; part < options_.parts; ++part) result.push_back(layer.stream("x"));
    return result;
  }

  void embedding() {
    Layer layer(config_, options_, axes_);
    Tensors outputs;
    for (std::int64_t part = 0; part < options_.parts; ++part) {
      ir::TensorId x = append_embedding(layer);
      if (config_.moe && config_.moe->dispatcher == Dispatcher::exflow) x = append_shared_context(layer, x);
      outputs.push_back(x);
    }
    layer.graph.set_outputs(outputs);
    finish("embedding", ir::Position::entry, std::move(layer.graph));
    append_run(0, 1);
  }

  void head() {
    Layer layer(config_, options_, axes_);
    if (config_.residual == Residual::ladder) {
      const ir::TensorId x = layer.stream("x");
      const ir::TensorId pending = layer.stream("pending");
      layer.graph.set_inputs({x, pending});
      append_head(layer, append_residual(layer, "", x, pending, ir::k_no_tensor));
    } else if (config_.residual == Residual::kraken) {
      layer.each_way = true;
      const ir::TensorId x = layer.stream("x");
      layer.graph.set_inputs({x});
      append_head(layer, append_conjunction(layer, x));
    } else {
      const Tensors inputs = streams(layer);
      layer.graph.set_inputs(inputs);
      for (const ir::TensorId x : inputs) {
        append_head(layer, x);
        predict_further(layer, x);
      }
    }
    append_run(finish("head", ir::Position::exit, std::move(layer.graph)), 1);
  }

  // A module for each token further ahead, one after the other, behind the model's own loss.
  void predict_further(Layer& layer, ir::TensorId h) const {
    for (std::int64_t k = 1; k <= config_.prediction_depth(); ++k) {
      layer.prefix = fmt::format("{}{}.", k_prediction, k);
      BlockPart part(layer, config_.attention_of(BlockPattern{}), config_.mlp_of(BlockPattern{}),
                     append_further_token(layer, h));
      part.begin();
      part.transform();
      h = part.finish();
      append_head(layer, h);
      layer.prefix.clear();
    }
  }

  struct Kind {
    AttentionPattern attention;
    MlpKind mlp = MlpKind::dense;
    friend bool operator==(const Kind&, const Kind&) = default;
  };

  Kind kind_of(const BlockPattern& block) const { return {config_.attention_of(block), config_.mlp_of(block)}; }

  // The parts take turns at the places where tokens travel.
  std::int32_t block(const Kind& kind) {
    Layer layer(config_, options_, axes_);
    const Tensors inputs = streams(layer);
    layer.graph.set_inputs(inputs);
    std::vector<BlockPart> parts;
    for (const ir::TensorId x : inputs) parts.emplace_back(layer, kind.attention, kind.mlp, x);
    for (BlockPart& part : parts) part.begin();
    for (BlockPart& part : parts) part.transform();
    Tensors outputs;
    for (BlockPart& part : parts) outputs.push_back(part.finish());
    layer.graph.set_outputs(outputs);
    return finish(name_of(kind), ir::Position::body, std::move(layer.graph));
  }

  // Every sub-layer reads the stream without the result of the one before it, which joins afterwards (Ladder-Residual,
  // arXiv 2501.06589): x' = x + h(x before h's predecessor joined). A block hands on the stream and the MLP's result,
  // still to join.
  std::int32_t ladder_block(const AttentionPattern& pattern, bool first) {
    Layer layer(config_, options_, axes_);
    const ir::TensorId x = layer.stream("x");
    const ir::TensorId pending = first ? ir::k_no_tensor : layer.stream("pending");
    layer.graph.set_inputs(first ? std::vector<ir::TensorId>{x} : std::vector<ir::TensorId>{x, pending});
    const Biased attended = append_projection(layer, append_attention(layer, pattern, append_norm(layer, "norm1", x)),
                                              heads_of(layer, pattern.kind));
    const ir::TensorId middle = first ? x : append_residual(layer, "1", x, pending, ir::k_no_tensor);
    const Biased transformed = append_mlp(layer, append_norm(layer, "norm2", middle), axes_.ffn);
    layer.graph.set_outputs({append_residual(layer, "2", middle, attended.value, attended.bias), transformed.value});
    return finish(first ? "block.first" : "block", ir::Position::body, std::move(layer.graph));
  }

  std::int32_t side_by_side_block(bool first) {
    Layer layer(config_, options_, axes_);
    layer.each_way = !first;
    const ir::TensorId x = layer.stream("x");
    layer.graph.set_inputs({x});
    layer.graph.set_outputs({append_side_by_side(layer, x, first)});
    return finish(first ? "block.first" : "block", ir::Position::body, std::move(layer.graph));
  }

  std::string name_of(const Kind& kind) const {
    std::string name = "block";
    if (kind.attention.kind == AttentionKind::sliding) name += ".sliding." + std::to_string(kind.attention.window);
    if (kind.attention.kind == AttentionKind::chunked) name += ".chunked." + std::to_string(kind.attention.window);
    if (kind.attention.kind == AttentionKind::linear) name += ".linear";
    if (kind.attention.kind == AttentionKind::nope) name += ".nope";
    if (kind.attention.kind == AttentionKind::delta) name += ".delta";
    const bool mixer = kind.attention.kind == AttentionKind::mamba2;
    const bool attends = !mixer && kind.attention.kind != AttentionKind::none;
    if (mixer) name += ".mamba2";
    if (attends && kind.mlp == MlpKind::none) name += ".attention";
    if (!attends && kind.mlp == MlpKind::dense && !config_.moe) name += ".mlp";
    if (config_.moe && kind.mlp == MlpKind::dense) name += ".dense";
    if (kind.mlp == MlpKind::moe) name += ".moe";
    return name;
  }

  // Every distinct block is built once.
  void body() {
    if (config_.residual == Residual::ladder || config_.residual == Residual::kraken) {
      const auto build = [&](bool first) {
        return config_.residual == Residual::ladder ? ladder_block(AttentionPattern{}, first)
                                                    : side_by_side_block(first);
      };
      append_run(build(true), 1);
      if (config_.layers > 1) append_run(build(false), config_.layers - 1);
      return;
    }
    if (config_.blocks.empty()) {
      append_run(block(kind_of(BlockPattern{})), config_.layers);
      return;
    }
    std::vector<std::int32_t> class_of(config_.blocks.size());
    for (std::size_t i = 0; i < config_.blocks.size(); ++i) {
      const auto begin = config_.blocks.begin();
      const Kind kind = kind_of(config_.blocks[i]);
      const auto same = [&](const BlockPattern& other) { return kind_of(other) == kind; };
      const auto first = static_cast<std::size_t>(std::find_if(begin, config_.blocks.end(), same) - begin);
      class_of[i] = first < i ? class_of[first] : block(kind);
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
      narrow.own_parts = {axes_.kv_heads.name, k_state_groups, axes_.ffn.name};
      if (config_.ways > 1) narrow.own_parts = {axes_.ways.name};
      narrow.transposing = models::name(options_.kernels.transpose);
      narrow.journeys.origins = row_origins();
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

std::vector<std::string> assumptions(const TransformerConfig& config, const Kernels& kernels) {
  const auto attends = [&](AttentionKind kind) {
    return std::any_of(config.blocks.begin(), config.blocks.end(),
                       [&](const BlockPattern& block) { return config.attention_of(block).kind == kind; });
  };
  std::vector<std::string> all;
  if (config.score_cap && !keeps_scores(kernels.attention))
    all.emplace_back("capped scores: an attention kernel that keeps them on chip takes no longer for the cap");
  if (config.residual == Residual::parallel)
    all.emplace_back("attention and MLP side by side: ranks that split heads sum the result of either by itself");
  if (config.moe && config.moe->balance_bias)
    all.emplace_back("the bias that chooses experts: exchanged and updated like a gradient of its size");
  if (attends(AttentionKind::delta))
    all.emplace_back(
        "a delta rule: every product is a kernel of its own that keeps its operands; the recurrence over chunks runs "
        "at "
        "the speed of vector units");
  return all;
}

ParameterCount count_parameters(const TransformerConfig& config, const ir::Model& model) {
  ParameterCount count{.total = model.parameters(), .active = 0, .prediction = 0};
  const auto further = [](const ir::Tensor& tensor) { return tensor.name.starts_with(k_prediction); };
  for (const ir::LayerRun& run : model.layers)
    for (const ir::Tensor& tensor : model.classes[static_cast<std::size_t>(run.layer_class)].graph.tensors())
      if (tensor.role == ir::Role::parameter && further(tensor))
        count.prediction += run.count * tensor.elements(loopnest::Sizes{});
  count.total -= count.prediction;
  count.active = count.total;
  if (!config.moe) return count;
  std::int64_t routed = 0;
  for (const ir::LayerRun& run : model.layers)
    for (const ir::Tensor& tensor : model.classes[static_cast<std::size_t>(run.layer_class)].graph.tensors())
      if (tensor.role == ir::Role::parameter && tensor.dims.front().name == "experts" && !further(tensor))
        routed += run.count * tensor.elements(loopnest::Sizes{});
  count.active -= routed / config.moe->experts * (config.moe->experts - config.moe->top_k);
  return count;
}

}  // namespace cairn::models
