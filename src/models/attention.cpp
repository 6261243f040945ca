// Causal self-attention with grouped key and value heads. The fused projection's output is indexed
// [batch, sequence, kv_heads, qkv, head_dim]: inside one kv head, `group` queries, then the key, then the value.
//
// A sink z of a head takes part in the softmax and has no value (GPT-OSS; the same as a further key whose value is 0):
//   context' = context exp(l) / (exp(l) + exp(z)) = context sigmoid(l - z),  l = log-sum-exp of the query's scores
// A gate: context' = context sigmoid(W_g y). A cap: score' = cap tanh(score / cap), inside the kernel where scores stay
// on chip, like the softmax.
#include "cairn/core/diagnostics.h"
#include "layer.h"

namespace cairn::models {
namespace {

// Per score: scale 1, mask 1, row maximum 1, subtract 1, exponential 1, row sum 1, divide 1; backward: product with the
// gradient 1, row sum 1, subtract 1, product 1, scale 1.
constexpr double k_softmax_forward = 7, k_softmax_backward = 5;
// Scale and mask apart from softmax.
constexpr double k_scale_mask = 2, k_bare_softmax_forward = 5, k_bare_softmax_backward = 4;
constexpr double k_dropout = 2;
// Divide, tanh, multiply; the derivative 1 - (result / cap)^2 and its product.
constexpr double k_cap_forward = 3, k_cap_backward = 4;
// Per element of the context: a product with the head's share; backward that and the share's own gradient.
constexpr double k_sink_forward = 1, k_sink_backward = 3;
// Sigmoid 3, product 1; sigmoid again, its derivative 2, two products.
constexpr double k_gate_context_forward = 4, k_gate_context_backward = 7;
constexpr const char* k_region = k_attention_region;

}  // namespace

void require_one_kernel(const Layer& layer, const char* what) {
  if (keeps_scores(layer.options.kernels.attention))
    throw core::ConfigurationError("training.kernels.attention", std::string(what) + " runs in one kernel only",
                                   "use flash2, flash3 or cudnn");
}

namespace {

class SelfAttention {
 public:
  SelfAttention(Layer& layer, const AttentionPattern& pattern) : layer_(layer), a_(layer.axis), pattern_(pattern) {}

  ir::TensorId append(ir::TensorId y) {
    if (chunked()) require_one_kernel(layer_, "attention in chunks");
    if (layer_.config.attention_sinks) require_one_kernel(layer_, "attention with sinks");
    if (layer_.options.kernels.separate_qkv) {
      q_ = project(y, "q", a_.group);
      k_ = project(y, "k", k_one_key);
      v_ = project(y, "v", k_one_key);
    } else {
      qkv_ = project(y, "qkv", a_.qkv);
      if (layer_.options.kernels.joins_qkv && !keeps_layout() && !copies()) layer_.graph.join_gradient(qkv_);
    }
    const QkNorm norm = layer_.config.qk_norm;
    if (norm == QkNorm::head || norm == QkNorm::whole) normalise();
    if (copies())
      copy_and_rotate();
    else if (rotates())
      rotate();
    if (norm == QkNorm::unscaled && rotates()) normalise();
    if (layer_.config.nope_scale && pattern_.kind == AttentionKind::nope) scale_queries();
    if (repeats()) {
      k_ = append_repeated_heads(layer_, "k_repeat", k_);
      v_ = append_repeated_heads(layer_, "v_repeat", v_);
    }
    const ir::TensorId context = keeps_scores(layer_.options.kernels.attention) ? append_unfused() : append_flash();
    return layer_.config.attention_gate ? append_gate(context, y) : context;
  }

 private:
  bool chunked() const { return pattern_.kind == AttentionKind::chunked; }
  bool rotates() const {
    return layer_.config.position == PositionEncoding::rope && pattern_.kind != AttentionKind::nope;
  }
  // cuDNN's kernel writes gradients in the layout of what it read: into one tensor where queries, keys and values come
  // straight from the projection and there are as many of each.
  bool keeps_layout() const {
    const bool scales = layer_.config.nope_scale && pattern_.kind == AttentionKind::nope;
    return layer_.options.kernels.attention == AttentionKernel::cudnn && layer_.config.group() == 1 &&
           layer_.config.qk_norm == QkNorm::none && !rotates() && !scales;
  }
  bool copies() const {
    const Kernels& kernels = layer_.options.kernels;
    return kernels.copies_qkv && !kernels.compiled && !kernels.separate_qkv && rotates() &&
           layer_.config.group() == 1 && layer_.config.qk_norm == QkNorm::none;
  }
  bool repeats() const { return layer_.options.kernels.repeats_heads() && layer_.config.group() > 1; }
  std::int64_t key_slot() const { return layer_.config.group(); }
  std::int64_t value_slot() const {
    if (v_ == ir::k_no_tensor) return layer_.config.group() + 1;
    return v_ == k_ ? 1 : 0;
  }
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

