// The two ends of a model: tokens to the residual stream, and the residual stream to the loss of every token.
#include <string_view>
#include <utility>

#include "layer.h"

namespace cairn::models {
namespace {

constexpr const char* k_tied = "embedding";

// The tables are the model's, whichever module reads them. One embedding serves the first layer and, where further
// tokens are predicted, the last.
constexpr const char* k_embedding = "embedding";

ir::TensorId vocabulary_table(Layer& layer, const char* name) {
  const bool both_ends = layer.config.prediction_depth() > 0 && name == std::string_view(k_embedding);
  const bool tied = layer.config.tied_embeddings || both_ends;
  const std::string module = std::exchange(layer.prefix, {});
  const ir::TensorId table = layer.parameter(name, {layer.axis.vocab, layer.axis.hidden}, tied ? k_tied : "");
  layer.prefix = module;
  return table;
}

ir::TensorId token_indices(Layer& layer, const char* name) {
  return layer.tensor(name, {layer.axis.batch, layer.axis.sequence}, ir::Role::index, numerics::Format::int64);
}

ir::TensorId append_positions(Layer& layer, ir::TensorId x) {
  const Axes& a = layer.axis;
  const ir::TensorId table = layer.parameter("positions", {a.positions, a.hidden});
  const ir::TensorId out = layer.stream("position.out");
  const auto [b, s, h] = axes<3>();
  Op(layer, "position", ir::Kind::pointwise, {a.batch, a.sequence, a.hidden})
      .pass(x, {b, s, h})
      .bias(table, {s, h})
      .write(out, {b, s, h})
      .flops(1, 0)
      .add();
  return out;
}

ir::TensorId append_scale(Layer& layer, ir::TensorId x) {
  const Axes& a = layer.axis;
  const ir::TensorId out = layer.stream("embedding.scaled");
  const auto [b, s, h] = axes<3>();
  Op(layer, "embedding.scale", ir::Kind::pointwise, {a.batch, a.sequence, a.hidden})
      .read(x, {b, s, h})
      .write(out, {b, s, h})
      .flops(1, 1)
      .add();
  return out;
}

// Where the loss is fused with the head's product, logits of a piece of the tokens at a time: as large as the residual
// stream of all of them, so V / h pieces (Liger-Kernel, ops/fused_linear_cross_entropy.py, 2024 to 2026).
ir::TensorId logits_like(Layer& layer, std::string name) {
  const Axes& a = layer.axis;
  const ir::TensorId logits = layer.activation(std::move(name), {a.batch, a.sequence, a.vocab});
  if (layer.options.kernels.loss_kernel() == LossKernel::fused_linear && !layer.options.kernels.gathers_logits) {
    const std::int64_t rows = a.vocab.extent.at({}), width = a.hidden.extent.at({});
    layer.graph.set_pieces(logits, (rows + width - 1) / width);
  }
  return logits;
}

// cap tanh(z / cap), in one kernel or three. Its derivative needs the result alone.
ir::TensorId append_cap(Layer& layer, ir::TensorId logits) {
  const Axes& a = layer.axis;
  const auto step = [&](const std::string& name, ir::TensorId z, bool keeps, double forward, double backward) {
    const ir::TensorId out = logits_like(layer, name + ".out");
    const auto [b, s, v] = axes<3>();
    Op(layer, name, ir::Kind::pointwise, {a.batch, a.sequence, a.vocab})
        .read(z, {b, s, v})
        .write(out, {b, s, v})
        .keep({keeps ? out : ir::k_no_tensor})
        .flops(forward, backward)
        .add();
    return out;
  };
  if (layer.options.kernels.fused_pointwise()) return step("logits.cap", logits, true, 3, 4);
  const ir::TensorId tanh = step("logits.tanh", step("logits.divide", logits, false, 1, 1), true, 1, 3);
  return step("logits.multiply", tanh, false, 1, 1);
}

// Cross-entropy of a token: log(sum_v exp(z_v - m)) - (z_label - m), m = max_v z_v. Its derivative: probability minus
// one-hot.
class Loss {
 public:
  explicit Loss(Layer& layer) : layer_(layer), a_(layer.axis), labels_(token_indices(layer, "labels")) {}

  // One kernel reads the logits twice at most; the derivative recomputes the probabilities from the row's log-sum.
  // `in_place`: it overwrites the logits.
  void append_fused(ir::TensorId logits, bool in_place) {
    constexpr double k_forward = 4,
                     k_backward = 4;  // maximum, subtract, exponential, sum; subtract, exponential, one-hot, scale
    const Kernels& kernels = layer_.options.kernels;
    const bool compiled = kernels.compiled && kernels.loss != LossKernel::fused;  // made of a loss in several kernels
    const char* kernel = in_place   ? "fused_linear_cross_entropy"
                         : compiled ? "compiled_cross_entropy"
                                    : "cross_entropy";
    const ir::TensorId loss = per_token("loss");
    const ir::TensorId logsum = per_token("loss.logsumexp");
    over_logits("loss", ir::Kind::reduce)
        .read(logits, {0, 1, 2})
        .use(labels_, {0, 1})
        .write(loss, {0, 1})
        .write(logsum, {0, 1})
        .keep({logits, labels_, logsum})
        .overwrites(in_place ? logits : ir::k_no_tensor)
        .variant(kernel)
        .flops(k_forward, k_backward)
        .add();
  }

