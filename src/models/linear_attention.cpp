// Linear attention in chunks of C tokens: a head's context is its queries times a running state of size head_dim x
// head_dim, plus, inside the chunk, unnormalised causal attention.
//   update_c = K_c^T V_c;   state_c = decay state_(c-1) + update_(c-1)
//   context_c = Q_c state_c + mask(Q_c K_c^T) V_c
// FLOPs per token and head: 4 head_dim^2 + 4 C head_dim, whatever the sequence length.
// Source: Yang et al. 2024, arXiv 2312.06635, section 4; chunk 64 as in its released kernels.
#include "layer.h"

namespace cairn::models {
namespace {

using loopnest::Extent;
using loopnest::Symbol;

constexpr std::int64_t k_chunk = 64;
// Per element of the state: product with the decay and a sum, forward and backward.
constexpr double k_scan = 2;

class LinearAttention {
 public:
  explicit LinearAttention(Layer& layer) : layer_(layer), a_(layer.axis) {}

  ir::TensorId append(ir::TensorId y) {
    project(y);
    const ir::TensorId from_state = contract_state(scan(update()));
    const ir::TensorId inside = contract_scores(scores());
    return join(from_state, inside);
  }

 private:
  static constexpr Axis k_chunks{"chunk", {.factor = 1, .symbol = Symbol::sequence, .divisor = k_chunk}};
  static constexpr Axis k_inside{"position", {.constant = k_chunk}};
  static constexpr Axis k_keys{"key_position", {.constant = k_chunk}};
  // The second index of a state.
  Axis value() const { return {"value_dim", a_.head_dim.extent}; }

  void project(ir::TensorId y) {
    const ir::TensorId weight = layer_.parameter("qkv.weight", {a_.kv_heads, a_.qkv, a_.head_dim, a_.hidden});
    qkv_ = layer_.activation("qkv.out", {a_.batch, a_.sequence, a_.kv_heads, a_.qkv, a_.head_dim});
    const auto [b, s, n, o, d, h] = axes<6>();
    Op(layer_, "qkv", ir::Kind::contraction, {a_.batch, a_.sequence, a_.kv_heads, a_.qkv, a_.head_dim, a_.hidden})
        .read(y, {b, s, h})
        .read(weight, {n, o, d, h})
        .sum(qkv_, {b, s, n, o, d})
        .flops(k_multiply_add, 0)
        .add();
  }

  At key_slot() const { return At::fixed(layer_.config.group()); }
  At value_slot() const { return At::fixed(layer_.config.group() + 1); }
  static At token(int chunk, int inside) { return At::in_blocks(chunk, k_chunk, inside); }

  ir::TensorId state(const char* name) {
    return layer_.activation(name, {a_.batch, a_.kv_heads, k_chunks, a_.head_dim, value()});
  }

  ir::TensorId update() {
    const ir::TensorId out = state("linear.update.out");
    const auto [b, n, c, d, e, t] = axes<6>();
    Op(layer_, "linear.update", ir::Kind::contraction,
       {a_.batch, a_.kv_heads, k_chunks, a_.head_dim, value(), k_inside})
        .read(qkv_, {b, token(c, t), n, key_slot(), d})
        .read(qkv_, {b, token(c, t), n, value_slot(), e})
        .sum(out, {b, n, c, d, e})
        .region(k_attention_region)
        .flops(k_multiply_add, 0)
        .add();
    return out;
  }

  ir::TensorId scan(ir::TensorId update) {
    const ir::TensorId out = state("linear.state");
    const auto [b, n, c, d, e] = axes<5>();
    Op(layer_, "linear.scan", ir::Kind::scan, {a_.batch, a_.kv_heads, k_chunks, a_.head_dim, value()})
        .read(update, {b, n, c, d, e})
        .write(out, {b, n, c, d, e})
        .region(k_attention_region)
        .flops(k_scan, k_scan)
        .add();
    return out;
  }

  ir::TensorId context(const char* name) {
    return layer_.activation(name, {a_.batch, a_.sequence, a_.kv_heads, a_.group, a_.head_dim});
  }

  ir::TensorId contract_state(ir::TensorId state) {
    const ir::TensorId out = context("linear.from_state");
    const auto [b, n, g, c, t, e, d] = axes<7>();
    Op(layer_, "linear.query", ir::Kind::contraction,
       {a_.batch, a_.kv_heads, a_.group, k_chunks, k_inside, value(), a_.head_dim})
        .read(qkv_, {b, token(c, t), n, g, d})
        .read(state, {b, n, c, d, e})
        .sum(out, {b, token(c, t), n, g, e})
        .region(k_attention_region)
        .flops(k_multiply_add, 0)
        .add();
    return out;
  }

  ir::TensorId scores() {
    const ir::TensorId out =
        layer_.activation("linear.scores", {a_.batch, a_.kv_heads, a_.group, k_chunks, k_inside, k_keys});
    const auto [b, n, g, c, t, u, d] = axes<7>();
    Op(layer_, "linear.scores", ir::Kind::contraction,
       {a_.batch, a_.kv_heads, a_.group, k_chunks, k_inside, k_keys, a_.head_dim})
        .read(qkv_, {b, token(c, t), n, g, d})
        .read(qkv_, {b, token(c, u), n, key_slot(), d})
        .sum(out, {b, n, g, c, t, u})
        .region(k_attention_region)
        .flops(k_multiply_add, 0)
        .add();
    return out;
  }

  ir::TensorId contract_scores(ir::TensorId scores) {
    const ir::TensorId out = context("linear.inside");
    const auto [b, n, g, c, t, e, u] = axes<7>();
    Op(layer_, "linear.context", ir::Kind::contraction,
       {a_.batch, a_.kv_heads, a_.group, k_chunks, k_inside, value(), k_keys})
        .read(scores, {b, n, g, c, t, u})
        .read(qkv_, {b, token(c, u), n, value_slot(), e})
        .sum(out, {b, token(c, t), n, g, e})
        .region(k_attention_region)
        .flops(k_multiply_add, 0)
        .add();
    return out;
  }

  ir::TensorId join(ir::TensorId x, ir::TensorId y) {
    const ir::TensorId out = context("context");
    const auto [b, s, n, g, d] = axes<5>();
    Op(layer_, "linear.join", ir::Kind::pointwise, {a_.batch, a_.sequence, a_.kv_heads, a_.group, a_.head_dim})
        .pass(x, {b, s, n, g, d})
        .pass(y, {b, s, n, g, d})
        .write(out, {b, s, n, g, d})
        .region(k_attention_region)
        .flops(1, 0)
        .add();
    return out;
  }

  Layer& layer_;
  const Axes& a_;
  ir::TensorId qkv_ = ir::k_no_tensor;
};

}  // namespace

ir::TensorId append_linear_attention(Layer& layer, ir::TensorId y) { return LinearAttention(layer).append(y); }

}  // namespace cairn::models
