// Causal self-attention with grouped key and value heads. The fused projection's output is indexed
// [batch, sequence, kv_heads, qkv, head_dim]: inside one kv head, `group` queries, then the key, then the value.
#include "layer.h"

namespace cairn::models {
namespace {

// Per element: two products and a sum, rotation and its inverse alike.
constexpr double k_rotation = 3;
// Per score: scale 1, mask 1, row maximum 1, subtract 1, exponential 1, row sum 1, divide 1; backward: product with the
// gradient 1, row sum 1, subtract 1, product 1, scale 1.
constexpr double k_softmax_forward = 7, k_softmax_backward = 5;
// Scale and mask apart from softmax.
constexpr double k_scale_mask = 2, k_bare_softmax_forward = 5, k_bare_softmax_backward = 4;
constexpr double k_dropout = 2;
constexpr const char* k_region = k_attention_region;
// Stands where queries have `group`; never split.
constexpr Axis k_one_key{.name = "key_head", .extent = {.constant = 1}};

}  // namespace

const char* kernel_name(AttentionKernel kernel) {
  switch (kernel) {
    case AttentionKernel::unfused:
      return "unfused";
    case AttentionKernel::fused_softmax:
      return "fused_softmax";
    case AttentionKernel::flash1:
      return "flash1";
    case AttentionKernel::flash2:
      return "flash2";
    case AttentionKernel::flash3:
      return "flash3";
    case AttentionKernel::cudnn:
      return "cudnn";
  }
  return "";
}

bool keeps_scores(AttentionKernel kernel) {
  return kernel == AttentionKernel::unfused || kernel == AttentionKernel::fused_softmax;
}

namespace {

class SelfAttention {
 public:
  SelfAttention(Layer& layer, const AttentionPattern& pattern) : layer_(layer), a_(layer.axis), pattern_(pattern) {}

  ir::TensorId append(ir::TensorId y) {
    if (layer_.options.kernels.separate_qkv) {
      q_ = project(y, "q", a_.group);
      k_ = project(y, "k", k_one_key);
      v_ = project(y, "v", k_one_key);
    } else {
      qkv_ = project(y, "qkv", a_.qkv);
    }
    if (layer_.config.qk_norm) {
      q_ = normalise("q_norm", /*is_key=*/false);
      k_ = normalise("k_norm", /*is_key=*/true);
    }
    if (layer_.config.position == PositionEncoding::rope) rotate();
    return keeps_scores(layer_.options.kernels.attention) ? append_unfused() : append_flash();
  }

 private:
  std::int64_t key_slot() const { return layer_.config.group(); }
  std::int64_t value_slot() const { return layer_.config.group() + 1; }
  // Queries and keys live in tensors of their own once normalised, in the projection's output before.
  bool apart() const { return q_ != ir::k_no_tensor; }

  // Queries, keys or values by a product of their own, or all of them by one.
  ir::TensorId project(ir::TensorId y, const std::string& name, const Axis& heads) {
    const ir::TensorId weight = layer_.parameter(name + ".weight", {a_.kv_heads, heads, a_.head_dim, a_.hidden});
    const ir::TensorId bias = layer_.config.has_qkv_bias()
                                  ? layer_.parameter(name + ".bias", {a_.kv_heads, heads, a_.head_dim})
                                  : ir::k_no_tensor;
    const ir::TensorId out = layer_.activation(name + ".out", {a_.batch, a_.sequence, a_.kv_heads, heads, a_.head_dim});
    const auto [b, s, n, o, d, h] = axes<6>();
    Op(layer_, name, ir::Kind::contraction, {a_.batch, a_.sequence, a_.kv_heads, heads, a_.head_dim, a_.hidden})
        .read(y, {b, s, h})
        .read(weight, {n, o, d, h})
        .bias(bias, {n, o, d})
        .sum(out, {b, s, n, o, d})
        .flops(k_multiply_add, 0)
        .add();
    return out;
  }