  // The chain frameworks run, in fp32 and in place over one widened copy (some over a copy of that), which ends as the
  // probabilities and is kept.
  // Its derivative, written as one function in all of them, is a pass over the probabilities, which become the gradient,
  // then the cast back: 4 bytes per logit between the passes, 6 while the gradient is narrowed.
  // Picking the label's logit and the logarithm are work per token and ride on the row sum and the last pass.
  void append_unfused(ir::TensorId logits) {
    const ir::TensorId wide = wide_logits("logits.wide");
    over_logits("loss.cast").read(logits, {0, 1, 2}).write(wide, {0, 1, 2}).variant(k_eager_cast).add();
    const ir::TensorId maximum = per_token("loss.maximum");
    over_logits("loss.maximum", ir::Kind::reduce)
        .use(wide, {0, 1, 2})
        .merge(maximum, {0, 1}, ir::Monoid::max)
        .flops(1, 0)
        .add();
    const ir::TensorId shifted =
        layer_.options.kernels.copies_logits ? wide_logits("logits.shifted") : layer_.in_place("logits.shifted", wide);
    over_logits("loss.subtract").pass(wide, {0, 1, 2}).use(maximum, {0, 1}).write(shifted, {0, 1, 2}).flops(1, 0).add();
    const ir::TensorId powers = layer_.in_place("logits.exp", shifted);
    over_logits("loss.exp").pass(shifted, {0, 1, 2}).write(powers, {0, 1, 2}).flops(1, 0).add();
    const ir::TensorId total = per_token("loss.sum");
    over_logits("loss.sum", ir::Kind::reduce).use(powers, {0, 1, 2}).sum(total, {0, 1}).flops(1, 0).add();
    const ir::TensorId probabilities = layer_.in_place("probabilities", powers);
    const ir::TensorId loss = per_token("loss");
    over_logits("loss.divide")
        .read(powers, {0, 1, 2})
        .use(total, {0, 1})
        .use(labels_, {0, 1})
        .write(probabilities, {0, 1, 2})
        .write(loss, {0, 1})
        .keep({probabilities, labels_})
        .overwrites(probabilities)
        .flops(1, 2)
        .add();
  }

  // Library operators in fp32: widened logits, their log-softmax (one pass, kept), the label's entry of it. Automatic
  // differentiation fills that entry's gradient with zeros around it, and each derivative has a tensor of its own. The
  // widened logits live until the most likely token of each row has been found, where that is wanted.
  void append_log_softmax(ir::TensorId logits) {
    const ir::TensorId wide = wide_logits("logits.wide");
    over_logits("loss.cast").read(logits, {0, 1, 2}).write(wide, {0, 1, 2}).variant(k_eager_cast).add();
    const ir::TensorId logarithms = wide_logits("log_probabilities");
    constexpr double k_forward = 5, k_backward = 4;  // maximum, subtract, exponential, sum, subtract; exponential, sum,
                                                     // product, subtract
    over_logits("loss.log_softmax", ir::Kind::reduce)
        .read(wide, {0, 1, 2})
        .write(logarithms, {0, 1, 2})
        .keep({logarithms})
        .variant("log_softmax")
        .flops(k_forward, k_backward)
        .add();
    if (layer_.options.kernels.finds_best_token)
      over_logits("accuracy", ir::Kind::reduce)
          .use(wide, {0, 1, 2})
          .merge(per_token("best"), {0, 1}, ir::Monoid::max)
          .flops(1, 0)
          .add();
    Op(layer_, "loss", ir::Kind::gather, {a_.batch, rows()})
        .select_one(classes())
        .use(labels_, {0, 1})
        .read(logarithms, {0, 1, 2})
        .write(per_token("loss"), {0, 1})
        .keep({labels_})
        .fills_gradient()
        .add();
  }

  // What metrics move of the logits. Their copies are made when the backward pass is over and raise no peak: passes over
  // the logits stand for them.
  void append_metrics(ir::TensorId logits) {
    for (std::int64_t pass = 0; pass < layer_.options.kernels.metric_passes; ++pass)
      over_logits("metric", ir::Kind::reduce)
          .use(logits, {0, 1, 2})
          .merge(per_token("metric.value"), {0, 1}, ir::Monoid::max)
          .flops(1, 0)
          .add();
  }

