// A Mamba-2 mixer: a state per head, P x N numbers, that every token decays and adds to, and reads.
//   [z, x, B, C, dt] = W_in y;   x, B, C = silu(conv(x, B, C));   dt = softplus(dt + dt_bias)
//   S_t = exp(dt_t A) S_(t-1) + dt_t x_t B_t^T;   y_t = S_t C_t + D x_t;   out = W_out rmsnorm(y * silu(z))
// B, C and the normalisation are common to the heads of a group. The recurrence runs in chunks of Q tokens (state-space
// duality), in which the decays are elementwise factors of operands or results:
//   scores_c = C_c B_c^T;   update_c = B_c^T x_c;   state_c = decay state_(c-1) + update_(c-1)
//   y_c = C_c state_c + (decays * scores_c) x_c
// Multiply-adds per token: Q N a group for the scores; Q P + 2 P N a head for the rest. The scores of later tokens are
// computed and dropped. Source: Dao and Gu 2024, arXiv 2405.21060, sections 6 and 7; the mixer's layout and kernels,
// mamba_ssm 2.2 (mamba_split_conv1d_scan_combined), which keeps the input projection's result and y, and makes all else
// again. Left out: the operands' decays, 8 B per head and token; scores and updates in fp32, whose kernels round them
// when they read them again; one more product dY X^T in backward, by which the kernels find the gradient of the decays.
#include "activation_work.h"
#include "layer.h"

namespace cairn::models {
namespace {

using loopnest::Extent;
using loopnest::Symbol;

// Per head and token: bias 1, softplus 3, product with A 1, running sum 1; backward: running sum 1, the two products 2,
// sigmoid and its product 4.
constexpr double k_step_forward = 6, k_step_backward = 7;
// Per number of a state: product with the decay and a sum; backward: the same, and both for the decay's gradient.
constexpr double k_scan_forward = 2, k_scan_backward = 4;
// Per element: product with D and a sum; backward one product.
constexpr double k_skip_forward = 2, k_skip_backward = 1;
// Places in the last dimension of "ssd.step".
constexpr std::int64_t k_decay = 1;

class Mamba2 {
 public:
  explicit Mamba2(Layer& layer)
      : layer_(layer),
        a_(layer.axis),
        c_(*layer.config.mamba2),
        group_heads_(layer.config.state_heads() / c_.groups),
        width_(group_heads_ * c_.head_dim),
        groups_{k_state_groups, Extent::of(c_.groups)},
        heads_{"group_heads", Extent::of(group_heads_)},
        head_dim_{"head_dim", Extent::of(c_.head_dim)},
        state_{"state", Extent::of(c_.state)},
        channels_{"channels", Extent::of(width_ + 2 * c_.state)},
        taps_{"tap", Extent::of(c_.conv)},
        chunks_{"chunk", Extent::share(Symbol::sequence, 1, c_.chunk)},
        position_{"position", Extent::of(c_.chunk)},
        key_{"key_position", Extent::of(c_.chunk)} {}

  Biased append(ir::TensorId y) {
    project(y);
    convolve();
    const ir::TensorId step = steps();
    const ir::TensorId weights = scores();
    const ir::TensorId before = scan(update(), step);
    return project_back(normalise(add_inside(from_state(before), weights)));
  }

 private:
  // Of the input projection's result, group by group: z, x, B, C, dt; of the convolution's: x, B, C.
  At gate(int head, int d) const { return in_head(head, d); }
  At step_input(int head) const { return At(head).plus(2 * width_ + 2 * c_.state); }
  At x(int head, int d) const { return in_head(head, d); }
  At writer(int n) const { return At(n).plus(width_); }             // B
  At reader(int n) const { return At(n).plus(width_ + c_.state); }  // C
  At in_head(int head, int d) const { return At::in_blocks(head, c_.head_dim, d); }
  At token(int chunk, int position) const { return At::in_blocks(chunk, c_.chunk, position); }
  At last_token(int chunk) const { return At::in_blocks(chunk, c_.chunk, -1).plus(c_.chunk - 1); }

  ir::TensorId parameter(const char* name, std::initializer_list<Axis> dims, bool present = true) {
    return present ? layer_.parameter(name, dims) : ir::k_no_tensor;
  }
  // An activation whose readers share one gradient.
  ir::TensorId shared(const char* name, const Axis& width) {
    const ir::TensorId id = layer_.activation(name, {a_.batch, a_.sequence, groups_, width});
    layer_.graph.share_gradient(id);
    return id;
  }