  ir::TensorId normalise(const char* name, bool is_key) {
    const std::string prefix(name);
    const ir::TensorId gain = layer_.parameter(prefix + ".gain", {a_.head_dim});
    const Axis heads = is_key ? k_one_key : a_.group;
    const ir::TensorId out =
        layer_.activation(prefix + ".out", {a_.batch, a_.sequence, a_.kv_heads, heads, a_.head_dim});
    const ir::TensorId scale = layer_.statistic(prefix + ".scale", {a_.batch, a_.sequence, a_.kv_heads, heads});
    const auto [b, s, n, g, d] = axes<5>();
    const bool own = v_ != ir::k_no_tensor;  // the projections made tensors of their own
    const At slot = !own && is_key ? At::fixed(key_slot()) : At(g);
    const ir::TensorId x = !own ? qkv_ : is_key ? k_ : q_;
    Op(layer_, prefix, ir::Kind::reduce, {a_.batch, a_.sequence, a_.kv_heads, heads, a_.head_dim})
        .read(x, {b, s, n, slot, d})
        .read(gain, {d})
        .write(out, {b, s, n, g, d})
        .write(scale, {b, s, n, g})
        .keep({x, gain, scale})
        .variant("fused")
        .flops(k_rmsnorm_forward, k_rmsnorm_backward)
        .add();
    return out;
  }

  void rotate() {
    if (!apart()) {
      qkv_ = rotate_in_place("rope", qkv_, a_.qk);
      return;
    }
    q_ = rotate_in_place("q_rope", q_, a_.group);
    k_ = rotate_in_place("k_rope", k_, k_one_key);
  }

  // Fused: one pass. Eager, x' = x cos + half(x) sin: half copies, two products, a sum; the first product and the sum
  // in place.
  ir::TensorId rotate_in_place(const char* name, ir::TensorId x, const Axis& heads) {
    const std::string prefix(name);
    const auto operation = [&](const std::string& full_name) {
      return Op(layer_, full_name, ir::Kind::pointwise, {a_.batch, a_.sequence, a_.kv_heads, heads, a_.head_dim});
    };
    if (layer_.options.kernels.fused_pointwise()) {
      const ir::TensorId out = layer_.in_place(prefix + ".out", x);
      operation(prefix).read(x, all()).write(out, all()).flops(k_rotation, k_rotation).add();
      return out;
    }
    const auto temporary = [&](const char* suffix) {
      return layer_.activation(prefix + suffix, {a_.batch, a_.sequence, a_.kv_heads, heads, a_.head_dim});
    };
    const ir::TensorId half = temporary(".half");
    operation(prefix + ".half").read(x, all()).write(half, all()).add();
    const ir::TensorId sine = temporary(".sine");
    operation(prefix + ".sine").read(half, all()).write(sine, all()).flops(1, 1).add();
    const ir::TensorId cosine = layer_.in_place(prefix + ".cosine", x);
    operation(prefix + ".cosine").read(x, all()).write(cosine, all()).flops(1, 1).add();
    const ir::TensorId out = layer_.in_place(prefix + ".out", cosine);
    operation(prefix + ".add").pass(cosine, all()).pass(sine, all()).write(out, all()).flops(1, 0).add();
    return out;
  }
  static Indices all() {
    static const auto k_all = {At(0), At(1), At(2), At(3), At(4)};
    return k_all;
  }

  void read_query(Op& op, int b, int token, int n, int g, int d) { op.read(apart() ? q_ : qkv_, {b, token, n, g, d}); }
  void read_key(Op& op, int b, int token, int n, int d) {
    if (apart())
      op.read(k_, {b, token, n, At::fixed(0), d});
    else
      op.read(qkv_, {b, token, n, At::fixed(key_slot()), d});
  }
  void read_value(Op& op, int b, int token, int n, int d) {
    op.read(values(), {b, token, n, At::fixed(v_ == ir::k_no_tensor ? value_slot() : 0), d});
  }
  ir::TensorId values() const { return v_ == ir::k_no_tensor ? qkv_ : v_; }

  ir::TensorId context_tensor() {
    return layer_.activation("context", {a_.batch, a_.sequence, a_.kv_heads, a_.group, a_.head_dim});
  }

  // One kernel; the scores never reach memory, nor does a mask when it drops (its seed does).
  ir::TensorId append_flash() {
    const ir::TensorId context = context_tensor();
    const ir::TensorId logsumexp = layer_.statistic("logsumexp", {a_.batch, a_.kv_heads, a_.group, a_.query});
    const auto [b, n, g, q, k, d] = axes<6>();
    Op op(layer_, "attention", ir::Kind::contraction, {a_.batch, a_.kv_heads, a_.group, a_.query, a_.key, a_.head_dim});
    read_query(op, b, q, n, g, d);
    read_key(op, b, k, n, d);
    read_value(op, b, k, n, d);
    op.merge(context, {b, q, n, g, d}, ir::Monoid::softmax_merge)
        .merge(logsumexp, {b, n, g, q}, ir::Monoid::softmax_merge);
    if (apart())
      op.keep({q_, k_, values(), context, logsumexp});
    else
      op.keep({qkv_, context, logsumexp});
    op.attend(q, k, layer_.config.causal, window(), true)
        .variant(kernel_name(layer_.options.kernels.attention))
        .region(k_region)
        .flops(k_flash_forward, k_flash_backward)
        .add();
    return context;
  }

