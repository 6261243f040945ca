// Three small models unlike a transformer, made of ir and loopnest alone: tests of what works on any graph use them.
//   multilayer_perceptron   [batch, width] layers
//   convolutional_network   strided and padded convolutions, pooling, a linear classifier
//   recurrent_network       one layer per time step, its weights shared by all steps
// Every model has an entry, `body_layers` equal body layers and an exit that ends in a loss; it is differentiated.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "cairn/ir/model.h"

namespace cairn::testing {

struct SmallModelOptions {
  std::int64_t body_layers = 3;
  numerics::Format format = numerics::Format::fp32;
  bool fused_accumulation = true;
};

namespace small_models {

using loopnest::Affine;
using Dim = std::pair<const char*, loopnest::Extent>;
using Dims = std::initializer_list<Dim>;
using Indices = std::initializer_list<Affine>;

inline loopnest::Extent batch() { return loopnest::Extent::of(loopnest::Symbol::batch); }
inline loopnest::Extent extent(std::int64_t size) { return loopnest::Extent::of(size); }
inline Affine at(int dim) { return Affine::of(static_cast<loopnest::DimId>(dim)); }
inline Affine fixed(std::int64_t index) { return Affine{.terms = {}, .offset = index}; }
// stride * i[outer] + i[inner] + offset: a window that slides.
inline Affine window(int outer, std::int32_t stride, int inner, std::int64_t offset) {
  return Affine{.terms = {{static_cast<loopnest::DimId>(outer), stride}, {static_cast<loopnest::DimId>(inner), 1}},
                .offset = offset};
}
inline Affine shifted(int dim, std::int64_t offset) { return Affine::of(static_cast<loopnest::DimId>(dim), 1, offset); }

inline ir::TensorId tensor(ir::Graph& graph, const std::string& name, Dims dims, ir::Role role, numerics::Format format,
                           const std::string& tied = {}) {
  ir::Tensor result;
  result.name = name;
  for (const auto& [dim, size] : dims) result.dims.push_back(ir::TensorDim{.name = dim, .extent = size});
  result.role = role;
  result.format = format;
  result.tied = tied;
  return graph.add_tensor(std::move(result));
}

inline ir::Operator operation(const std::string& name, ir::Kind kind, Dims dims, double flops,
                              double backward_flops = 0.0) {
  ir::Operator result;
  result.name = name;
  result.kind = kind;
  for (const auto& [dim, size] : dims) result.domain.add(dim, size);
  result.flops_per_point = flops;
  result.backward_flops_per_point = backward_flops;
  return result;
}

inline ir::Access access(ir::TensorId tensor, Indices indices, ir::Mode mode, ir::InputGradient gradient) {
  ir::Access result;
  result.tensor = tensor;
  for (const Affine& index : indices) result.projection.push_back(index);
  result.mode = mode;
  result.gradient = gradient;
  return result;
}
inline ir::Access read(ir::TensorId tensor, Indices indices, ir::InputGradient gradient = ir::InputGradient::computed) {
  return access(tensor, indices, ir::Mode::read, gradient);
}
inline ir::Access bias(ir::TensorId tensor, Indices indices) {
  ir::Access result = read(tensor, indices);
  result.addend = true;
  return result;
}
inline ir::Access write(ir::TensorId tensor, Indices indices) {
  return access(tensor, indices, ir::Mode::write, ir::InputGradient::none);
}
inline ir::Access accumulate(ir::TensorId tensor, Indices indices, ir::Monoid monoid = ir::Monoid::sum) {
  ir::Access result = access(tensor, indices, ir::Mode::accumulate, ir::InputGradient::none);
  result.monoid = monoid;
  return result;
}

inline void append(ir::Graph& graph, ir::Operator op, std::initializer_list<ir::Access> accesses,
                   std::initializer_list<ir::TensorId> backward_reads = {}) {
  for (const ir::Access& one : accesses) op.accesses.push_back(one);
  for (const ir::TensorId one : backward_reads) op.backward_reads.push_back(one);
  graph.add_operator(std::move(op));
}

inline void finish(ir::Model& model, const std::string& name, ir::Position position, ir::Graph graph,
                   std::int64_t count, const SmallModelOptions& options) {
  graph.differentiate({.parameter_gradient = options.format, .fused_accumulation = options.fused_accumulation});
  model.layers.push_back({.layer_class = static_cast<std::int32_t>(model.classes.size()), .count = count});
  model.classes.push_back(ir::LayerClass{.name = name, .position = position, .graph = std::move(graph)});
}

// y[b, o] += x[b, i] w[o, i] + v[o]; no gradient is wanted of data.
inline ir::TensorId linear(ir::Graph& graph, const std::string& name, ir::TensorId x, std::int64_t inputs,
                           std::int64_t outputs, ir::InputGradient gradient, numerics::Format format) {
  const ir::TensorId w = tensor(graph, name + ".weight", {{"outputs", extent(outputs)}, {"inputs", extent(inputs)}},
                                ir::Role::parameter, format);
  const ir::TensorId v = tensor(graph, name + ".bias", {{"outputs", extent(outputs)}}, ir::Role::parameter, format);
  const ir::TensorId y =
      tensor(graph, name + ".out", {{"batch", batch()}, {"outputs", extent(outputs)}}, ir::Role::activation, format);
  append(graph,
         operation(name, ir::Kind::contraction,
                   {{"batch", batch()}, {"outputs", extent(outputs)}, {"inputs", extent(inputs)}}, 2.0),
         {read(x, {at(0), at(2)}, gradient), read(w, {at(1), at(2)}), bias(v, {at(1)}), accumulate(y, {at(0), at(1)})});
  return y;
}

// The larger of 0 and x; the derivative looks at the result.
inline ir::TensorId rectifier(ir::Graph& graph, const std::string& name, ir::TensorId x, std::int64_t width,
                              numerics::Format format) {
  const ir::TensorId y =
      tensor(graph, name + ".out", {{"batch", batch()}, {"width", extent(width)}}, ir::Role::activation, format);
  append(graph, operation(name, ir::Kind::pointwise, {{"batch", batch()}, {"width", extent(width)}}, 1.0, 1.0),
         {read(x, {at(0), at(1)}), write(y, {at(0), at(1)})}, {y});
  return y;
}

// Activations of all tokens, [batch, sequence, width].
inline Dim sequence_dim() { return {"sequence", loopnest::Extent::of(loopnest::Symbol::sequence)}; }
inline ir::TensorId token_activation(ir::Graph& graph, const std::string& name, const Dim& width,
                                     numerics::Format format) {
  return tensor(graph, name, {{"batch", batch()}, sequence_dim(), width}, ir::Role::activation, format);
}

// y[b, s, o] += x[b, s, i] w[o, i]: a contraction with its weight; the operator, y and w are all called `name`.
inline ir::TensorId token_product(ir::Graph& graph, const std::string& name, ir::TensorId x, const Dim& inputs,
                                  const Dim& outputs, numerics::Format format) {
  const ir::TensorId w = tensor(graph, name, {outputs, inputs}, ir::Role::parameter, format);
  const ir::TensorId y = token_activation(graph, name, outputs, format);
  append(graph, operation(name, ir::Kind::contraction, {{"batch", batch()}, sequence_dim(), outputs, inputs}, 2.0),
         {read(x, {at(0), at(1), at(3)}), read(w, {at(2), at(3)}), accumulate(y, {at(0), at(1), at(2)})});
  return y;
}

// Softmax cross-entropy over `classes` in one operator.
inline void loss(ir::Graph& graph, ir::TensorId scores, std::int64_t classes) {
  const ir::TensorId labels = tensor(graph, "labels", {{"batch", batch()}}, ir::Role::index, numerics::Format::int64);
  const ir::TensorId value = tensor(graph, "loss", {{"batch", batch()}}, ir::Role::activation, numerics::Format::fp32);
  append(graph, operation("loss", ir::Kind::reduce, {{"batch", batch()}, {"classes", extent(classes)}}, 4.0, 4.0),
         {read(scores, {at(0), at(1)}), read(labels, {at(0)}, ir::InputGradient::none), accumulate(value, {at(0)})},
         {scores, labels});
}

// entry: [batch, features] -> [batch, width]; body: width -> width with a rectifier; exit: width -> classes, loss.
// Parameters: (features + 1) width + body_layers (width + 1) width + (width + 1) classes.
inline ir::Model multilayer_perceptron(std::int64_t features, std::int64_t width, std::int64_t classes,
                                       const SmallModelOptions& options = {}) {
  ir::Model model;
  model.name = "multilayer perceptron";
  {
    ir::Graph graph;
    const ir::TensorId data = tensor(graph, "data", {{"batch", batch()}, {"features", extent(features)}},
                                     ir::Role::activation, options.format);
    const ir::TensorId y = linear(graph, "fc", data, features, width, ir::InputGradient::none, options.format);
    graph.set_outputs({rectifier(graph, "rectifier", y, width, options.format)});
    finish(model, "entry", ir::Position::entry, std::move(graph), 1, options);
  }
  for (const bool last : {false, true}) {
    ir::Graph graph;
    const ir::TensorId x =
        tensor(graph, "x", {{"batch", batch()}, {"width", extent(width)}}, ir::Role::activation, options.format);
    graph.set_inputs({x});
    const ir::TensorId y =
        linear(graph, "fc", x, width, last ? classes : width, ir::InputGradient::computed, options.format);
    if (last)
      loss(graph, y, classes);
    else
      graph.set_outputs({rectifier(graph, "rectifier", y, width, options.format)});
    finish(model, last ? "exit" : "body", last ? ir::Position::exit : ir::Position::body, std::move(graph),
           last ? 1 : options.body_layers, options);
  }
  return model;
}

// Images [batch, 3, 2 side + 1, 2 side + 1]. entry: 3 x 3 convolution of stride 2 to `channels` maps of side x side;
// body: 3 x 3 convolution of stride 1; exit: 2 x 2 maximum pooling, linear classifier, loss. Maps are stored with a rim
// of one zero on each side, so that equal layers follow each other. `side` is even. Parameters: 27 channels +
// body_layers 9 channels^2 + (channels (side / 2)^2 + 1) classes.
class ConvolutionalNetwork {
 public:
  ConvolutionalNetwork(std::int64_t side, std::int64_t channels, std::int64_t classes, const SmallModelOptions& options)
      : side_(side), channels_(channels), classes_(classes), options_(options) {}