  void project(ir::TensorId y) {
    const Axis width{"in_width", Extent::of(2 * width_ + 2 * c_.state + group_heads_)};
    const ir::TensorId weight = parameter("in_proj.weight", {groups_, width, a_.hidden});
    const ir::TensorId bias = parameter("in_proj.bias", {groups_, width}, c_.bias);
    projected_ = shared("in_proj.out", width);
    const auto [b, s, g, w, h] = axes<5>();
    Op(layer_, "in_proj", ir::Kind::contraction, {a_.batch, a_.sequence, groups_, width, a_.hidden})
        .read(y, {b, s, h})
        .read(weight, {g, w, h})
        .bias(bias, {g, w})
        .sum(projected_, {b, s, g, w})
        .flops(k_multiply_add, 0)
        .add();
  }

  // Every channel by itself; before the first token it sees zeros, which are read like tokens.
  void convolve() {
    const ir::TensorId weight = parameter("conv.weight", {groups_, channels_, taps_});
    const ir::TensorId bias = parameter("conv.bias", {groups_, channels_}, c_.conv_bias);
    convolved_ = shared("conv.out", channels_);
    const Work silu = work_of(Activation::silu);
    const double taps = static_cast<double>(c_.conv), added = c_.conv_bias ? k_bias : 0.0;
    const auto [b, s, g, w, k] = axes<5>();
    Op(layer_, "conv", ir::Kind::pointwise, {a_.batch, a_.sequence, groups_, channels_, taps_})
        .read(projected_, {b, At::before(s, k), g, At(w).plus(width_)})
        .read(weight, {g, w, k})
        .bias(bias, {g, w})
        .sum(convolved_, {b, s, g, w})
        .keep({projected_, weight, bias})
        .reruns()
        .flops(k_multiply_add + (added + silu.forward) / taps, k_multiply_add + silu.backward / taps)
        .add();
  }

  // Step widths and the logarithms of the decays since the chunk's beginning, in fp32.
  ir::TensorId steps() {
    const Axis pair{"step", Extent::of(2)};
    const ir::TensorId rate = parameter("A_log", {groups_, heads_});
    const ir::TensorId bias = parameter("dt_bias", {groups_, heads_});
    const ir::TensorId out = layer_.tensor("ssd.step", {a_.batch, a_.sequence, groups_, heads_, pair},
                                           ir::Role::activation, numerics::Format::fp32);
    const auto [b, s, g, r, e] = axes<5>();
    Op(layer_, "ssd.step", ir::Kind::scan, {a_.batch, a_.sequence, groups_, heads_, pair})
        .read(projected_, {b, s, g, step_input(r)})
        .read(bias, {g, r})
        .read(rate, {g, r})
        .write(out, {b, s, g, r, e})
        .keep({projected_, bias, rate})
        .reruns()
        .flops(k_step_forward / 2, k_step_backward / 2)
        .add();
    return out;
  }

  ir::TensorId scores() {
    const ir::TensorId out = layer_.activation("ssd.scores", {a_.batch, groups_, chunks_, position_, key_});
    const auto [b, g, i, t, u, n] = axes<6>();
    Op(layer_, "ssd.scores", ir::Kind::contraction, {a_.batch, groups_, chunks_, position_, key_, state_})
        .read(convolved_, {b, token(i, t), g, reader(n)})
        .read(convolved_, {b, token(i, u), g, writer(n)})
        .sum(out, {b, g, i, t, u})
        .attend(t, u, true, std::nullopt, false)
        .reruns()
        .flops(k_multiply_add, 0)
        .add();
    return out;
  }

  ir::TensorId states(const char* name) {
    return layer_.activation(name, {a_.batch, groups_, chunks_, heads_, head_dim_, state_});
  }

  ir::TensorId update() {
    const ir::TensorId out = states("ssd.update.out");
    const auto [b, g, i, r, d, n, t] = axes<7>();
    Op(layer_, "ssd.update", ir::Kind::contraction, {a_.batch, groups_, chunks_, heads_, head_dim_, state_, position_})
        .read(convolved_, {b, token(i, t), g, x(r, d)})
        .read(convolved_, {b, token(i, t), g, writer(n)})
        .sum(out, {b, g, i, r, d, n})
        .reruns()
        .flops(k_multiply_add, 0)
        .add();
    return out;
  }

  // The state before each chunk.
  ir::TensorId scan(ir::TensorId update, ir::TensorId step) {
    const ir::TensorId out = states("ssd.state");
    const auto [b, g, i, r, d, n] = axes<6>();
    Op(layer_, "ssd.scan", ir::Kind::scan, {a_.batch, groups_, chunks_, heads_, head_dim_, state_})
        .read(update, {b, g, i, r, d, n})
        .read(step, {b, last_token(i), g, r, At::fixed(k_decay)})
        .write(out, {b, g, i, r, d, n})
        .keep({step, out})
        .reruns()
        .flops(k_scan_forward, k_scan_backward)
        .add();
    return out;
  }

