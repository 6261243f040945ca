// A small transformer made of ir and loopnest alone, with the dimension names that splitting rules know: kv_heads, ffn,
// vocab, sequence. Embedding and head may share one table.
//   entry   embedding
//   body    x + proj(attention(qkv(norm(x)))), then r + fc2(gelu(fc1(norm(r))))
//   exit    norm, logits, loss
#pragma once

#include "small_models.h"

namespace cairn::testing {
namespace small_models {

struct TransformerOptions {
  std::int64_t body_layers = 4;
  std::int64_t hidden = 16;
  std::int64_t heads = 4;
  std::int64_t ffn = 32;
  std::int64_t vocab = 64;
  bool tied = true;
  bool row_bias = false;  // fc2 adds its bias inside the product that is split along what it sums over
  bool in_place = false;  // the activation function overwrites fc1's output
  bool fused_accumulation = true;
  numerics::Format format = numerics::Format::bf16;
};

class SmallTransformer {
 public:
  explicit SmallTransformer(const TransformerOptions& options) : o_(options) {}

  ir::Model build() const {
    ir::Model model;
    model.name = "small transformer";
    ir::Graph entry;
    append_embedding(entry);
    add(model, "entry", ir::Position::entry, std::move(entry), 1);
    ir::Graph body;
    append_body(body);
    add(model, "body", ir::Position::body, std::move(body), o_.body_layers);
    ir::Graph exit;
    append_head(exit);
    add(model, "exit", ir::Position::exit, std::move(exit), 1);
    return model;
  }

 private:
  using Extent = loopnest::Extent;
  static Extent batch() { return Extent::of(loopnest::Symbol::batch); }
  static Extent sequence() { return Extent::of(loopnest::Symbol::sequence); }
  Extent hidden() const { return Extent::of(o_.hidden); }
  Extent heads() const { return Extent::of(o_.heads); }
  Extent head_dim() const { return Extent::of(o_.hidden / o_.heads); }
  Extent ffn() const { return Extent::of(o_.ffn); }
  Extent vocab() const { return Extent::of(o_.vocab); }

  void add(ir::Model& model, const char* name, ir::Position position, ir::Graph graph, std::int64_t count) const {
    graph.differentiate({.parameter_gradient = numerics::Format::fp32, .fused_accumulation = o_.fused_accumulation});
    model.layers.push_back({.layer_class = static_cast<std::int32_t>(model.classes.size()), .count = count});
    model.classes.push_back(ir::LayerClass{.name = name, .position = position, .graph = std::move(graph)});
  }

  ir::TensorId stream(ir::Graph& graph, const std::string& name) const {
    return activation(graph, name, {{"batch", batch()}, {"sequence", sequence()}, {"hidden", hidden()}});
  }
  ir::TensorId activation(ir::Graph& graph, const std::string& name, Dims dims) const {
    return tensor(graph, name, dims, ir::Role::activation, o_.format);
  }
  ir::TensorId parameter(ir::Graph& graph, const std::string& name, Dims dims, const char* tied = "") const {
    return tensor(graph, name, dims, ir::Role::parameter, o_.format, tied);
  }
  static ir::TensorId statistic(ir::Graph& graph, const std::string& name, Dims dims) {
    ir::Tensor tensor;
    tensor.name = name;
    for (const auto& [dim, size] : dims) tensor.dims.push_back(ir::TensorDim{.name = dim, .extent = size});
    tensor.format = numerics::Format::fp32;
    tensor.statistic = true;
    return graph.add_tensor(std::move(tensor));
  }
  static ir::TensorId tokens(ir::Graph& graph, const std::string& name) {
    return tensor(graph, name, {{"batch", batch()}, {"sequence", sequence()}}, ir::Role::index,
                  numerics::Format::int64);
  }
  const char* tag() const { return o_.tied ? "table" : ""; }

  void append_embedding(ir::Graph& graph) const {
    const ir::TensorId ids = tokens(graph, "tokens");
    const ir::TensorId table = parameter(graph, "embedding", {{"vocab", vocab()}, {"hidden", hidden()}}, tag());
    const ir::TensorId x = stream(graph, "embedding.out");
    ir::Operator op = operation("embedding", ir::Kind::gather,
                                {{"batch", batch()}, {"sequence", sequence()}, {"hidden", hidden()}}, 0.0);
    op.domain.add("vocab", vocab(), 1);
    append(graph, std::move(op),
           {read(ids, {at(0), at(1)}, ir::InputGradient::none), read(table, {at(3), at(2)}),
            write(x, {at(0), at(1), at(2)})},
           {ids});
    graph.set_outputs({x});
  }

