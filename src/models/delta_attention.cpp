// Attention by a gated delta rule (Gated DeltaNet), in chunks of C tokens. Of each key head: `group` value heads.
//   q, k, v = silu(convolution(W y)), z = W_z y;  q, k scaled to length 1;  beta = sigmoid(W_b y)
//   log decay g = -exp(A) softplus(W_a y + t), summed inside each chunk
// A value head's state S [key_dim, value_dim] forgets, and takes in what a key does not recall yet:
//   S' = exp(g) S;  S = S' + beta k^T (v - k S');  context = q S
// Chunk by chunk, with S_c the state before the chunk and D_ij = exp(g_i - g_j) for j <= i:
//   T = (1 + strictly lower(beta D * K K^T))^-1;  W = T (beta exp(g) K);  U = T (beta V)
//   F = U - W S_c;  S_(c+1) = exp(g_C) S_c + K^T F                      the recurrence: one kernel walks the chunks
//   context_c = exp(g) Q S_c + (D * Q K^T) F
// and context = gain rms-normalised(context) silu(z). Factors that scale rows are applied where they are read.
// FLOPs of the products, per token and value head, with what one key head shares out among its group:
//   6 key_dim value_dim + 2 C (key_dim + 2 value_dim) + 4 C key_dim / group
// Every product is a kernel of its own and keeps its operands. Released kernels join the last ones and make W, U and F
// again in the backward pass: they move and keep less.
// Source: Yang et al. 2024, arXiv 2412.06464, section 3 and appendix; chunk 64 and the order of kernels as in
// flash-linear-attention, fla/ops/gated_delta_rule (2025).
#include "layer.h"

namespace cairn::models {
namespace {

using loopnest::Extent;
using loopnest::Symbol;

constexpr std::int64_t k_delta_chunk = 64;
// A multiply-add per tap; of the silu behind it, per element.
constexpr double k_silu_forward = 4, k_silu_backward = 8;
// Per head and token: sigmoid 3, softplus of a sum 4, exponential and product 2; backward: derivatives 6, products 5,
// sums 2.
constexpr double k_gates_forward = 9, k_gates_backward = 13;
// Square and add 2, divide 1; backward: divide 1, row sum 2, combine 3.
constexpr double k_unit_forward = 3, k_unit_backward = 6;
// A substitution's multiply-add; its derivative is two products of triangular matrices of twice the points each.
constexpr double k_solve_forward = 2, k_solve_backward = 8;
// The recurrence: W S and K^T F; backward: gradients of F and S, then those of W and K.
constexpr double k_state_forward = 4, k_state_backward = 8;
// Difference, exponential, product; backward the factor again, two products, a sum.
constexpr double k_decay_forward = 3, k_decay_backward = 5;
// Sum 1, normalisation 4, silu 4, product 1; backward 7, silu's 8, two products 2.
constexpr double k_gated_norm_forward = 10, k_gated_norm_backward = 17;

class DeltaAttention {
 public:
  explicit DeltaAttention(Layer& layer)
      : layer_(layer),
        delta_(*layer.config.delta),
        a_(layer.axis),
        heads_(heads_of(layer, AttentionKind::delta)),
        key_{"key_dim", Extent::of(delta_.key_dim)},
        value_(heads_.head_dim),
        mixed_{"mixed", Extent::of(mixed_width())},
        projected_{"mixed", Extent::of(mixed_width() + delta_.group() * delta_.value_dim)} {}

  ir::TensorId append(ir::TensorId y) {
    projection_ = project("qkvz", y, projected_);
    append_gates(y);
    qkv_ = convolve();
    unit_ = scale_to_unit();
    const ir::TensorId inverse = solve(key_products("delta.keys", key_slot()));
    const ir::TensorId fresh = walk(apply_to_keys(inverse), apply_to_values(inverse));
    const ir::TensorId inside = contract_scores(mask(key_products("delta.scores", query_slot())), fresh);
    return normalise(contract_state(), inside);
  }

 private:
  static constexpr Axis k_chunks{"chunk", {.factor = 1, .symbol = Symbol::sequence, .divisor = k_delta_chunk}};
  static constexpr Axis k_row{"position", {.constant = k_delta_chunk}};
  static constexpr Axis k_column{"key_position", {.constant = k_delta_chunk}};
  static constexpr Axis k_inner{"inner_position", {.constant = k_delta_chunk}};
  static constexpr Axis k_pair{"query_or_key", {.constant = 2}};

