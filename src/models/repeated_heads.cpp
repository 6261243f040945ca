// Per element of a key or value head, g query heads to it:
//
//   forward    reads 1, writes g
//   backward   reads g, writes 1: the sum over the copies
#include "layer.h"

namespace cairn::models {

ir::TensorId append_repeated_heads(Layer& layer, const std::string& name, ir::TensorId x) {
  const Axes& a = layer.axis;
  const ir::TensorId out = layer.activation(name + ".out", {a.batch, a.sequence, a.kv_heads, a.group, a.head_dim});
  const auto [b, s, n, g, d] = axes<5>();
  Op repeat(layer, name, ir::Kind::pointwise, {a.batch, a.sequence, a.kv_heads, a.group, a.head_dim});
  repeat.read(x, {b, s, n, At::fixed(0), d}).write(out, {b, s, n, g, d}).flops(0, 1);
  if (!layer.options.kernels.fused_pointwise()) repeat.variant(k_eager_pointwise);
  repeat.add();
  return out;
}

}  // namespace cairn::models
