// The MLP: W_fc2 activation(W_fc1 y), or W_fc2 (activation(W_gate y) * W_up y) with both input projections in one
// product.
#include "layer.h"

namespace cairn::models {
namespace {

// Elementary operations per element, forward and backward.
struct Work {
  double forward = 0;
  double backward = 0;
};

Work work_of(Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return {9, 17};  // tanh form: inner polynomial 5, tanh 1, outer 3; derivative 16, product 1
    case Activation::silu:
      return {4, 8};  // sigmoid 3, product 1; sigmoid 3, derivative 4, product 1
    case Activation::relu:
      return {1, 1};
    case Activation::squared_relu:
      return {2, 3};
  }
  return {};
}

// Extra work of the factor beside a gated activation: one product; two products and the activation once more backward.
constexpr double k_bias = 1, k_gate_forward = 1;

const char* name_of(Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return "gelu";
    case Activation::silu:
      return "silu";
    case Activation::relu:
      return "relu";
    case Activation::squared_relu:
      return "squared_relu";
  }
  return "";
}

class Mlp {
 public:
  explicit Mlp(Layer& layer)
      : layer_(layer),
        a_(layer.axis),
        fused_(layer.options.kernels.fused_pointwise()),
        kind_(layer.config.activation_function()) {}

  Biased append(ir::TensorId y) {
    const ir::TensorId wide = layer_.config.gated_mlp ? append_gated(y) : append_plain(y);
    return append_second(wide);
  }

 private:
  ir::TensorId append_plain(ir::TensorId y) {
    const ir::TensorId weight = layer_.parameter("fc1.weight", {a_.ffn, a_.hidden});
    const ir::TensorId bias = layer_.config.has_mlp_bias() ? layer_.parameter("fc1.bias", {a_.ffn}) : ir::k_no_tensor;
    const ir::TensorId inner = layer_.activation("fc1.out", {a_.batch, a_.sequence, a_.ffn});
    const auto [b, s, f, h] = axes<4>();
    Op(layer_, "fc1", ir::Kind::contraction, {a_.batch, a_.sequence, a_.ffn, a_.hidden})
        .read(y, {b, s, h})
        .read(weight, {f, h})
        .bias(fused_ ? ir::k_no_tensor : bias, {f})
        .sum(inner, {b, s, f})
        .flops(k_multiply_add, 0)
        .add();

    const ir::TensorId later = fused_ ? bias : ir::k_no_tensor;
    const ir::TensorId out = layer_.activation("activation.out", {a_.batch, a_.sequence, a_.ffn});
    const Work work = work_of(kind_);
    const double add = later == ir::k_no_tensor ? 0.0 : k_bias;
    Op op = over_ffn("activation");
    op.read(inner, {b, s, f}).bias(later, {f}).write(out, {b, s, f}).flops(work.forward + add, work.backward + add);
    // The sign of a rectifier's output tells where its derivative vanishes; the others need their input again.
    if (kind_ == Activation::relu)
      op.keep({out});
    else
      op.keep({inner, later});
    op.add();
    return out;
  }

  ir::TensorId append_gated(ir::TensorId y) {
    const ir::TensorId weight = layer_.parameter("fc1.weight", {a_.gate, a_.ffn, a_.hidden});
    const ir::TensorId bias =
        layer_.config.has_mlp_bias() ? layer_.parameter("fc1.bias", {a_.gate, a_.ffn}) : ir::k_no_tensor;
    const ir::TensorId inner = layer_.activation("fc1.out", {a_.batch, a_.sequence, a_.gate, a_.ffn});
    const auto [b, s, e, f, h] = axes<5>();
    Op(layer_, "fc1", ir::Kind::contraction, {a_.batch, a_.sequence, a_.gate, a_.ffn, a_.hidden})
        .read(y, {b, s, h})
        .read(weight, {e, f, h})
        .bias(bias, {e, f})
        .sum(inner, {b, s, e, f})
        .flops(k_multiply_add, 0)
        .add();
    return fused_ ? gate_fused(inner) : gate_eager(inner);
  }

  ir::TensorId gate_fused(ir::TensorId inner) {
    const ir::TensorId out = layer_.activation("activation.out", {a_.batch, a_.sequence, a_.ffn});
    const Work work = work_of(kind_);
    const auto [b, s, f] = axes<3>();
    over_ffn("activation")
        .read(inner, {b, s, At::fixed(0), f})
        .read(inner, {b, s, At::fixed(1), f})
        .write(out, {b, s, f})
        .keep({inner})
        .flops(work.forward + k_gate_forward, work.backward + k_gate_forward + 2)
        .add();
    return out;
  }

  // Activation and product apart: the activation's result is kept too.
  ir::TensorId gate_eager(ir::TensorId inner) {
    const ir::TensorId gate = layer_.activation("activation.out", {a_.batch, a_.sequence, a_.ffn});
    const ir::TensorId out = layer_.activation("product.out", {a_.batch, a_.sequence, a_.ffn});
    const Work work = work_of(kind_);
    const auto [b, s, f] = axes<3>();
    over_ffn("activation")
        .read(inner, {b, s, At::fixed(0), f})
        .write(gate, {b, s, f})
        .keep({inner})
        .flops(work.forward, work.backward)
        .add();
    over_ffn("product")
        .read(gate, {b, s, f})
        .read(inner, {b, s, At::fixed(1), f})
        .write(out, {b, s, f})
        .keep({gate, inner})
        .flops(1, 2)
        .add();
    return out;
  }

  Biased append_second(ir::TensorId wide) {
    const ir::TensorId weight = layer_.parameter("fc2.weight", {a_.hidden, a_.ffn});
    const ir::TensorId bias =
        layer_.config.has_mlp_bias() ? layer_.parameter("fc2.bias", {a_.hidden}) : ir::k_no_tensor;
    const ir::TensorId out = layer_.stream("fc2.out");
    const auto [b, s, h, f] = axes<4>();
    Op(layer_, "fc2", ir::Kind::contraction, {a_.batch, a_.sequence, a_.hidden, a_.ffn})
        .read(wide, {b, s, f})
        .read(weight, {h, f})
        .bias(fused_ ? ir::k_no_tensor : bias, {h})
        .sum(out, {b, s, h})
        .flops(k_multiply_add, 0)
        .add();
    return {.value = out, .bias = fused_ ? bias : ir::k_no_tensor};
  }

  Op over_ffn(const char* name) {
    Op op(layer_, name, ir::Kind::pointwise, {a_.batch, a_.sequence, a_.ffn});
    op.variant(name_of(kind_));
    return op;
  }

  Layer& layer_;
  const Axes& a_;
  bool fused_;
  Activation kind_;
};

}  // namespace

Biased append_mlp(Layer& layer, ir::TensorId y) { return Mlp(layer).append(y); }

}  // namespace cairn::models