  ir::Model build() const {
    ir::Model model;
    model.name = "convolutional network";
    ir::Graph entry;
    const std::int64_t image_side = 2 * side_ + 1;
    const ir::TensorId image = map(entry, "image", k_colours, image_side);
    entry.set_outputs({convolve(entry, image, k_colours, 2, ir::InputGradient::none)});
    finish(model, "entry", ir::Position::entry, std::move(entry), 1, options_);

    ir::Graph body;
    const ir::TensorId x = map(body, "x", channels_, side_ + 2);
    body.set_inputs({x});
    body.set_outputs({convolve(body, x, channels_, 1, ir::InputGradient::computed)});
    finish(model, "body", ir::Position::body, std::move(body), options_.body_layers, options_);

    ir::Graph exit;
    const ir::TensorId last = map(exit, "x", channels_, side_ + 2);
    exit.set_inputs({last});
    classify(exit, pool(exit, last));
    finish(model, "exit", ir::Position::exit, std::move(exit), 1, options_);
    return model;
  }

 private:
  static constexpr std::int64_t k_colours = 3, k_window = 3, k_pooled = 2;

  ir::TensorId map(ir::Graph& graph, const std::string& name, std::int64_t channels, std::int64_t side) const {
    return tensor(graph, name,
                  {{"batch", batch()}, {"channels", extent(channels)}, {"y", extent(side)}, {"x", extent(side)}},
                  ir::Role::activation, options_.format);
  }