  ir::TensorId from_state(ir::TensorId state) {
    const ir::TensorId out = layer_.activation("ssd.y", {a_.batch, a_.sequence, groups_, heads_, head_dim_});
    const auto [b, g, i, t, r, d, n] = axes<7>();
    Op(layer_, "ssd.from_state", ir::Kind::contraction,
       {a_.batch, groups_, chunks_, position_, heads_, head_dim_, state_})
        .read(convolved_, {b, token(i, t), g, reader(n)})
        .read(state, {b, g, i, r, d, n})
        .sum(out, {b, token(i, t), g, r, d})
        .flops(k_multiply_add, 0)
        .add();
    return out;
  }

  // What the tokens of its own chunk add to y.
  ir::TensorId add_inside(ir::TensorId y, ir::TensorId scores) {
    const ir::TensorId out = layer_.in_place("ssd.y.whole", y);
    const auto [b, g, i, t, r, d, u] = axes<7>();
    Op(layer_, "ssd.inside", ir::Kind::contraction, {a_.batch, groups_, chunks_, position_, heads_, head_dim_, key_})
        .read(convolved_, {b, token(i, u), g, x(r, d)})
        .read(scores, {b, g, i, t, u})
        .pass(y, {b, token(i, t), g, r, d})
        .sum(out, {b, token(i, t), g, r, d})
        .attend(t, u, true, std::nullopt, false)
        .flops(k_multiply_add, 0)
        .add();
    return out;
  }

  // One kernel adds D x, gates and normalises the channels of a group.
  ir::TensorId normalise(ir::TensorId y) {
    const ir::TensorId skip = parameter("D", {groups_, heads_});
    const ir::TensorId gain = parameter("gated_norm.gain", {groups_, heads_, head_dim_});
    const ir::TensorId out = layer_.activation("gated_norm.out", {a_.batch, a_.sequence, groups_, heads_, head_dim_});
    const ir::TensorId scale = layer_.statistic("gated_norm.scale", {a_.batch, a_.sequence, groups_});
    const Work silu = work_of(Activation::silu);
    const auto [b, s, g, r, d] = axes<5>();
    Op(layer_, "gated_norm", ir::Kind::reduce, {a_.batch, a_.sequence, groups_, heads_, head_dim_})
        .read(y, {b, s, g, r, d})
        .read(projected_, {b, s, g, gate(r, d)})
        .read(convolved_, {b, s, g, x(r, d)})
        .read(skip, {g, r})
        .read(gain, {g, r, d})
        .write(out, {b, s, g, r, d})
        .write(scale, {b, s, g})
        .keep({y, projected_, convolved_, skip, gain, scale})
        .variant("fused")
        .reruns()
        .flops(k_skip_forward + silu.forward + k_gate_forward + k_rmsnorm_forward,
               k_skip_backward + silu.backward + k_gate_backward + k_rmsnorm_backward)
        .add();
    return out;
  }

  Biased project_back(ir::TensorId y) {
    const ir::TensorId weight = parameter("out_proj.weight", {a_.hidden, groups_, heads_, head_dim_});
    const ir::TensorId bias = parameter("out_proj.bias", {a_.hidden}, c_.bias);
    const bool bias_later = layer_.options.kernels.fused_pointwise();
    const ir::TensorId out = layer_.stream("out_proj.out");
    const auto [b, s, h, g, r, d] = axes<6>();
    Op(layer_, "out_proj", ir::Kind::contraction, {a_.batch, a_.sequence, a_.hidden, groups_, heads_, head_dim_})
        .read(y, {b, s, g, r, d})
        .read(weight, {h, g, r, d})
        .bias(bias_later ? ir::k_no_tensor : bias, {h})
        .sum(out, {b, s, h})
        .flops(k_multiply_add, 0)
        .add();
    return {.value = out, .bias = bias_later ? bias : ir::k_no_tensor};
  }

  Layer& layer_;
  const Axes& a_;
  const Mamba2Config& c_;
  std::int64_t group_heads_;
  std::int64_t width_;  // of the heads of a group
  Axis groups_, heads_, head_dim_, state_, channels_, taps_, chunks_, position_, key_;
  ir::TensorId projected_ = ir::k_no_tensor;
  ir::TensorId convolved_ = ir::k_no_tensor;
};

}  // namespace

Biased append_mamba2(Layer& layer, ir::TensorId y) { return Mamba2(layer).append(y); }

}  // namespace cairn::models
