// What the parts of a transformer share while one layer class is assembled: its graph, its axes, and a terse way to
// append operators. An operator lists its axes once; an access names, for each dimension of its tensor, the axis that
// indexes it.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cairn/ir/graph.h"
#include "cairn/models/transformer.h"

namespace cairn::models {

struct Axis {
  const char* name;
  loopnest::Extent extent;
};

// The index of one tensor dimension: an axis of the operator, or a constant.
struct At {
  std::int16_t axis = -1;
  std::int64_t constant = 0;
  std::int16_t block_axis = -1;
  std::int32_t block = 0;
  At(int of_axis) : axis(static_cast<std::int16_t>(of_axis)) {}  // NOLINT: reads as an index list
  static At fixed(std::int64_t value) {
    At at(-1);
    at.constant = value;
    return at;
  }
  // The same index `by` further on: a part of a dimension that several things share.
  At plus(std::int64_t by) const {
    At at = *this;
    at.constant += by;
    return at;
  }
  // `index` less `by`: what lies that far before.
  static At before(int index, int by) { return in_blocks(by, -1, index); }
  // block x outer + inner: a dimension walked in blocks.
  static At in_blocks(int outer, std::int64_t block, int inner) {
    At at(inner);
    at.block_axis = static_cast<std::int16_t>(outer);
    at.block = static_cast<std::int32_t>(block);
    return at;
  }
};
using Indices = std::initializer_list<At>;

// Positions of the first N axes of an operator, to be named by a structured binding.
template <std::size_t N>
constexpr std::array<int, N> axes() {
  std::array<int, N> result{};
  for (std::size_t i = 0; i < N; ++i) result[i] = static_cast<int>(i);
  return result;
}

struct Axes {
  Axis batch, sequence, query, key, hidden, kv_heads, group, qkv, qk, head_dim, ffn, gate, vocab, positions, classes,
      rows, ways;
  // `parts`: equal parts that the batch is cut into.
  Axes(const TransformerConfig& config, std::int64_t vocab_rows, std::int64_t parts);
};

// Stands where queries have `group`; never split.
inline constexpr Axis k_one_key{.name = "key_head", .extent = {.constant = 1}};

class Layer {
 public:
  Layer(const TransformerConfig& model, const BuildOptions& build_options, const Axes& model_axes)
      : config(model), options(build_options), axis(model_axes) {}

  const TransformerConfig& config;
  const BuildOptions& options;
  const Axes& axis;
  ir::Graph graph;
  // While set, everything made exists once for each of several sub-layers that stand side by side: tensors have `ways`
  // as their outermost dimension, operators run over it too. A tensor made before, without it, is common to all of
  // them.
  bool each_way = false;
  // Before the names of everything made: tells modules of one kind apart that share a graph.
  std::string prefix;

  ir::TensorId tensor(std::string name, std::initializer_list<Axis> dims, ir::Role role, numerics::Format format);
  // Stored once together with every other parameter of a non-empty tag `tied`.
  ir::TensorId parameter(std::string name, std::initializer_list<Axis> dims, const char* tied = "");
  ir::TensorId activation(std::string name, std::initializer_list<Axis> dims) {
    return tensor(std::move(name), dims, ir::Role::activation, options.activation);
  }
  // One fp32 number per row, kept for the derivative.
  ir::TensorId statistic(std::string name, std::initializer_list<Axis> dims);
  // A tensor like `of` that lives in its storage: the result of an in-place operator.
  ir::TensorId in_place(std::string name, ir::TensorId of);
  // One activation-sized tensor of the residual stream.
  ir::TensorId stream(std::string name) {
    return activation(std::move(name), {axis.batch, axis.sequence, axis.hidden});
  }
};

// Appends one operator: described by chained calls, added to the graph by add().
class Op {
 public:
  Op(Layer& layer, std::string name, ir::Kind kind, std::initializer_list<Axis> axes);