  // out[b, o, y + 1, x + 1] += in[b, i, stride y + r, stride x + s] w[o, i, r, s], then the rectifier over the inner
  // part.
  ir::TensorId convolve(ir::Graph& graph, ir::TensorId in, std::int64_t inputs, std::int32_t stride,
                        ir::InputGradient gradient) const {
    const auto inner = extent(side_);
    const ir::TensorId w = tensor(
        graph, "conv.weight",
        {{"outputs", extent(channels_)}, {"inputs", extent(inputs)}, {"r", extent(k_window)}, {"s", extent(k_window)}},
        ir::Role::parameter, options_.format);
    const ir::TensorId out = map(graph, "conv.out", channels_, side_ + 2);
    append(graph,
           operation("conv", ir::Kind::contraction,
                     {{"batch", batch()},
                      {"outputs", extent(channels_)},
                      {"y", inner},
                      {"x", inner},
                      {"inputs", extent(inputs)},
                      {"r", extent(k_window)},
                      {"s", extent(k_window)}},
                     2.0),
           {read(in, {at(0), at(4), window(2, stride, 5, 0), window(3, stride, 6, 0)}, gradient),
            read(w, {at(1), at(4), at(5), at(6)}), accumulate(out, {at(0), at(1), shifted(2, 1), shifted(3, 1)})});
    const ir::TensorId y = map(graph, "rectifier.out", channels_, side_ + 2);
    append(graph,
           operation("rectifier", ir::Kind::pointwise,
                     {{"batch", batch()}, {"channels", extent(channels_)}, {"y", inner}, {"x", inner}}, 1.0, 1.0),
           {read(out, {at(0), at(1), shifted(2, 1), shifted(3, 1)}),
            write(y, {at(0), at(1), shifted(2, 1), shifted(3, 1)})},
           {y});
    return y;
  }

