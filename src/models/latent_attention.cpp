// Latent attention: queries, and keys and values, come from narrow projections of the residual stream.
//   c_q = norm(W_qa y); q = W_qb c_q                       q: nope + rope per head
//   [c, r] = W_kva y;   [k_nope, v] = W_kvb norm(c)        r: the rotated part of the key, one for all heads
//   k = [k_nope, rotate(r)]; context = attention(rotate(q), k, v)
// Source: DeepSeek-V2, arXiv 2405.04434, section 2.1.
#include <algorithm>

#include "layer.h"

namespace cairn::models {
namespace {

using loopnest::Extent;

class LatentAttention {
 public:
  explicit LatentAttention(Layer& layer)
      : layer_(layer),
        latent_(*layer.config.mla),
        a_(layer.axis),
        q_lora_{"q_lora", Extent::of(latent_.q_lora)},
        kv_lora_{"kv_lora", Extent::of(latent_.kv_lora)},
        kv_down_{"kv_lora", Extent::of(latent_.kv_lora + latent_.rope_dim)},
        rope_{"rope", Extent::of(latent_.rope_dim)},
        qk_{"qk", Extent::of(latent_.nope_dim + latent_.rope_dim)},
        kv_{"kv", Extent::of(latent_.nope_dim + latent_.v_dim)},
        value_{"head_dim", Extent::of(latent_.v_dim)} {
    require_one_kernel(layer, "latent attention");
  }

  ir::TensorId append(ir::TensorId y) {
    query_ = rotate(append_query(y));
    append_keys_and_values(y);
    return append_attention();
  }

 private:
  ir::TensorId append_query(ir::TensorId y) {
    if (latent_.q_lora == 0) return up("q", y, a_.hidden, qk_);
    return up("q_b", norm("q_a_norm", down("q_a", y, q_lora_), q_lora_), q_lora_, qk_);
  }

  ir::TensorId down(const std::string& name, ir::TensorId y, const Axis& width) {
    const ir::TensorId weight = layer_.parameter(name + ".weight", {width, a_.hidden});
    const ir::TensorId out = layer_.activation(name + ".out", {a_.batch, a_.sequence, width});
    const auto [b, s, l, h] = axes<4>();
    Op(layer_, name, ir::Kind::contraction, {a_.batch, a_.sequence, width, a_.hidden})
        .read(y, {b, s, h})
        .read(weight, {l, h})
        .sum(out, {b, s, l})
        .flops(k_multiply_add, 0)
        .add();
    return out;
  }

  ir::TensorId up(const std::string& name, ir::TensorId x, const Axis& from, const Axis& width) {
    const ir::TensorId weight = layer_.parameter(name + ".weight", {a_.kv_heads, width, from});
    const ir::TensorId out = layer_.activation(name + ".out", {a_.batch, a_.sequence, a_.kv_heads, width});
    const auto [b, s, n, d, l] = axes<5>();
    Op(layer_, name, ir::Kind::contraction, {a_.batch, a_.sequence, a_.kv_heads, width, from})
        .read(x, {b, s, l})
        .read(weight, {n, d, l})
        .sum(out, {b, s, n, d})
        .flops(k_multiply_add, 0)
        .add();
    return out;
  }

  // Of the first `width` entries of each row.
  ir::TensorId norm(const std::string& name, ir::TensorId x, const Axis& width) {
    const ir::TensorId gain = layer_.parameter(name + ".gain", {width});
    const ir::TensorId out = layer_.activation(name + ".out", {a_.batch, a_.sequence, width});
    const ir::TensorId scale = layer_.statistic(name + ".scale", {a_.batch, a_.sequence});
    const auto [b, s, l] = axes<3>();
    Op(layer_, name, ir::Kind::reduce, {a_.batch, a_.sequence, width})
        .read(x, {b, s, l})
        .read(gain, {l})
        .write(out, {b, s, l})
        .write(scale, {b, s})
        .keep({x, gain, scale})
        .variant(norm_kernel(layer_, false))
        .joint_gradients(layer_.options.kernels.one_pass_norm)
        .flops(k_rmsnorm_forward, k_rmsnorm_backward)
        .add();
    return out;
  }