  ir::TensorId scores_like(const char* name, numerics::Format format) {
    return layer_.tensor(name, {a_.batch, a_.kv_heads, a_.group, a_.query, a_.key}, ir::Role::activation, format);
  }
  Op over_scores(const char* name, ir::Kind kind) {
    Op op(layer_, name, kind, {a_.batch, a_.kv_heads, a_.group, a_.query, a_.key});
    op.variant(kernel_name(layer_.options.kernels.attention)).region(k_region);
    return op;
  }

  std::optional<std::int64_t> window() const {
    return pattern_.kind == AttentionKind::sliding ? std::optional(pattern_.window) : std::nullopt;
  }

  // Scores in memory. Masked scores are computed and moved like the others, so no operator is guarded.
  ir::TensorId append_unfused() {
    const ir::TensorId scores = append_scores();
    ir::TensorId probabilities = layer_.options.kernels.attention == AttentionKernel::unfused
                                     ? append_eager_softmax(scores)
                                     : append_fused_softmax(scores);
    if (layer_.config.probability_dropout() > 0.0) probabilities = append_score_dropout(probabilities);
    return append_transpose(append_context(probabilities));
  }

  ir::TensorId append_scores() {
    const ir::TensorId scores = scores_like("scores", layer_.options.activation);
    const auto [b, n, g, q, k, d] = axes<6>();
    Op op(layer_, "scores", ir::Kind::contraction, {a_.batch, a_.kv_heads, a_.group, a_.query, a_.key, a_.head_dim});
    read_query(op, b, q, n, g, d);
    read_key(op, b, k, n, d);
    op.sum(scores, {b, n, g, q, k})
        .attend(q, k, layer_.config.causal, window(), false)
        .region(k_region)
        .flops(k_multiply_add, 0)
        .add();
    return scores;
  }

  ir::TensorId append_fused_softmax(ir::TensorId scores) {
    const ir::TensorId probabilities = scores_like("probabilities", layer_.options.activation);
    over_scores("softmax", ir::Kind::reduce)
        .read(scores, all())
        .write(probabilities, all())
        .keep({probabilities})
        .flops(k_softmax_forward, k_softmax_backward)
        .add();
    return probabilities;
  }

  // scale, mask, softmax in fp32, cast; the fp32 probabilities are kept for the derivative, the cast ones for the
  // product.
  ir::TensorId append_eager_softmax(ir::TensorId scores) {
    if (layer_.options.kernels.wide_scores) return append_wide_softmax(scores);
    ir::TensorId scaled = scores;
    if (!layer_.options.kernels.scaled_product) {
      scaled = scores_like("scaled", layer_.options.activation);
      over_scores("scale", ir::Kind::pointwise)
          .read(scores, all())
          .write(scaled, all())
          .flops(k_scale_mask / 2, 1)
          .add();
    }
    const ir::TensorId masked = scores_like("masked", layer_.options.activation);
    over_scores("mask", ir::Kind::pointwise).pass(scaled, all()).write(masked, all()).flops(k_scale_mask / 2, 0).add();
    return append_fp32_softmax(masked);
  }

  // Widened, scaled, masked in place, softmax, narrowed, as Megatron-LM (fused_softmax.py, forward_torch_softmax) and
  // Aleph Alpha Scaling (masked_softmax.py) do.
  ir::TensorId append_wide_softmax(ir::TensorId scores) {
    const ir::TensorId widened = scores_like("scores.wide", numerics::Format::fp32);
    over_scores("softmax.widen", ir::Kind::pointwise).read(scores, all()).write(widened, all()).add();
    ir::TensorId scaled = widened;
    if (!layer_.options.kernels.scaled_product) {
      scaled = scores_like("scaled", numerics::Format::fp32);
      over_scores("scale", ir::Kind::pointwise)
          .read(widened, all())
          .write(scaled, all())
          .flops(k_scale_mask / 2, k_scale_mask / 2)
          .add();
    }
    const ir::TensorId masked = layer_.in_place("masked", scaled);
    over_scores("mask", ir::Kind::pointwise)
        .read(scaled, all())
        .write(masked, all())
        .flops(k_scale_mask / 2, k_scale_mask / 2)
        .add();
    return append_fp32_softmax(masked);
  }