  // The derivative finds each window's maximum again by comparing input and output.
  ir::TensorId pool(ir::Graph& graph, ir::TensorId x) const {
    const auto half = extent(side_ / k_pooled);
    const ir::TensorId y = map(graph, "pool.out", channels_, side_ / k_pooled);
    append(graph,
           operation("pool", ir::Kind::reduce,
                     {{"batch", batch()},
                      {"channels", extent(channels_)},
                      {"y", half},
                      {"x", half},
                      {"r", extent(k_pooled)},
                      {"s", extent(k_pooled)}},
                     1.0, 1.0),
           {read(x, {at(0), at(1), window(2, k_pooled, 4, 1), window(3, k_pooled, 5, 1)}),
            accumulate(y, {at(0), at(1), at(2), at(3)}, ir::Monoid::max)},
           {x, y});
    return y;
  }

  void classify(ir::Graph& graph, ir::TensorId x) const {
    const auto half = extent(side_ / k_pooled);
    const ir::TensorId w = tensor(
        graph, "fc.weight", {{"classes", extent(classes_)}, {"channels", extent(channels_)}, {"y", half}, {"x", half}},
        ir::Role::parameter, options_.format);
    const ir::TensorId v =
        tensor(graph, "fc.bias", {{"classes", extent(classes_)}}, ir::Role::parameter, options_.format);
    const ir::TensorId scores = tensor(graph, "scores", {{"batch", batch()}, {"classes", extent(classes_)}},
                                       ir::Role::activation, options_.format);
    append(graph,
           operation("fc", ir::Kind::contraction,
                     {{"batch", batch()},
                      {"classes", extent(classes_)},
                      {"channels", extent(channels_)},
                      {"y", half},
                      {"x", half}},
                     2.0),
           {read(x, {at(0), at(2), at(3), at(4)}), read(w, {at(1), at(2), at(3), at(4)}), bias(v, {at(1)}),
            accumulate(scores, {at(0), at(1)})});
    loss(graph, scores, classes_);
  }

  std::int64_t side_, channels_, classes_;
  SmallModelOptions options_;
};

inline ir::Model convolutional_network(std::int64_t side, std::int64_t channels, std::int64_t classes,
                                       const SmallModelOptions& options = {}) {
  return ConvolutionalNetwork(side, channels, classes, options).build();
}

// A long short-term memory cell, one body layer per time step; h and c pass from step to step, the weights are one set.
//   z[b, g, u] = sum_f x[b, f] W[g, u, f] + sum_w h[b, w] R[g, u, w] + v[g, u], g = input, forget, cell, output
//   c' = sigmoid(z_f) c + sigmoid(z_i) tanh(z_c);  h' = sigmoid(z_o) tanh(c')
// entry: first h and c from a learned start; exit: linear classifier on h, loss.
// Parameters: 2 units + 4 units (features + units + 1) + (units + 1) classes, whatever the number of steps.
class RecurrentNetwork {
 public:
  RecurrentNetwork(std::int64_t features, std::int64_t units, std::int64_t classes, const SmallModelOptions& options)
      : features_(features), units_(units), classes_(classes), options_(options) {}

  ir::Model build() const {
    ir::Model model;
    model.name = "recurrent network";
    ir::Graph entry;
    const ir::TensorId first_h = start(entry, "h");
    entry.set_outputs({first_h, start(entry, "c")});
    finish(model, "entry", ir::Position::entry, std::move(entry), 1, options_);

    ir::Graph body;
    const ir::TensorId h = state(body, "h");
    const ir::TensorId c = state(body, "c");
    body.set_inputs({h, c});
    step(body, h, c);
    finish(model, "body", ir::Position::body, std::move(body), options_.body_layers, options_);

    ir::Graph exit;
    const ir::TensorId last = state(exit, "h");
    exit.set_inputs({last});
    loss(exit, linear(exit, "fc", last, units_, classes_, ir::InputGradient::computed, options_.format), classes_);
    finish(model, "exit", ir::Position::exit, std::move(exit), 1, options_);
    return model;
  }