  std::int64_t mixed_width() const { return 2 * delta_.key_dim + delta_.group() * delta_.value_dim; }
  static At token(int chunk, int inside) { return At::in_blocks(chunk, k_delta_chunk, inside); }
  static At from(std::int64_t offset, At at) {
    at.constant = offset;
    return at;
  }
  static At query_slot() { return At::fixed(0); }
  static At key_slot() { return At::fixed(1); }
  // Of convolution and projection: queries, keys, the group's values, its gates z.
  At value_index(int group, int element) const {
    return from(2 * delta_.key_dim, At::in_blocks(group, delta_.value_dim, element));
  }
  At output_gate_index(int group, int element) const {
    return from(mixed_width(), At::in_blocks(group, delta_.value_dim, element));
  }

  ir::TensorId by_token(const std::string& name, const Axis& width) {
    return layer_.activation(name, {a_.batch, a_.sequence, heads_.kv_heads, heads_.group, width});
  }
  Op in_region(const char* name, ir::Kind kind, std::initializer_list<Axis> dims) {
    Op op(layer_, name, kind, dims);
    op.region(k_attention_region);
    return op;
  }

  ir::TensorId project(const std::string& name, ir::TensorId y, const Axis& width) {
    const ir::TensorId weight = layer_.parameter(name + ".weight", {heads_.kv_heads, width, a_.hidden});
    const ir::TensorId out = layer_.activation(name + ".out", {a_.batch, a_.sequence, heads_.kv_heads, width});
    const auto [b, s, n, w, h] = axes<5>();
    Op(layer_, name, ir::Kind::contraction, {a_.batch, a_.sequence, heads_.kv_heads, width, a_.hidden})
        .read(y, {b, s, h})
        .read(weight, {n, w, h})
        .sum(out, {b, s, n, w})
        .flops(k_multiply_add, 0)
        .add();
    return out;
  }

  void append_gates(ir::TensorId y) {
    const Axis width{"gates", Extent::of(2 * delta_.group())};
    const ir::TensorId projected = project("delta.gates", y, width);
    const ir::TensorId slope = layer_.parameter("delta.slope", {heads_.kv_heads, heads_.group});
    const ir::TensorId shift = layer_.parameter("delta.shift", {heads_.kv_heads, heads_.group});
    const auto per_head = [&](const char* name) {
      return layer_.statistic(name, {a_.batch, a_.sequence, heads_.kv_heads, heads_.group});
    };
    beta_ = per_head("delta.beta");
    const ir::TensorId log_decay = per_head("delta.log_decay");
    {
      const auto [b, s, n, g] = axes<4>();
      Op(layer_, "delta.open", ir::Kind::pointwise, {a_.batch, a_.sequence, heads_.kv_heads, heads_.group})
          .read(projected, {b, s, n, g})
          .read(projected, {b, s, n, from(delta_.group(), g)})
          .read(slope, {n, g})
          .read(shift, {n, g})
          .write(beta_, {b, s, n, g})
          .write(log_decay, {b, s, n, g})
          .keep({projected, slope, shift})
          .flops(k_gates_forward, k_gates_backward)
          .add();
    }
    decay_ = per_head("delta.decay");
    const auto [b, n, g, c, t] = axes<5>();
    in_region("delta.sum", ir::Kind::scan, {a_.batch, heads_.kv_heads, heads_.group, k_chunks, k_row})
        .read(log_decay, {b, token(c, t), n, g})
        .write(decay_, {b, token(c, t), n, g})
        .flops(1, 1)
        .add();
  }

  // Each channel by itself over the present token and those just before it; none stands before the first.
  ir::TensorId convolve() {
    const Axis taps{"tap", Extent::of(delta_.convolution)};
    const ir::TensorId weight = layer_.parameter("convolution.weight", {heads_.kv_heads, mixed_, taps});
    const ir::TensorId out = layer_.activation("convolution.out", {a_.batch, a_.sequence, heads_.kv_heads, mixed_});
    const auto [b, s, n, w, k] = axes<5>();
    const std::int64_t before = delta_.convolution - 1;
    const auto width = static_cast<double>(delta_.convolution);
    Op(layer_, "convolution", ir::Kind::reduce, {a_.batch, a_.sequence, heads_.kv_heads, mixed_, taps})
        .where(
            {.terms = {{static_cast<loopnest::DimId>(s), 1}, {static_cast<loopnest::DimId>(k), 1}}, .offset = -before})
        .read(projection_, {b, from(-before, At::in_blocks(k, 1, s)), n, w})
        .read(weight, {n, w, k})
        .sum(out, {b, s, n, w})
        .keep({projection_, weight})
        .flops(k_multiply_add + k_silu_forward / width, k_multiply_add + k_silu_backward / width)
        .add();
    return out;
  }