  void normalise() {
    q_ = normalise("q_norm", /*is_key=*/false);
    k_ = normalise("k_norm", /*is_key=*/true);
  }

  ir::TensorId normalise(const char* name, bool is_key) {
    const std::string prefix(name);
    const QkNorm norm = layer_.config.qk_norm;
    const Axis heads = is_key ? k_one_key : a_.group;
    const ir::TensorId out =
        layer_.activation(prefix + ".out", {a_.batch, a_.sequence, a_.kv_heads, heads, a_.head_dim});
    const auto [b, s, n, g, d] = axes<5>();
    const bool own = v_ != ir::k_no_tensor;  // the projections made tensors of their own
    const At slot = !own && is_key ? At::fixed(key_slot()) : At(g);
    const ir::TensorId x = !own ? qkv_ : is_key ? k_ : q_;
    Op op(layer_, prefix, ir::Kind::reduce, {a_.batch, a_.sequence, a_.kv_heads, heads, a_.head_dim});
    op.read(x, {b, s, n, slot, d}).write(out, {b, s, n, g, d});
    ir::TensorId gain = ir::k_no_tensor, scale = ir::k_no_tensor;
    if (norm == QkNorm::whole) {
      // The row goes over all heads: where they are split, ranks add up their squares.
      gain = layer_.parameter(prefix + ".gain", {a_.kv_heads, heads, a_.head_dim});
      scale = layer_.statistic(prefix + ".scale", {a_.batch, a_.sequence});
      op.read(gain, {n, g, d}).sum(scale, {b, s});
    } else {
      if (norm == QkNorm::head) {
        gain = layer_.parameter(prefix + ".gain", {a_.head_dim});
        op.read(gain, {d});
      }
      scale = layer_.statistic(prefix + ".scale", {a_.batch, a_.sequence, a_.kv_heads, heads});
      op.write(scale, {b, s, n, g});
    }
    op.keep({x, gain, scale})
        .variant(norm_kernel(layer_, false))
        .joint_gradients(layer_.options.kernels.one_pass_norm)
        .flops(k_rmsnorm_forward, k_rmsnorm_backward)
        .add();
    return out;
  }

  void rotate() {
    if (!apart()) {
      qkv_ = append_rotation(layer_, "rope", qkv_, a_.qk, "rotary_pair");
      return;
    }
    q_ = append_rotation(layer_, "q_rope", q_, a_.group, "rotary");
    k_ = append_rotation(layer_, "k_rope", k_, k_one_key, "rotary");
  }

  void copy_and_rotate() {
    const RotatedCopies copies = append_rotated_copies(layer_, qkv_);
    q_ = copies.query_first;
    k_ = v_ = copies.key_value;
  }

  void scale_queries() {
    ir::TensorId& x = apart() ? q_ : qkv_;
    const ir::TensorId out = layer_.in_place("query_scale.out", x);
    Op(layer_, "query_scale", ir::Kind::pointwise, {a_.batch, a_.sequence, a_.kv_heads, a_.group, a_.head_dim})
        .read(x, all())
        .write(out, all())
        .flops(1, 1)
        .add();
    x = out;
  }

  static Indices all() {
    static const auto k_all = {At(0), At(1), At(2), At(3), At(4)};
    return k_all;
  }

  void read_query(Op& op, int b, At token, int n, int g, int d) { op.read(apart() ? q_ : qkv_, {b, token, n, g, d}); }
  void read_key(Op& op, int b, At token, int n, int g, int d) {
    op.read(apart() ? k_ : qkv_, {b, token, n, repeats() ? At(g) : At::fixed(apart() ? 0 : key_slot()), d});
  }
  void read_value(Op& op, int b, At token, int n, int g, int d) {
    op.read(values(), {b, token, n, repeats() ? At(g) : At::fixed(value_slot()), d});
  }
  ir::TensorId values() const { return v_ == ir::k_no_tensor ? qkv_ : v_; }