 private:
  // Where every rank computes the whole loss, neither the vocabulary nor the tokens are split.
  const Axis& classes() const { return layer_.options.kernels.gathers_logits ? a_.classes : a_.vocab; }
  const Axis& rows() const { return layer_.options.kernels.gathers_logits ? a_.rows : a_.sequence; }
  ir::TensorId wide_logits(const char* name) {
    return layer_.tensor(name, {a_.batch, a_.sequence, a_.vocab}, ir::Role::activation, numerics::Format::fp32);
  }
  ir::TensorId per_token(const char* name) { return layer_.statistic(name, {a_.batch, a_.sequence}); }
  Op over_logits(const char* name, ir::Kind kind = ir::Kind::pointwise) {
    return Op(layer_, name, kind, {a_.batch, rows(), classes()});
  }

  Layer& layer_;
  const Axes& a_;
  ir::TensorId labels_;
};

}  // namespace

namespace {

ir::TensorId append_lookup(Layer& layer) {
  const Axes& a = layer.axis;
  const ir::TensorId tokens = token_indices(layer, "tokens");
  const ir::TensorId table = vocabulary_table(layer, k_embedding);
  const ir::TensorId x = layer.stream("embedding.out");
  const auto [b, s, h, v] = axes<4>();
  Op(layer, "embedding", ir::Kind::gather, {a.batch, a.sequence, a.hidden})
      .select_one(a.vocab)
      .use(tokens, {b, s})
      .read(table, {v, h})
      .write(x, {b, s, h})
      .keep({tokens})
      .add();
  return layer.config.embedding_scale ? append_scale(layer, x) : x;
}

}  // namespace

ir::TensorId append_embedding(Layer& layer) {
  ir::TensorId x = append_lookup(layer);
  if (layer.config.position == PositionEncoding::learned) x = append_positions(layer, x);
  if (layer.config.embedding_norm) x = append_norm(layer, "embedding_norm", x);
  if (layer.config.stream_entry_dropout() > 0.0) x = append_dropout(layer, "dropout", x);
  return x;
}

ir::TensorId append_further_token(Layer& layer, ir::TensorId h) {
  const Axes& a = layer.axis;
  const ir::TensorId embedded = append_norm(layer, "embedding_norm", append_lookup(layer));
  const ir::TensorId before = append_norm(layer, "hidden_norm", h);
  constexpr std::int64_t k_two = 2;
  const Axis side{"side", loopnest::Extent::of(k_two)};
  const Axis narrow{"narrow", a.hidden.extent};  // the width of either side, apart from the result's
  const ir::TensorId both = layer.activation("both.out", {a.batch, a.sequence, side, narrow});
  {
    const auto [b, s, n] = axes<3>();
    Op(layer, "both", ir::Kind::pointwise, {a.batch, a.sequence, narrow})
        .read(before, {b, s, n})
        .read(embedded, {b, s, n})
        .write(both, {b, s, At::fixed(0), n})
        .write(both, {b, s, At::fixed(1), n})
        .add();
  }
  const ir::TensorId weight = layer.parameter("merge.weight", {a.hidden, side, narrow});
  const ir::TensorId out = layer.stream("merge.out");
  const auto [b, s, o, e, n] = axes<5>();
  Op(layer, "merge", ir::Kind::contraction, {a.batch, a.sequence, a.hidden, side, narrow})
      .read(both, {b, s, e, n})
      .read(weight, {o, e, n})
      .sum(out, {b, s, o})
      .flops(k_multiply_add, 0)
      .add();
  return out;
}

void append_head(Layer& layer, ir::TensorId x) {
  const Axes& a = layer.axis;
  const ir::TensorId y = append_norm(layer, "final_norm", x);
  const ir::TensorId table = vocabulary_table(layer, "head.weight");
  ir::TensorId logits = logits_like(layer, "logits");
  const auto [b, s, v, h] = axes<4>();
  Op(layer, "logits", ir::Kind::contraction, {a.batch, a.sequence, a.vocab, a.hidden})
      .read(y, {b, s, h})
      .read(table, {v, h})
      .sum(logits, {b, s, v})
      .flops(k_multiply_add, 0)
      .add();
  if (layer.config.logit_cap) logits = append_cap(layer, logits);
  Loss loss(layer);
  loss.append_metrics(logits);
  switch (layer.options.kernels.loss_kernel()) {
    case LossKernel::fused:
    case LossKernel::fused_linear:
      return loss.append_fused(logits, layer.options.kernels.loss_kernel() == LossKernel::fused_linear);
    case LossKernel::log_softmax:
      return loss.append_log_softmax(logits);
    case LossKernel::unfused:
      return loss.append_unfused(logits);
  }
}

}  // namespace cairn::models