  ir::TensorId append_norm(ir::Graph& graph, const std::string& name, ir::TensorId x) const {
    const ir::TensorId gain = parameter(graph, name + ".gain", {{"hidden", hidden()}});
    const ir::TensorId y = stream(graph, name + ".out");
    const ir::TensorId scale = statistic(graph, name + ".scale", {{"batch", batch()}, {"sequence", sequence()}});
    append(graph,
           operation(name, ir::Kind::reduce, {{"batch", batch()}, {"sequence", sequence()}, {"hidden", hidden()}}, 4.0,
                     7.0),
           {read(x, {at(0), at(1), at(2)}), read(gain, {at(2)}), write(y, {at(0), at(1), at(2)}),
            write(scale, {at(0), at(1)})},
           {x, gain, scale});
    return y;
  }

  void append_attention(ir::Graph& graph, ir::TensorId qkv, ir::TensorId context) const {
    const ir::TensorId logsum =
        statistic(graph, "logsumexp", {{"batch", batch()}, {"kv_heads", heads()}, {"query", sequence()}});
    ir::Operator op = operation("attention", ir::Kind::contraction,
                                {{"batch", batch()},
                                 {"kv_heads", heads()},
                                 {"query", sequence()},
                                 {"key", sequence()},
                                 {"head_dim", head_dim()}},
                                4.0, 10.0);
    op.region = "attention";
    op.domain.add_guard(loopnest::Affine{.terms = {{2, 1}, {3, -1}}, .offset = 0});
    append(graph, std::move(op),
           {read(qkv, {at(0), at(2), at(1), fixed(0), at(4)}), read(qkv, {at(0), at(3), at(1), fixed(1), at(4)}),
            read(qkv, {at(0), at(3), at(1), fixed(2), at(4)}),
            accumulate(context, {at(0), at(2), at(1), at(4)}, ir::Monoid::softmax_merge),
            accumulate(logsum, {at(0), at(1), at(2)}, ir::Monoid::softmax_merge)},
           {qkv, context, logsum});
  }

  ir::TensorId append_residual(ir::Graph& graph, const std::string& name, ir::TensorId x, ir::TensorId y) const {
    const ir::TensorId out = stream(graph, name);
    append(
        graph,
        operation(name, ir::Kind::pointwise, {{"batch", batch()}, {"sequence", sequence()}, {"hidden", hidden()}}, 1.0),
        {read(y, {at(0), at(1), at(2)}, ir::InputGradient::passed),
         read(x, {at(0), at(1), at(2)}, ir::InputGradient::passed), write(out, {at(0), at(1), at(2)})});
    return out;
  }

  ir::TensorId append_mlp(ir::Graph& graph, ir::TensorId y) const {
    const Dims wide{{"batch", batch()}, {"sequence", sequence()}, {"ffn", ffn()}};
    const ir::TensorId w1 = parameter(graph, "fc1.weight", {{"ffn", ffn()}, {"hidden", hidden()}});
    const ir::TensorId inner = activation(graph, "fc1.out", wide);
    append(graph,
           operation("fc1", ir::Kind::contraction,
                     {{"batch", batch()}, {"sequence", sequence()}, {"ffn", ffn()}, {"hidden", hidden()}}, 2.0),
           {read(y, {at(0), at(1), at(3)}), read(w1, {at(2), at(3)}), accumulate(inner, {at(0), at(1), at(2)})});
    ir::Tensor shaped = graph.tensor(inner);
    shaped.name = "activation.out";
    if (o_.in_place) shaped.alias_of = inner;
    const ir::TensorId out = graph.add_tensor(std::move(shaped));
    append(graph, operation("activation", ir::Kind::pointwise, wide, 9.0, 17.0),
           {read(inner, {at(0), at(1), at(2)}), write(out, {at(0), at(1), at(2)})}, {o_.in_place ? out : inner});
    const ir::TensorId w2 = parameter(graph, "fc2.weight", {{"hidden", hidden()}, {"ffn", ffn()}});
    const ir::TensorId result = stream(graph, "fc2.out");
    ir::Operator op =
        operation("fc2", ir::Kind::contraction,
                  {{"batch", batch()}, {"sequence", sequence()}, {"hidden", hidden()}, {"ffn", ffn()}}, 2.0);
    op.accesses = {read(out, {at(0), at(1), at(3)}), read(w2, {at(2), at(3)}),
                   accumulate(result, {at(0), at(1), at(2)})};
    if (o_.row_bias) op.accesses.push_back(bias(parameter(graph, "fc2.bias", {{"hidden", hidden()}}), {at(2)}));
    graph.add_operator(std::move(op));
    return result;
  }