  ir::TensorId context_tensor() {
    return layer_.activation("context", {a_.batch, a_.sequence, a_.kv_heads, a_.group, a_.head_dim});
  }

  // One kernel; the scores never reach memory, nor does a mask when it drops (its seed does).
  ir::TensorId append_flash() {
    const ir::TensorId context = context_tensor();
    const ir::TensorId logsumexp = layer_.statistic("logsumexp", {a_.batch, a_.kv_heads, a_.group, a_.query});
    if (chunked())
      attend_in_chunks(context, logsumexp);
    else
      attend(context, logsumexp);
    return layer_.config.attention_sinks ? append_sinks(context, logsumexp) : context;
  }

  void attend(ir::TensorId context, ir::TensorId logsumexp) {
    const auto [b, n, g, q, k, d] = axes<6>();
    Op op(layer_, "attention", ir::Kind::contraction, {a_.batch, a_.kv_heads, a_.group, a_.query, a_.key, a_.head_dim});
    describe_flash(op, q, k, context, logsumexp);
    op.attend(q, k, layer_.config.causal, window(), true).add();
  }

  // Each chunk is a sequence of its own: token = chunk x C + place in it, for queries and keys alike.
  void attend_in_chunks(ir::TensorId context, ir::TensorId logsumexp) {
    const auto length = static_cast<std::int64_t>(pattern_.window);
    const Axis chunks{"chunk", loopnest::Extent::share(loopnest::Symbol::sequence, 1, length)};
    const Axis query{a_.query.name, loopnest::Extent::of(length)}, key{a_.key.name, loopnest::Extent::of(length)};
    const auto [b, n, g, q, k, d, c] = axes<7>();
    Op op(layer_, "attention", ir::Kind::contraction,
          {a_.batch, a_.kv_heads, a_.group, query, key, a_.head_dim, chunks});
    describe_flash(op, At::in_blocks(c, length, q), At::in_blocks(c, length, k), context, logsumexp);
    op.attend(q, k, true, std::nullopt, true).add();
  }

  // `query`, `key`: the tokens of the operator's query and key dimensions.
  void describe_flash(Op& op, At query, At key, ir::TensorId context, ir::TensorId logsumexp) {
    const auto [b, n, g, q, k, d] = axes<6>();
    read_query(op, b, query, n, g, d);
    read_key(op, b, key, n, g, d);
    read_value(op, b, key, n, g, d);
    op.merge(context, {b, query, n, g, d}, ir::Monoid::softmax_merge)
        .merge(logsumexp, {b, n, g, query}, ir::Monoid::softmax_merge);
    if (apart())
      op.keep({q_, k_, v_ == k_ ? ir::k_no_tensor : values(), context, logsumexp});
    else
      op.keep({qkv_, context, logsumexp});
    op.variant(variant(layer_.options.kernels.attention)).region(k_region).flops(k_flash_forward, k_flash_backward);
  }

  Op over_context(const char* name) {
    return Op(layer_, name, ir::Kind::pointwise, {a_.batch, a_.query, a_.kv_heads, a_.group, a_.head_dim});
  }

  ir::TensorId append_sinks(ir::TensorId context, ir::TensorId logsumexp) {
    const ir::TensorId sinks = layer_.parameter("sinks", {a_.kv_heads, a_.group});
    const ir::TensorId out = layer_.activation("sink.out", {a_.batch, a_.sequence, a_.kv_heads, a_.group, a_.head_dim});
    const auto [b, q, n, g, d] = axes<5>();
    over_context("sink")
        .read(context, all())
        .read(logsumexp, {b, n, g, q})
        .read(sinks, {n, g})
        .write(out, all())
        .keep({context, logsumexp, sinks})
        .flops(k_sink_forward, k_sink_backward)
        .add();
    return out;
  }

  ir::TensorId append_gate(ir::TensorId context, ir::TensorId y) {
    const ir::TensorId gate = project(y, "context_gate.proj", a_.group);
    const ir::TensorId out =
        layer_.activation("context_gate.out", {a_.batch, a_.sequence, a_.kv_heads, a_.group, a_.head_dim});
    over_context("context_gate")
        .read(context, all())
        .read(gate, all())
        .write(out, all())
        .keep({context, gate})
        .flops(k_gate_context_forward, k_gate_context_backward)
        .add();
    return out;
  }

