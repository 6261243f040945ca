// Sub-layers side by side (Kraken, Prabhakar et al., NeurIPS 2024, arXiv 2408.07802; the authors' code, 2025:
// github.com/rohan-bp/kraken, training/kraken.py and model.py).
//
// A block consists of n = `ways` narrow blocks, each with its own stream, heads, MLP and parameters, h wide. They meet
// once per block: the MLP of way i also reads what the other ways made of the block before.
//   r_i = x_i + attention_i(norm1_i(x_i))
//   y_i = r_i + sum over j != i of x_j = r_i + (S - x_i),  S = sum over j of x_j
//   x'_i = r_i + mlp_i(norm2_i(y_i))
// All ways begin with the embedding, and in the first block y_i = r_i. Before the head W [h, n h] brings the streams
// together: x = W (x_1, ..., x_n).
// Parameters without biases, MLP f wide, tied embeddings:
//   P = layers x n (4 h^2 + 2 h f + 2 h) + n h^2 + (vocabulary + positions) h + h
//
// With the ways split over ranks a block needs one sum of b s h elements over them, S, which nothing reads before y:
// it travels while attention computes, and so does its gradient while attention's is computed.
//   forward  max(attention, sum) + MLP
//   backward MLP + max(attention, sum)
#include "layer.h"

namespace cairn::models {
namespace {

// All ways begin with a copy of what is common to them.
ir::TensorId append_copies(Layer& layer, ir::TensorId common) {
  const Axes& a = layer.axis;
  const ir::TensorId x = layer.stream("copies.out");
  const auto [b, s, h] = axes<3>();
  Op(layer, "copies", ir::Kind::pointwise, {a.batch, a.sequence, a.hidden})
      .read(common, {b, s, h})
      .write(x, {b, s, h})
      .add();
  return x;
}

ir::TensorId append_sum_of_ways(Layer& layer, ir::TensorId x) {
  const Axes& a = layer.axis;
  layer.each_way = false;
  const ir::TensorId sum = layer.stream("ways.sum");
  layer.each_way = true;
  const auto [b, s, h] = axes<3>();
  Op(layer, "ways", ir::Kind::reduce, {a.batch, a.sequence, a.hidden})
      .read(x, {b, s, h})
      .sum(sum, {b, s, h})
      .flops(1, 0)
      .add();
  return sum;
}

// y = r + (sum - x): an addition and a subtraction per element; backward a negation.
ir::TensorId append_meeting(Layer& layer, ir::TensorId r, ir::TensorId sum, ir::TensorId x) {
  const Axes& a = layer.axis;
  const ir::TensorId y = layer.stream("meeting.out");
  const auto [b, s, h] = axes<3>();
  Op(layer, "meeting", ir::Kind::pointwise, {a.batch, a.sequence, a.hidden})
      .pass(r, {b, s, h})
      .read(sum, {b, s, h})
      .read(x, {b, s, h})
      .write(y, {b, s, h})
      .flops(2, 1)
      .add();
  return y;
}

}  // namespace

// The sum comes first, so that it travels beside the attention.
ir::TensorId append_side_by_side(Layer& layer, ir::TensorId x, bool first) {
  layer.each_way = true;
  if (first) x = append_copies(layer, x);
  const ir::TensorId sum = first ? ir::k_no_tensor : append_sum_of_ways(layer, x);
  const ir::TensorId context = append_attention(layer, AttentionPattern{}, append_norm(layer, "norm1", x));
  const Biased attended = append_projection(layer, context, heads_of(layer, AttentionKind::full));
  const ir::TensorId r = append_residual(layer, "1", x, attended.value, attended.bias);
  const ir::TensorId y = first ? r : append_meeting(layer, r, sum, x);
  const Biased transformed = append_mlp(layer, append_norm(layer, "norm2", y), layer.axis.ffn);
  return append_residual(layer, "2", r, transformed.value, transformed.bias);
}

ir::TensorId append_conjunction(Layer& layer, ir::TensorId x) {
  const Axes& a = layer.axis;
  layer.each_way = false;
  const Axis narrow{"narrow", a.hidden.extent};  // the streams' width, apart from the result's
  const ir::TensorId weight = layer.parameter("conjunction.weight", {a.hidden, a.ways, narrow});
  const ir::TensorId bias = layer.config.bias ? layer.parameter("conjunction.bias", {a.hidden}) : ir::k_no_tensor;
  const ir::TensorId out = layer.stream("conjunction.out");
  const auto [b, s, h, w, n] = axes<5>();
  Op(layer, "conjunction", ir::Kind::contraction, {a.batch, a.sequence, a.hidden, a.ways, narrow})
      .read(x, {w, b, s, n})
      .read(weight, {h, w, n})
      .bias(bias, {h})
      .sum(out, {b, s, h})
      .flops(k_multiply_add, 0)
      .add();
  return out;
}

}  // namespace cairn::models
