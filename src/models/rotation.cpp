// Rotary position encoding of (batch, sequence, kv_heads, heads, head_dim), in place, and the copies that some programs
// make before it.
#include "layer.h"

namespace cairn::models {
namespace {

// Query, key and value of a head; the copy has key and value alone.
constexpr std::int64_t k_first_of_key_value = 1;
constexpr Axis k_key_and_value{.name = "key_value", .extent = {.constant = 2}};

Op over_rotated(Layer& layer, const std::string& name, const Axis& heads) {
  const Axes& a = layer.axis;
  const Axis rotated{a.head_dim.name, loopnest::Extent::of(layer.config.rotated_size())};
  return Op(layer, name, ir::Kind::pointwise, {a.batch, a.sequence, a.kv_heads, heads, rotated});
}

Indices each_element() {
  static const auto k_each = {At(0), At(1), At(2), At(3), At(4)};
  return k_each;
}

ir::TensorId append_fused_rotation(Layer& layer, const std::string& name, ir::TensorId x, const Axis& heads,
                                   const char* kernel) {
  const ir::TensorId out = layer.in_place(name + ".out", x);
  over_rotated(layer, name, heads)
      .read(x, each_element())
      .write(out, each_element())
      .variant(kernel)
      .flops(k_rotation, k_rotation)
      .add();
  return out;
}

}  // namespace

// Fused: one pass. Eager, x' = x cos + half(x) sin: half copies, two products, a sum; the first product and the sum
// in place.
ir::TensorId append_rotation(Layer& layer, const char* name, ir::TensorId x, const Axis& heads, const char* kernel) {
  const std::string prefix(name);
  if (layer.options.kernels.fused_pointwise()) return append_fused_rotation(layer, prefix, x, heads, kernel);
  const Axes& a = layer.axis;
  const Axis rotated{a.head_dim.name, loopnest::Extent::of(layer.config.rotated_size())};
  const Indices all = each_element();
  const auto temporary = [&](const char* suffix) {
    return layer.activation(prefix + suffix, {a.batch, a.sequence, a.kv_heads, heads, rotated});
  };
  const auto eager = [&](const std::string& full_name) {
    return over_rotated(layer, full_name, heads).variant(k_eager_pointwise);
  };
  const ir::TensorId half = temporary(".half");
  eager(prefix + ".half").read(x, all).write(half, all).add();
  const ir::TensorId sine = temporary(".sine");
  eager(prefix + ".sine").read(half, all).write(sine, all).flops(1, 1).add();
  const ir::TensorId cosine = layer.in_place(prefix + ".cosine", x);
  eager(prefix + ".cosine").read(x, all).write(cosine, all).flops(1, 1).add();
  const ir::TensorId out = layer.in_place(prefix + ".out", cosine);
  eager(prefix + ".add").pass(cosine, all).pass(sine, all).write(out, all).flops(1, 0).add();
  return out;
}

// Backward, gradients of keys and values are copied beside each other, they and the queries' into one tensor, and that
// into the projection's order. The second copy of keys and values only reorders them: its derivative is a view.
RotatedCopies append_rotated_copies(Layer& layer, ir::TensorId qkv) {
  const Axes& a = layer.axis;
  const auto [b, s, n, o, d] = axes<5>();
  const ir::TensorId ordered = layer.activation("qkv.order.out", {a.batch, a.sequence, a.kv_heads, a.qkv, a.head_dim});
  Op(layer, "qkv.order", ir::Kind::pointwise, {a.batch, a.sequence, a.kv_heads, a.qkv, a.head_dim})
      .read(qkv, each_element())
      .write(ordered, each_element())
      .variant(k_eager_pointwise)
      .add();
  const auto key_value = [&](const char* name) {
    return layer.activation(name, {a.batch, a.sequence, a.kv_heads, k_key_and_value, a.head_dim});
  };
  const auto copy = [&](const char* name) {
    Op op(layer, name, ir::Kind::pointwise, {a.batch, a.sequence, a.kv_heads, k_key_and_value, a.head_dim});
    op.variant(k_eager_pointwise);
    return op;
  };
  const ir::TensorId joined = key_value("kv.join.out");
  copy("kv.join").read(ordered, {b, s, n, At(o).plus(k_first_of_key_value), d}).write(joined, each_element()).add();
  const ir::TensorId reordered = key_value("kv.order.out");
  copy("kv.order").pass(joined, each_element()).write(reordered, each_element()).add();
  const ir::TensorId query_first = append_fused_rotation(layer, "q_rope", ordered, a.group, "rotary");
  const ir::TensorId rotated = append_fused_rotation(layer, "k_rope", reordered, k_one_key, "rotary");
  // After what is in place was made, which is as the tensor was then: the queries' own gradient is not copied.
  layer.graph.share_gradient(ordered);
  layer.graph.join_gradient(ordered);
  return {.query_first = query_first, .key_value = rotated};
}

}  // namespace cairn::models