  // One value of `axis`, chosen by data, for each combination of the other axes.
  Op& select_one(const Axis& axis);
  // A tensor whose gradient this operator's derivative computes.
  Op& read(ir::TensorId tensor, Indices at) { return access(tensor, at, ir::Mode::read, ir::InputGradient::computed); }
  // A tensor that enters by addition, with factor one: the output's gradient is its gradient.
  Op& pass(ir::TensorId tensor, Indices at) { return access(tensor, at, ir::Mode::read, ir::InputGradient::passed); }
  // A tensor that is not differentiated here.
  Op& use(ir::TensorId tensor, Indices at) { return access(tensor, at, ir::Mode::read, ir::InputGradient::none); }
  Op& bias(ir::TensorId parameter, Indices at);
  Op& write(ir::TensorId tensor, Indices at) { return access(tensor, at, ir::Mode::write, ir::InputGradient::none); }
  Op& sum(ir::TensorId tensor, Indices at) { return access(tensor, at, ir::Mode::accumulate, ir::InputGradient::none); }
  Op& merge(ir::TensorId tensor, Indices at, ir::Monoid monoid);
  // What the derivative reads besides the outputs' gradients.
  Op& keep(std::initializer_list<ir::TensorId> tensors);
  // Floating-point operations per point, forward and backward.
  Op& flops(double forward, double backward);
  Op& variant(const char* kernel);
  Op& region(const char* region);
  // Its derivative's kernel makes the gradients of its parameters, too.
  Op& joint_gradients(bool joint) {
    op_.joint_gradients = joint;
    return *this;
  }
  // Its kernel keeps nothing that it makes.
  Op& reruns() {
    op_.reruns = true;
    return *this;
  }
  // Attention of these axes: which pairs the model means, of a window of `window` keys where one is given. A kernel
  // that skips masked pairs runs over no others.
  Op& attend(At query, At key, bool causal, std::optional<std::int64_t> window, bool skips);
  // Only where `guard` is not negative.
  Op& where(const loopnest::Guard& guard) {
    op_.domain.add_guard(guard);
    return *this;
  }
  // Of a selection: its derivative first fills the input's whole gradient with zeros.
  Op& fills_gradient() {
    op_.fills_gradient = true;
    return *this;
  }
  // Its derivative writes the gradient of what it read over this one of the tensors that it keeps; none: elsewhere.
  Op& overwrites(ir::TensorId kept) {
    op_.gradient_over = kept;
    return *this;
  }
  // Copies rows to other places, as its derivative does.
  Op& moves_rows() {
    op_.moves_rows = true;
    return *this;
  }
  void add();