  void append_body(ir::Graph& graph) const {
    const ir::TensorId x = stream(graph, "x");
    graph.set_inputs({x});
    const ir::TensorId y = append_norm(graph, "norm1", x);
    const Extent three = Extent::of(3);
    const ir::TensorId w = parameter(
        graph, "qkv.weight", {{"kv_heads", heads()}, {"qkv", three}, {"head_dim", head_dim()}, {"hidden", hidden()}});
    const ir::TensorId qkv = activation(graph, "qkv.out",
                                        {{"batch", batch()},
                                         {"sequence", sequence()},
                                         {"kv_heads", heads()},
                                         {"qkv", three},
                                         {"head_dim", head_dim()}});
    append(graph,
           operation("qkv", ir::Kind::contraction,
                     {{"batch", batch()},
                      {"sequence", sequence()},
                      {"kv_heads", heads()},
                      {"qkv", three},
                      {"head_dim", head_dim()},
                      {"hidden", hidden()}},
                     2.0),
           {read(y, {at(0), at(1), at(5)}), read(w, {at(2), at(3), at(4), at(5)}),
            accumulate(qkv, {at(0), at(1), at(2), at(3), at(4)})});
    const ir::TensorId context =
        activation(graph, "context",
                   {{"batch", batch()}, {"sequence", sequence()}, {"kv_heads", heads()}, {"head_dim", head_dim()}});
    append_attention(graph, qkv, context);
    const ir::TensorId wo =
        parameter(graph, "proj.weight", {{"hidden", hidden()}, {"kv_heads", heads()}, {"head_dim", head_dim()}});
    const ir::TensorId projected = stream(graph, "proj.out");
    append(graph,
           operation("proj", ir::Kind::contraction,
                     {{"batch", batch()},
                      {"sequence", sequence()},
                      {"hidden", hidden()},
                      {"kv_heads", heads()},
                      {"head_dim", head_dim()}},
                     2.0),
           {read(context, {at(0), at(1), at(3), at(4)}), read(wo, {at(2), at(3), at(4)}),
            accumulate(projected, {at(0), at(1), at(2)})});
    const ir::TensorId r = append_residual(graph, "residual1", x, projected);
    const ir::TensorId z = append_norm(graph, "norm2", r);
    graph.set_outputs({append_residual(graph, "residual2", r, append_mlp(graph, z))});
  }

  void append_head(ir::Graph& graph) const {
    const ir::TensorId x = stream(graph, "x");
    graph.set_inputs({x});
    const ir::TensorId y = append_norm(graph, "final_norm", x);
    const ir::TensorId table = parameter(graph, "head.weight", {{"vocab", vocab()}, {"hidden", hidden()}}, tag());
    const ir::TensorId logits =
        activation(graph, "logits", {{"batch", batch()}, {"sequence", sequence()}, {"vocab", vocab()}});
    append(graph,
           operation("logits", ir::Kind::contraction,
                     {{"batch", batch()}, {"sequence", sequence()}, {"vocab", vocab()}, {"hidden", hidden()}}, 2.0),
           {read(y, {at(0), at(1), at(3)}), read(table, {at(2), at(3)}), accumulate(logits, {at(0), at(1), at(2)})});
    const ir::TensorId labels = tokens(graph, "labels");
    const ir::TensorId value = statistic(graph, "loss", {{"batch", batch()}, {"sequence", sequence()}});
    const ir::TensorId logsum = statistic(graph, "loss.logsumexp", {{"batch", batch()}, {"sequence", sequence()}});
    append(graph,
           operation("loss", ir::Kind::reduce, {{"batch", batch()}, {"sequence", sequence()}, {"vocab", vocab()}}, 4.0,
                     4.0),
           {read(logits, {at(0), at(1), at(2)}), read(labels, {at(0), at(1)}, ir::InputGradient::none),
            write(value, {at(0), at(1)}), write(logsum, {at(0), at(1)})},
           {logits, labels, logsum});
  }

  TransformerOptions o_;
};

inline ir::Model small_transformer(const TransformerOptions& options = {}) { return SmallTransformer(options).build(); }

}  // namespace small_models

using small_models::small_transformer;
using small_models::TransformerOptions;

}  // namespace cairn::testing
