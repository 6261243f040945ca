// Layer normalisation y = gain (x - mean) / deviation + shift, RMS normalisation y = gain x / rms; rows are tokens.
#include "layer.h"

namespace cairn::models {
namespace {

// Per element. Fused layernorm: sum 1, square and add 2, centre 1, divide 1, gain 1, shift 1; backward: centre and
// divide 2, gain 1, two row sums 3, combine 4.
constexpr double k_layernorm_forward = 7, k_layernorm_backward = 10;

ir::TensorId append_fused(Layer& layer, const std::string& name, ir::TensorId x, bool centred) {
  const Axes& a = layer.axis;
  const ir::TensorId gain = layer.parameter(name + ".gain", {a.hidden});
  const ir::TensorId shift = centred ? layer.parameter(name + ".shift", {a.hidden}) : ir::k_no_tensor;
  const ir::TensorId y = layer.stream(name + ".out");
  const ir::TensorId mean = centred ? layer.statistic(name + ".mean", {a.batch, a.sequence}) : ir::k_no_tensor;
  const ir::TensorId scale = layer.statistic(name + ".scale", {a.batch, a.sequence});

  const auto [b, s, h] = axes<3>();
  Op op(layer, name, ir::Kind::reduce, {a.batch, a.sequence, a.hidden});
  op.read(x, {b, s, h}).read(gain, {h});
  if (centred) op.read(shift, {h});
  op.write(y, {b, s, h});
  if (centred) op.write(mean, {b, s});
  op.write(scale, {b, s}).keep({x, gain, mean, scale});
  op.variant(norm_kernel(layer, centred)).joint_gradients(layer.options.kernels.one_pass_norm);
  if (centred)
    op.flops(k_layernorm_forward, k_layernorm_backward);
  else
    op.flops(k_rmsnorm_forward, k_rmsnorm_backward);
  op.add();
  return y;
}

// One kernel per elementary operation, in fp32 between two casts, as eager implementations do:
//   wide = float(x); [centred = wide - mean(wide);] square; scale = 1 / sqrt(mean(square)); normal = wide scale; cast;
//   gain; [shift]
// What is done once per row (the reciprocal root) rides on the row's reduction. Narrow: the same in the activations'
// format, the quotient widened and narrowed again:
//   square; scale; normal = x scale; wide = float(normal); cast; gain
class UnfusedNorm {
 public:
  UnfusedNorm(Layer& layer, std::string name, bool centred)
      : layer_(layer), name_(std::move(name)), centred_(centred) {}

  ir::TensorId append(ir::TensorId x) {
    const Axes& a = layer_.axis;
    if (layer_.options.kernels.narrow_norm && !centred_) return append_narrow(x);
    const ir::TensorId wide = cast(".wide", x, numerics::Format::fp32);
    const ir::TensorId base = centred_ ? centre(wide) : wide;
    const ir::TensorId square = wide_tensor(".square");
    op(".square").read(base, {0, 1, 2}).write(square, {0, 1, 2}).keep({base}).flops(1, 2).add();
    const ir::TensorId scale = layer_.statistic(name_ + ".scale", {a.batch, a.sequence});
    op(".mean", ir::Kind::reduce).read(square, {0, 1, 2}).sum(scale, {0, 1}).flops(1, 1).add();
    const ir::TensorId normal = wide_tensor(".normal");
    op(".divide")
        .read(base, {0, 1, 2})
        .read(scale, {0, 1})
        .write(normal, {0, 1, 2})
        .keep({base, scale})
        .flops(1, 3)
        .add();
    return affine(cast(".narrow", normal, layer_.options.activation));
  }