 private:
  static constexpr std::int64_t k_gates = 4;

  ir::TensorId state(ir::Graph& graph, const std::string& name) const {
    return tensor(graph, name, {{"batch", batch()}, {"units", extent(units_)}}, ir::Role::activation, options_.format);
  }
  ir::TensorId gates(ir::Graph& graph, const std::string& name) const {
    return tensor(graph, name, {{"batch", batch()}, {"gates", extent(k_gates)}, {"units", extent(units_)}},
                  ir::Role::activation, options_.format);
  }

  ir::TensorId start(ir::Graph& graph, const std::string& name) const {
    const ir::TensorId learned =
        tensor(graph, name + ".start", {{"units", extent(units_)}}, ir::Role::parameter, options_.format);
    const ir::TensorId value = state(graph, name);
    append(graph, operation(name + ".copy", ir::Kind::pointwise, {{"batch", batch()}, {"units", extent(units_)}}, 0.0),
           {bias(learned, {at(1)}), write(value, {at(0), at(1)})});
    return value;
  }

  ir::TensorId project(ir::Graph& graph, const std::string& name, ir::TensorId x, std::int64_t inputs,
                       ir::InputGradient gradient) const {
    const ir::TensorId w = tensor(graph, name + ".weight",
                                  {{"gates", extent(k_gates)}, {"units", extent(units_)}, {"inputs", extent(inputs)}},
                                  ir::Role::parameter, options_.format, name);
    const ir::TensorId z = gates(graph, name + ".out");
    append(graph,
           operation(
               name, ir::Kind::contraction,
               {{"batch", batch()}, {"gates", extent(k_gates)}, {"units", extent(units_)}, {"inputs", extent(inputs)}},
               2.0),
           {read(x, {at(0), at(3)}, gradient), read(w, {at(1), at(2), at(3)}), accumulate(z, {at(0), at(1), at(2)})});
    return z;
  }

  void step(ir::Graph& graph, ir::TensorId h, ir::TensorId c) const {
    const ir::TensorId x = tensor(graph, "x", {{"batch", batch()}, {"features", extent(features_)}},
                                  ir::Role::activation, options_.format);
    const ir::TensorId from_x = project(graph, "from_x", x, features_, ir::InputGradient::none);
    const ir::TensorId from_h = project(graph, "from_h", h, units_, ir::InputGradient::computed);
    const ir::TensorId v = tensor(graph, "gate.bias", {{"gates", extent(k_gates)}, {"units", extent(units_)}},
                                  ir::Role::parameter, options_.format, "gate.bias");
    const ir::TensorId z = gates(graph, "gate.sum");
    append(graph,
           operation("gate.sum", ir::Kind::pointwise,
                     {{"batch", batch()}, {"gates", extent(k_gates)}, {"units", extent(units_)}}, 2.0),
           {read(from_x, {at(0), at(1), at(2)}, ir::InputGradient::passed),
            read(from_h, {at(0), at(1), at(2)}, ir::InputGradient::passed), bias(v, {at(1), at(2)}),
            write(z, {at(0), at(1), at(2)})});
    const ir::TensorId next_c = state(graph, "next_c");
    const ir::TensorId next_h = state(graph, "next_h");
    append(graph, operation("cell", ir::Kind::pointwise, {{"batch", batch()}, {"units", extent(units_)}}, 20.0, 40.0),
           {read(z, {at(0), fixed(0), at(1)}), read(z, {at(0), fixed(1), at(1)}), read(z, {at(0), fixed(2), at(1)}),
            read(z, {at(0), fixed(3), at(1)}), read(c, {at(0), at(1)}), write(next_c, {at(0), at(1)}),
            write(next_h, {at(0), at(1)})},
           {z, c, next_c});
    graph.set_outputs({next_h, next_c});
  }

  std::int64_t features_, units_, classes_;
  SmallModelOptions options_;
};

inline ir::Model recurrent_network(std::int64_t features, std::int64_t units, std::int64_t classes,
                                   const SmallModelOptions& options = {}) {
  return RecurrentNetwork(features, units, classes, options).build();
}

}  // namespace small_models

using small_models::convolutional_network;
using small_models::multilayer_perceptron;
using small_models::recurrent_network;

}  // namespace cairn::testing