  ir::TensorId scale_to_unit() {
    const ir::TensorId out = layer_.activation("delta.unit", {a_.batch, a_.sequence, heads_.kv_heads, k_pair, key_});
    const ir::TensorId scale = layer_.statistic("delta.length", {a_.batch, a_.sequence, heads_.kv_heads, k_pair});
    const auto [b, s, n, p, d] = axes<5>();
    Op(layer_, "delta.scale", ir::Kind::reduce, {a_.batch, a_.sequence, heads_.kv_heads, k_pair, key_})
        .read(qkv_, {b, s, n, At::in_blocks(p, delta_.key_dim, d)})
        .write(out, {b, s, n, p, d})
        .write(scale, {b, s, n, p})
        .keep({qkv_, scale})
        .flops(k_unit_forward, k_unit_backward)
        .add();
    return out;
  }

  // Queries or keys against the keys of their chunk.
  ir::TensorId key_products(const std::string& name, At slot) {
    const ir::TensorId out = layer_.activation(name + ".out", {a_.batch, heads_.kv_heads, k_chunks, k_row, k_column});
    const auto [b, n, c, t, u, d] = axes<6>();
    in_region(name.c_str(), ir::Kind::contraction, {a_.batch, heads_.kv_heads, k_chunks, k_row, k_column, key_})
        .read(unit_, {b, token(c, t), n, slot, d})
        .read(unit_, {b, token(c, u), n, key_slot(), d})
        .sum(out, {b, n, c, t, u})
        .flops(k_multiply_add, 0)
        .add();
    return out;
  }

  ir::TensorId square(const char* name) {
    return layer_.activation(name, {a_.batch, heads_.kv_heads, heads_.group, k_chunks, k_row, k_column});
  }

  ir::TensorId solve(ir::TensorId products) {
    const ir::TensorId out = square("delta.inverse");
    const auto [b, n, g, c, t, u, w] = axes<7>();
    const auto not_after = [](int later, int earlier) {
      return loopnest::Guard{
          .terms = {{static_cast<loopnest::DimId>(later), 1}, {static_cast<loopnest::DimId>(earlier), -1}},
          .offset = 0};
    };
    in_region("delta.solve", ir::Kind::reduce,
              {a_.batch, heads_.kv_heads, heads_.group, k_chunks, k_row, k_column, k_inner})
        .where(not_after(t, w))
        .where(not_after(w, u))
        .read(products, {b, n, c, t, w})
        .read(decay_, {b, token(c, t), n, g})
        .read(beta_, {b, token(c, t), n, g})
        .sum(out, {b, n, g, c, t, u})
        .keep({products, decay_, beta_, out})
        .flops(k_solve_forward, k_solve_backward)
        .add();
    return out;
  }

  ir::TensorId apply_to_keys(ir::TensorId inverse) {
    const ir::TensorId out = by_token("delta.recalled", key_);
    const auto [b, n, g, c, t, d, u] = axes<7>();
    in_region("delta.w", ir::Kind::contraction,
              {a_.batch, heads_.kv_heads, heads_.group, k_chunks, k_row, key_, k_column})
        .read(inverse, {b, n, g, c, t, u})
        .read(unit_, {b, token(c, u), n, key_slot(), d})
        .sum(out, {b, token(c, t), n, g, d})
        .flops(k_multiply_add, 0)
        .add();
    return out;
  }

  ir::TensorId apply_to_values(ir::TensorId inverse) {
    const ir::TensorId out = by_token("delta.taken", value_);
    const auto [b, n, g, c, t, e, u] = axes<7>();
    in_region("delta.u", ir::Kind::contraction,
              {a_.batch, heads_.kv_heads, heads_.group, k_chunks, k_row, value_, k_column})
        .read(inverse, {b, n, g, c, t, u})
        .read(qkv_, {b, token(c, u), n, value_index(g, e)})
        .sum(out, {b, token(c, t), n, g, e})
        .flops(k_multiply_add, 0)
        .add();
    return out;
  }