  ir::TensorId append_fp32_softmax(ir::TensorId masked) {
    const ir::TensorId wide = scores_like("softmax.wide", numerics::Format::fp32);
    over_scores("softmax", ir::Kind::reduce)
        .read(masked, all())
        .write(wide, all())
        .keep({wide})
        .flops(k_bare_softmax_forward, k_bare_softmax_backward)
        .add();
    const ir::TensorId probabilities = scores_like("probabilities", layer_.options.activation);
    over_scores("softmax.cast", ir::Kind::pointwise).read(wide, all()).write(probabilities, all()).add();
    return probabilities;
  }

  ir::TensorId append_score_dropout(ir::TensorId probabilities) {
    const ir::TensorId dropped = scores_like("dropped", layer_.options.activation);
    const ir::TensorId mask = scores_like("dropout.mask", numerics::Format::mask);
    over_scores("dropout", ir::Kind::pointwise)
        .read(probabilities, all())
        .write(dropped, all())
        .write(mask, all())
        .keep({mask})
        .flops(k_dropout, k_dropout)
        .add();
    return dropped;
  }

  ir::TensorId append_context(ir::TensorId probabilities) {
    const ir::TensorId by_head =
        layer_.activation("context.by_head", {a_.batch, a_.kv_heads, a_.group, a_.query, a_.head_dim});
    const auto [b, n, g, q, d, k] = axes<6>();
    Op op(layer_, "context", ir::Kind::contraction, {a_.batch, a_.kv_heads, a_.group, a_.query, a_.head_dim, a_.key});
    op.read(probabilities, {b, n, g, q, k});
    read_value(op, b, k, n, d);
    op.sum(by_head, {b, n, g, q, d})
        .attend(q, k, layer_.config.causal, window(), false)
        .region(k_region)
        .flops(k_multiply_add, 0)
        .add();
    return by_head;
  }

  // Batched products leave heads outside tokens; the output projection wants tokens outside heads: a copy, which also
  // is what outlives a recomputed region.
  ir::TensorId append_transpose(ir::TensorId by_head) {
    const ir::TensorId context = context_tensor();
    const auto [b, n, g, q, d] = axes<5>();
    Op(layer_, "transpose", ir::Kind::pointwise, {a_.batch, a_.kv_heads, a_.group, a_.query, a_.head_dim})
        .read(by_head, {b, n, g, q, d})
        .write(context, {b, q, n, g, d})
        .add();
    return context;
  }

  Layer& layer_;
  const Axes& a_;
  const AttentionPattern& pattern_;
  ir::TensorId qkv_ = ir::k_no_tensor;
  ir::TensorId q_ = ir::k_no_tensor;
  ir::TensorId k_ = ir::k_no_tensor;
  ir::TensorId v_ = ir::k_no_tensor;
};

}  // namespace

ir::TensorId append_attention(Layer& layer, const AttentionPattern& pattern, ir::TensorId y) {
  if (pattern.kind == AttentionKind::mla) return append_latent_attention(layer, y);
  if (pattern.kind == AttentionKind::linear) return append_linear_attention(layer, y);
  return SelfAttention(layer, pattern).append(y);
}

Biased append_projection(Layer& layer, ir::TensorId context, const Axis& head_dim) {
  const Axes& a = layer.axis;
  const ir::TensorId weight = layer.parameter("proj.weight", {a.hidden, a.kv_heads, a.group, head_dim});
  const ir::TensorId bias =
      layer.config.has_projection_bias() ? layer.parameter("proj.bias", {a.hidden}) : ir::k_no_tensor;
  const bool bias_later = layer.options.kernels.fused_pointwise();
  const ir::TensorId out = layer.stream("proj.out");
  const auto [b, s, h, n, g, d] = axes<6>();
  Op(layer, "proj", ir::Kind::contraction, {a.batch, a.sequence, a.hidden, a.kv_heads, a.group, head_dim})
      .read(context, {b, s, n, g, d})
      .read(weight, {h, n, g, d})
      .bias(bias_later ? ir::k_no_tensor : bias, {h})
      .sum(out, {b, s, h})
      .flops(k_multiply_add, 0)
      .add();
  return {.value = out, .bias = bias_later ? bias : ir::k_no_tensor};
}

}  // namespace cairn::models