 private:
  Op& access(ir::TensorId tensor, Indices at, ir::Mode mode, ir::InputGradient gradient);
  void run_each_way();
  Layer& layer_;
  ir::Operator op_;
};

// Errors: core::ConfigurationError where the kernel keeps its scores in memory; `what` runs in one kernel only.
void require_one_kernel(const Layer& layer, const char* what);

inline constexpr const char* k_attention_region = "attention";
// Of the state-space mixer, as `kv_heads` of attention: what its tensor-parallel ranks hold parts of.
inline constexpr const char* k_state_groups = "state_groups";
// Scores and context: a multiply-add each per (query, key, head_dim). Backward recomputes the scores and makes dV, dP,
// dQ, dK.
inline constexpr double k_flash_forward = 4, k_flash_backward = 10;

// Y[b, s, out...] = sum over in... of X[b, s, in...] W[out..., in...]: 2 FLOPs per point.
inline constexpr double k_multiply_add = 2.0;

// Per element of a row, of a head or of a group. RMS normalisation in one kernel: square and add 2, divide 1, gain 1;
// backward: divide 1, gain 1, row sum 2, combine 3.
inline constexpr double k_rmsnorm_forward = 4, k_rmsnorm_backward = 7;
// Two products and a sum, rotation and its inverse alike.
inline constexpr double k_rotation = 3;

// Names of kernels (ir::Operator::variant) in several parts. Eager: PyTorch's own, one for each operation.
inline constexpr const char* k_eager_cast = "eager_cast";
inline constexpr const char* k_eager_dropout = "dropout";
inline constexpr const char* k_eager_pointwise = "eager_pointwise";
// A normalisation in one kernel: a library's, or one that a compiler makes.
inline const char* norm_kernel(const Layer& layer, bool centred) {
  if (layer.options.kernels.compiled) return centred ? "compiled_layernorm" : "compiled_rmsnorm";
  return centred ? "layernorm" : "rmsnorm";
}

// The parts. Each reads the tensors it is given and returns the one it makes.
ir::TensorId append_norm(Layer& layer, const char* name, ir::TensorId x);
ir::TensorId append_attention(Layer& layer, const AttentionPattern& pattern, ir::TensorId y);
// `y` before its bias (k_no_tensor: it has none) joins the residual stream `x`; `place` tells the block's two joints
// apart.
ir::TensorId append_residual(Layer& layer, const char* place, ir::TensorId x, ir::TensorId y, ir::TensorId bias);
// The output of a linear layer and the bias still to be added, k_no_tensor when there is none.
struct Biased {
  ir::TensorId value = ir::k_no_tensor;
  ir::TensorId bias = ir::k_no_tensor;
};
// The dimensions of a context beside batch and sequence: `group` heads of width `head_dim` for each of `kv_heads`.
struct Heads {
  Axis kv_heads, group, head_dim;
};
Heads heads_of(const Layer& layer, AttentionKind kind);
Biased append_projection(Layer& layer, ir::TensorId context, const Heads& heads);
// `prefix` tells several MLPs of one block apart.
Biased append_mlp(Layer& layer, ir::TensorId y, const Axis& ffn, const std::string& prefix = {});
// A copy of one key or value head for every query head that shares it, from (batch, sequence, kv_heads, 1, head_dim).
ir::TensorId append_repeated_heads(Layer& layer, const std::string& name, ir::TensorId x);
// Rotation of the first heads of `x` in its place, as many as `heads`; `kernel`: what does it in one pass.
ir::TensorId append_rotation(Layer& layer, const char* name, ir::TensorId x, const Axis& heads, const char* kernel);
// Of a projection in which every head has a key of its own: a copy of it whose queries are rotated in place, and a
// further copy of its keys and values whose keys are.
struct RotatedCopies {
  ir::TensorId query_first = ir::k_no_tensor;  // query, and what were key and value before rotation
  ir::TensorId key_value = ir::k_no_tensor;
};
RotatedCopies append_rotated_copies(Layer& layer, ir::TensorId qkv);
// Latent attention, linear attention and the gated delta rule, their contexts as append_attention's.
ir::TensorId append_latent_attention(Layer& layer, ir::TensorId y);
ir::TensorId append_linear_attention(Layer& layer, ir::TensorId y);
ir::TensorId append_delta_attention(Layer& layer, ir::TensorId y);
// A Mamba-2 mixer, its two projections included: see mamba2.cpp.
Biased append_mamba2(Layer& layer, ir::TensorId y);
ir::TensorId append_dropout(Layer& layer, const std::string& name, ir::TensorId x);
// Sub-layers side by side, see kraken.cpp: a block, and what brings their streams together before the head.
ir::TensorId append_side_by_side(Layer& layer, ir::TensorId x, bool first);
ir::TensorId append_conjunction(Layer& layer, ir::TensorId x);
// tokens -> residual stream; residual stream -> loss.
ir::TensorId append_embedding(Layer& layer);
// Multi-token prediction: M (norm(h), norm(embedding of a further token)).
ir::TensorId append_further_token(Layer& layer, ir::TensorId h);
void append_head(Layer& layer, ir::TensorId x);

}  // namespace cairn::models