  ir::TensorId rotate(ir::TensorId query) {
    const ir::TensorId out = layer_.in_place("q_rope.out", query);
    const auto [b, s, n, r] = axes<4>();
    Op(layer_, "q_rope", ir::Kind::pointwise, {a_.batch, a_.sequence, a_.kv_heads, rope_})
        .read(query, {b, s, n, r})
        .write(out, {b, s, n, r})
        .flops(k_rotation, k_rotation)
        .add();
    return out;
  }

  // One kernel rotates the common part, joins it to every head's key and takes keys and values apart.
  void append_keys_and_values(ir::TensorId y) {
    const ir::TensorId compressed = down("kv_a", y, kv_down_);
    const ir::TensorId joined = up("kv_b", norm("kv_a_norm", compressed, kv_lora_), kv_lora_, kv_);
    key_ = layer_.activation("key", {a_.batch, a_.sequence, a_.kv_heads, qk_});
    value_tensor_ = layer_.activation("value", {a_.batch, a_.sequence, a_.kv_heads, value_});
    const auto [b, s, n, w, r, d, v] = axes<7>();
    Op(layer_, "kv_rope", ir::Kind::pointwise, {a_.batch, a_.sequence, a_.kv_heads, kv_, rope_, qk_, value_})
        .read(joined, {b, s, n, w})
        .read(compressed, {b, s, r})
        .write(key_, {b, s, n, d})
        .write(value_tensor_, {b, s, n, v})
        .add();
  }

  // Scores are sums over the width of queries and keys, contexts have the width of values. The common dimension is the
  // narrower of the two; the work of the wider is in the FLOPs per point.
  ir::TensorId append_attention() {
    const auto qk = static_cast<double>(latent_.nope_dim + latent_.rope_dim);
    const auto v = static_cast<double>(latent_.v_dim);
    const double narrow = std::min(qk, v);
    const Axis head{"head_dim", Extent::of(static_cast<std::int64_t>(narrow))};
    const ir::TensorId context = layer_.activation("context", {a_.batch, a_.sequence, a_.kv_heads, a_.group, value_});
    const ir::TensorId logsumexp = layer_.statistic("logsumexp", {a_.batch, a_.kv_heads, a_.group, a_.query});
    const auto [b, n, g, q, k, d] = axes<6>();
    // Forward q k, p v; backward the scores again, dp, dv, dq, dk: three products of the first width and two of the
    // second.
    const double forward = k_flash_forward / 2 * (qk + v) / narrow;
    const double backward = k_flash_backward / 5 * (3 * qk + 2 * v) / narrow;
    Op(layer_, "attention", ir::Kind::contraction, {a_.batch, a_.kv_heads, a_.group, a_.query, a_.key, head})
        .read(query_, {b, q, n, d})
        .read(key_, {b, k, n, d})
        .read(value_tensor_, {b, k, n, d})
        .merge(context, {b, q, n, g, d}, ir::Monoid::softmax_merge)
        .merge(logsumexp, {b, n, g, q}, ir::Monoid::softmax_merge)
        .keep({query_, key_, value_tensor_, context, logsumexp})
        .attend(q, k, layer_.config.causal, std::nullopt, true)
        .variant(variant(layer_.options.kernels.attention))
        .region(k_attention_region)
        .flops(forward, backward)
        .add();
    return context;
  }

  Layer& layer_;
  const LatentConfig& latent_;
  const Axes& a_;
  Axis q_lora_, kv_lora_, kv_down_, rope_, qk_, kv_, value_;
  ir::TensorId query_ = ir::k_no_tensor;
  ir::TensorId key_ = ir::k_no_tensor;
  ir::TensorId value_tensor_ = ir::k_no_tensor;
};

}  // namespace

ir::TensorId append_latent_attention(Layer& layer, ir::TensorId y) { return LatentAttention(layer).append(y); }

}  // namespace cairn::models