 private:
  ir::TensorId append_narrow(ir::TensorId x) {
    const Axes& a = layer_.axis;
    const ir::TensorId square = layer_.stream(name_ + ".square");
    op(".square").read(x, {0, 1, 2}).write(square, {0, 1, 2}).keep({x}).flops(1, 2).add();
    const ir::TensorId scale = layer_.statistic(name_ + ".scale", {a.batch, a.sequence});
    op(".mean", ir::Kind::reduce).read(square, {0, 1, 2}).sum(scale, {0, 1}).flops(1, 1).add();
    const ir::TensorId normal = layer_.stream(name_ + ".normal");
    op(".divide").read(x, {0, 1, 2}).read(scale, {0, 1}).write(normal, {0, 1, 2}).keep({x, scale}).flops(1, 3).add();
    return affine(cast(".narrow", cast(".wide", normal, numerics::Format::fp32), layer_.options.activation));
  }
  Op op(const char* suffix, ir::Kind kind = ir::Kind::pointwise) {
    const Axes& a = layer_.axis;
    Op result(layer_, name_ + suffix, kind, {a.batch, a.sequence, a.hidden});
    result.variant("unfused");
    return result;
  }
  ir::TensorId wide_tensor(const char* suffix) {
    const Axes& a = layer_.axis;
    return layer_.tensor(name_ + suffix, {a.batch, a.sequence, a.hidden}, ir::Role::activation, numerics::Format::fp32);
  }
  ir::TensorId cast(const char* suffix, ir::TensorId x, numerics::Format format) {
    const Axes& a = layer_.axis;
    const ir::TensorId y = layer_.tensor(name_ + suffix, {a.batch, a.sequence, a.hidden}, ir::Role::activation, format);
    op(suffix).read(x, {0, 1, 2}).write(y, {0, 1, 2}).variant(k_eager_cast).add();
    return y;
  }
  ir::TensorId centre(ir::TensorId wide) {
    const Axes& a = layer_.axis;
    const ir::TensorId mean = layer_.statistic(name_ + ".shift_by", {a.batch, a.sequence});
    op(".sum", ir::Kind::reduce).read(wide, {0, 1, 2}).sum(mean, {0, 1}).flops(1, 1).add();
    const ir::TensorId centred = wide_tensor(".centred");
    op(".centre").pass(wide, {0, 1, 2}).read(mean, {0, 1}).write(centred, {0, 1, 2}).flops(1, 1).add();
    return centred;
  }
  ir::TensorId affine(ir::TensorId normal) {
    const ir::TensorId gain = layer_.parameter(name_ + ".gain", {layer_.axis.hidden});
    const ir::TensorId scaled = layer_.stream(name_ + (centred_ ? ".scaled" : ".out"));
    op(".gain").read(normal, {0, 1, 2}).read(gain, {2}).write(scaled, {0, 1, 2}).keep({normal, gain}).flops(1, 1).add();
    if (!centred_) return scaled;
    const ir::TensorId shift = layer_.parameter(name_ + ".shift", {layer_.axis.hidden});
    const ir::TensorId out = layer_.stream(name_ + ".out");
    op(".shift").pass(scaled, {0, 1, 2}).bias(shift, {2}).write(out, {0, 1, 2}).flops(1, 0).add();
    return out;
  }

  Layer& layer_;
  std::string name_;
  bool centred_;
};

}  // namespace

namespace {

// float(x), which nothing keeps: the derivative makes it again.
ir::TensorId append_widening(Layer& layer, const std::string& name, ir::TensorId x) {
  const Axes& a = layer.axis;
  const ir::TensorId wide =
      layer.tensor(name + ".wide", {a.batch, a.sequence, a.hidden}, ir::Role::activation, numerics::Format::fp32);
  const auto [b, s, h] = axes<3>();
  Op(layer, name + ".widen", ir::Kind::pointwise, {a.batch, a.sequence, a.hidden})
      .read(x, {b, s, h})
      .write(wide, {b, s, h})
      .variant(k_eager_cast)
      .reruns()
      .add();
  return wide;
}

}  // namespace

ir::TensorId append_norm(Layer& layer, const char* name, ir::TensorId x) {
  const bool centred = layer.config.norm == Norm::layernorm;
  if (layer.options.kernels.widens_norm()) x = append_widening(layer, name, x);
  if (layer.options.kernels.fused_norm()) return append_fused(layer, name, x, centred);
  return UnfusedNorm(layer, name, centred).append(x);
}

}  // namespace cairn::models
