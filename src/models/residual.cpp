// What a sub-layer made joins the residual stream: x' = x + dropout(y + bias).
#include "activation_work.h"
#include "layer.h"

namespace cairn::models {
namespace {

// Per element: dropout 2 (mask, rescale), addition 1; backward of dropout 2.
constexpr double k_add = 1, k_dropout = 2;

ir::TensorId mask_like_stream(Layer& layer, const std::string& name) {
  const Axes& a = layer.axis;
  return layer.tensor(name + ".mask", {a.batch, a.sequence, a.hidden}, ir::Role::activation, numerics::Format::mask);
}

}  // namespace

ir::TensorId append_dropout(Layer& layer, const std::string& name, ir::TensorId x) {
  const Axes& a = layer.axis;
  const ir::TensorId out = layer.stream(name + ".out");
  const ir::TensorId mask = mask_like_stream(layer, name);
  const auto [b, s, h] = axes<3>();
  Op op(layer, name, ir::Kind::pointwise, {a.batch, a.sequence, a.hidden});
  op.read(x, {b, s, h}).write(out, {b, s, h}).write(mask, {b, s, h}).keep({mask}).flops(k_dropout, k_dropout);
  if (!layer.options.kernels.compiled) op.variant(k_eager_dropout);
  op.add();
  return out;
}

ir::TensorId append_residual(Layer& layer, const char* place, ir::TensorId x, ir::TensorId y, ir::TensorId bias) {
  const std::string name = std::string("residual") + place;
  const Axes& a = layer.axis;
  const bool drops = layer.config.dropout > 0.0;
  const bool fused = layer.options.kernels.fused_pointwise();
  if (drops && !fused) y = append_dropout(layer, std::string("dropout") + place, y);

  const ir::TensorId out = layer.stream(name + ".out");
  const auto [b, s, h] = axes<3>();
  Op op(layer, name, ir::Kind::pointwise, {a.batch, a.sequence, a.hidden});
  if (drops && fused) {
    const ir::TensorId mask = mask_like_stream(layer, name);
    op.read(y, {b, s, h}).bias(bias, {h}).pass(x, {b, s, h}).write(out, {b, s, h}).write(mask, {b, s, h}).keep({mask});
    op.flops((bias == ir::k_no_tensor ? 0.0 : k_bias) + k_dropout + k_add, k_dropout);
  } else {
    op.pass(y, {b, s, h}).bias(bias, {h}).pass(x, {b, s, h}).write(out, {b, s, h});
    op.flops((bias == ir::k_no_tensor ? 0.0 : k_bias) + k_add, 0);
  }
  op.variant(drops && fused ? "dropout_residual" : "residual");
  op.add();
  return out;
}

}  // namespace cairn::models