  ir::TensorId scores_like(const char* name, numerics::Format format) {
    return layer_.tensor(name, {a_.batch, a_.kv_heads, a_.group, a_.query, a_.key}, ir::Role::activation, format);
  }
  Op over_scores(const char* name, ir::Kind kind) {
    Op op(layer_, name, kind, {a_.batch, a_.kv_heads, a_.group, a_.query, a_.key});
    op.variant(variant(layer_.options.kernels.attention)).region(k_region);
    return op;
  }

  std::optional<std::int64_t> window() const {
    return pattern_.kind == AttentionKind::sliding ? std::optional(pattern_.window) : std::nullopt;
  }

  // Scores in memory. Masked scores are computed and moved like the others, so no operator is guarded.
  ir::TensorId append_unfused() {
    const ir::TensorId scores = layer_.config.score_cap ? cap(append_scores()) : append_scores();
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
    read_key(op, b, k, n, g, d);
    op.sum(scores, {b, n, g, q, k})
        .attend(q, k, layer_.config.causal, window(), false)
        .region(k_region)
        .flops(k_multiply_add, 0)
        .add();
    return scores;
  }

  ir::TensorId cap(ir::TensorId scores) {
    const ir::TensorId capped = scores_like("capped", layer_.options.activation);
    over_scores("cap", ir::Kind::pointwise)
        .read(scores, all())
        .write(capped, all())
        .keep({capped})
        .flops(k_cap_forward, k_cap_backward)
        .add();
    return capped;
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
    over_scores("softmax.widen", ir::Kind::pointwise)
        .read(scores, all())
        .write(widened, all())
        .variant(k_eager_cast)
        .add();
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
        .variant("softmax")
        .flops(k_bare_softmax_forward, k_bare_softmax_backward)
        .add();
    const ir::TensorId probabilities = scores_like("probabilities", layer_.options.activation);
    over_scores("softmax.cast", ir::Kind::pointwise)
        .read(wide, all())
        .write(probabilities, all())
        .variant(k_eager_cast)
        .add();
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
        .variant(k_eager_dropout)
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
    read_value(op, b, k, n, g, d);
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
  if (pattern.kind == AttentionKind::delta) return append_delta_attention(layer, y);
  return SelfAttention(layer, pattern).append(y);
}

Heads heads_of(const Layer& layer, AttentionKind kind) {
  const Axes& a = layer.axis;
  const auto axis = [](const Axis& like, std::int64_t extent) { return Axis{like.name, loopnest::Extent::of(extent)}; };
  if (kind == AttentionKind::mla) return {a.kv_heads, a.group, axis(a.head_dim, layer.config.mla->v_dim)};
  if (kind != AttentionKind::delta) return {a.kv_heads, a.group, a.head_dim};
  const DeltaConfig& delta = *layer.config.delta;
  return {axis(a.kv_heads, delta.key_heads), axis(a.group, delta.group()), axis(a.head_dim, delta.value_dim)};
}

Biased append_projection(Layer& layer, ir::TensorId context, const Heads& heads) {
  const Axes& a = layer.axis;
  const ir::TensorId weight = layer.parameter("proj.weight", {a.hidden, heads.kv_heads, heads.group, heads.head_dim});
  const ir::TensorId bias =
      layer.config.has_projection_bias() ? layer.parameter("proj.bias", {a.hidden}) : ir::k_no_tensor;
  const bool bias_later = layer.options.kernels.fused_pointwise();
  const ir::TensorId out = layer.stream("proj.out");
  const auto [b, s, h, n, g, d] = axes<6>();
  Op(layer, "proj", ir::Kind::contraction, {a.batch, a.sequence, a.hidden, heads.kv_heads, heads.group, heads.head_dim})
      .read(context, {b, s, n, g, d})
      .read(weight, {h, n, g, d})
      .bias(bias_later ? ir::k_no_tensor : bias, {h})
      .sum(out, {b, s, h})
      .flops(k_multiply_add, 0)
      .add();
  return {.value = out, .bias = bias_later ? bias : ir::k_no_tensor};
}

}  // namespace cairn::models