  ir::TensorId walk(ir::TensorId recalled, ir::TensorId taken) {
    state_ = layer_.activation("delta.state", {a_.batch, heads_.kv_heads, heads_.group, k_chunks, key_, value_});
    const ir::TensorId fresh = by_token("delta.fresh", value_);
    const auto [b, n, g, c, t, d, e] = axes<7>();
    in_region("delta.walk", ir::Kind::scan, {a_.batch, heads_.kv_heads, heads_.group, k_chunks, k_row, key_, value_})
        .read(recalled, {b, token(c, t), n, g, d})
        .read(taken, {b, token(c, t), n, g, e})
        .read(unit_, {b, token(c, t), n, key_slot(), d})
        .read(decay_, {b, token(c, t), n, g})
        .sum(state_, {b, n, g, c, d, e})
        .sum(fresh, {b, token(c, t), n, g, e})
        .keep({recalled, unit_, decay_, state_, fresh})
        .flops(k_state_forward, k_state_backward)
        .add();
    return fresh;
  }

  ir::TensorId mask(ir::TensorId scores) {
    const ir::TensorId out = square("delta.decayed");
    const auto [b, n, g, c, t, u] = axes<6>();
    in_region("delta.mask", ir::Kind::pointwise, {a_.batch, heads_.kv_heads, heads_.group, k_chunks, k_row, k_column})
        .read(scores, {b, n, c, t, u})
        .read(decay_, {b, token(c, t), n, g})
        .write(out, {b, n, g, c, t, u})
        .keep({scores, decay_})
        .flops(k_decay_forward, k_decay_backward)
        .add();
    return out;
  }

  ir::TensorId contract_scores(ir::TensorId decayed, ir::TensorId fresh) {
    const ir::TensorId out = by_token("delta.inside", value_);
    const auto [b, n, g, c, t, e, u] = axes<7>();
    in_region("delta.context", ir::Kind::contraction,
              {a_.batch, heads_.kv_heads, heads_.group, k_chunks, k_row, value_, k_column})
        .read(decayed, {b, n, g, c, t, u})
        .read(fresh, {b, token(c, u), n, g, e})
        .sum(out, {b, token(c, t), n, g, e})
        .flops(k_multiply_add, 0)
        .add();
    return out;
  }

  ir::TensorId contract_state() {
    const ir::TensorId out = by_token("delta.from_state", value_);
    const auto [b, n, g, c, t, e, d] = axes<7>();
    in_region("delta.query", ir::Kind::contraction,
              {a_.batch, heads_.kv_heads, heads_.group, k_chunks, k_row, value_, key_})
        .read(unit_, {b, token(c, t), n, query_slot(), d})
        .read(state_, {b, n, g, c, d, e})
        .sum(out, {b, token(c, t), n, g, e})
        .flops(k_multiply_add, 0)
        .add();
    return out;
  }

  ir::TensorId normalise(ir::TensorId from_state, ir::TensorId inside) {
    const ir::TensorId gain = layer_.parameter("delta.norm.gain", {value_});
    const ir::TensorId out = by_token("context", value_);
    const ir::TensorId scale =
        layer_.statistic("delta.norm.scale", {a_.batch, a_.sequence, heads_.kv_heads, heads_.group});
    const auto [b, s, n, g, e] = axes<5>();
    in_region("delta.norm", ir::Kind::reduce, {a_.batch, a_.sequence, heads_.kv_heads, heads_.group, value_})
        .read(from_state, {b, s, n, g, e})
        .read(inside, {b, s, n, g, e})
        .read(projection_, {b, s, n, output_gate_index(g, e)})
        .read(gain, {e})
        .write(out, {b, s, n, g, e})
        .write(scale, {b, s, n, g})
        .keep({from_state, inside, projection_, gain, scale})
        .flops(k_gated_norm_forward, k_gated_norm_backward)
        .add();
    return out;
  }

  Layer& layer_;
  const DeltaConfig& delta_;
  const Axes& a_;
  Heads heads_;
  Axis key_, value_, mixed_, projected_;
  ir::TensorId projection_ = ir::k_no_tensor;  // queries, keys, values, output gates
  ir::TensorId qkv_ = ir::k_no_tensor;         // behind the convolution
  ir::TensorId unit_ = ir::k_no_tensor;        // queries and keys, each of length 1
  ir::TensorId beta_ = ir::k_no_tensor;
  ir::TensorId decay_ = ir::k_no_tensor;
  ir::TensorId state_ = ir::k_no_tensor;  // before each chunk
};

}  // namespace

ir::TensorId append_delta_attention(Layer& layer, ir::TensorId y) { return DeltaAttention(layer).append(y); }

}  // namespace cairn::models
