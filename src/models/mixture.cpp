#include "mixture.h"

#include "activation_work.h"

namespace cairn::models {
namespace {

using loopnest::Extent;
using loopnest::Symbol;

// Per logit and choice: one comparison; backward: one product.
constexpr double k_top_k_forward = 1, k_top_k_backward = 1;

// Slots per expert and source on one rank: an even spread, and how far the fullest exceeds it. Padding to a capacity
// spreads evenly whatever the tokens want.
Extent slot_extent(const MixtureConfig& mixture, std::int64_t parts) {
  const double capacity = mixture.capacity_factor;
  const loopnest::Load load = capacity > 0.0 ? loopnest::Load{.mean = capacity, .max = capacity}
                                             : loopnest::Load{.mean = 1.0, .max = mixture.imbalance};
  return Extent::share(Symbol::tokens, mixture.top_k, mixture.experts * parts, load);
}

// Two routers, over domains and inside one, where tokens travel in two steps.
std::int64_t router_width(const Layer& layer) {
  const MixtureConfig& mixture = *layer.config.moe;
  const std::int64_t domains = layer.options.expert_domains;
  if (mixture.dispatcher != Dispatcher::smile || domains == 1) return mixture.experts;
  return domains + mixture.experts / domains;
}

class Mixture {
 public:
  explicit Mixture(Layer& layer)
      : layer_(layer),
        mixture_(*layer.config.moe),
        a_(layer.axis),
        kind_(layer.config.activation_function()),
        experts_{k_experts, Extent::of(mixture_.experts)},
        slots_{"slots", slot_extent(mixture_, layer.options.parts)},
        ffn_{k_ffn, Extent::of(mixture_.ffn)},
        choices_{"choices", Extent::of(router_width(layer))},
        choice_{"choice", Extent::of(mixture_.top_k)},
        tokens_{"tokens", Extent::share(Symbol::tokens, 1, layer.options.parts)} {}

  Routed route(ir::TensorId y) {
    const ir::TensorId weights = append_router(y);
    if (mixture_.dispatcher == Dispatcher::allgather) return permute_everywhere(y, weights);
    const ir::TensorId rows = rows_like("permute.out");
    const auto [p, c, e, t, h, b, s] = axes<7>();
    Op op(layer_, "permute", ir::Kind::gather, {k_peer, k_source, experts_, slots_, a_.hidden});
    op.select_one(a_.batch).select_one(a_.sequence);
    op.read(y, {b, s, h}).write(rows, {p, c, e, t, h}).add();
    if (!weighted()) return {.weights = weights, .rows = rows};
    const ir::TensorId of_rows = weights_of_rows();
    const auto [wp, wc, we, wt, wb, ws, k] = axes<7>();
    Op(layer_, "permute.weights", ir::Kind::gather, {k_peer, k_source, experts_, slots_})
        .select_one(a_.batch)
        .select_one(a_.sequence)
        .select_one(choice_)
        .read(weights, {wb, ws, k})
        .write(of_rows, {wp, wc, we, wt})
        .add();
    return {.weights = of_rows, .rows = rows};
  }

  ir::TensorId transform(Routed routed) {
    if (sorts()) routed.rows = append_sort("experts.sort", "experts.sort.out", routed.rows);
    const ir::TensorId wide = layer_.config.gated_mlp ? append_gated(routed) : append_plain(routed);
    const ir::TensorId weight = layer_.parameter("experts.fc2.weight", {experts_, a_.hidden, ffn_});
    const ir::TensorId out = rows_like("experts.fc2.out");
    const auto [p, c, e, t, h, f] = axes<6>();
    Op(layer_, "experts.fc2", ir::Kind::contraction, {k_from_peer, k_from, experts_, slots_, a_.hidden, ffn_})
        .read(wide, {p, c, e, t, f})
        .read(weight, {e, h, f})
        .bias(bias_of("experts.fc2.bias", {experts_, a_.hidden}), {e, h})
        .sum(out, {p, c, e, t, h})
        .flops(k_multiply_add, 0)
        .add();
    return sorts() ? append_sort("experts.restore", "experts.restore.out", out) : out;
  }

  ir::TensorId combine(const Routed& routed) {
    if (mixture_.dispatcher == Dispatcher::allgather) return combine_everywhere(routed);
    // Results that stay with their experts are summed there, others where their tokens come from.
    const bool stays = mixture_.dispatcher == Dispatcher::exflow;
    const ir::TensorId out = layer_.stream("combine.out");
    const auto [p, c, e, t, h, b, s, k] = axes<8>();
    Op op(layer_, "combine", ir::Kind::scatter, {k_peer, stays ? k_from : k_source, experts_, slots_, a_.hidden});
    op.select_one(a_.batch).select_one(a_.sequence);
    op.read(routed.rows, {p, c, e, t, h});
    if (!weighted()) op.select_one(choice_).read(routed.weights, {b, s, k}).keep({routed.rows, routed.weights});
    op.sum(out, {b, s, h}).add();
    return out;
  }

  static constexpr const char* k_experts = "experts";
  static constexpr const char* k_ffn = "expert_ffn";
  // The two origins of a row: split where tokens leave and return, whole where experts work.
  static constexpr Axis k_peer{"peer", {.factor = 1, .symbol = Symbol::peer}};
  static constexpr Axis k_source{"source", {.factor = 1, .symbol = Symbol::source}};
  static constexpr Axis k_from_peer{"from_peer", {.factor = 1, .symbol = Symbol::peer}};
  static constexpr Axis k_from{"from", {.factor = 1, .symbol = Symbol::source}};

 private:
  ir::TensorId rows_like(const char* name) {
    return layer_.activation(name, {k_peer, k_source, experts_, slots_, a_.hidden});
  }

  bool weighted() const { return layer_.options.kernels.weighted_experts; }
  ir::TensorId weights_of_rows() { return layer_.statistic("permute.weights", {k_peer, k_source, experts_, slots_}); }

  bool sorts() const {
    return layer_.options.kernels.sorts_rows && layer_.options.several_experts &&
           mixture_.dispatcher == Dispatcher::alltoall;
  }
  // Where experts work, but each rank its own share of the rows: parts of a sum combine before, rows of all peers are
  // gathered behind. Megatron gathers before it sorts and restores before it scatters, etp times the bytes.
  ir::TensorId append_sort(const char* name, const char* result, ir::TensorId rows) {
    const ir::TensorId out = rows_like(result);
    const auto [p, c, e, t, h] = axes<5>();
    Op(layer_, name, ir::Kind::gather, {k_peer, k_from, experts_, slots_, a_.hidden})
        .read(rows, {p, c, e, t, h})
        .write(out, {p, c, e, t, h})
        .variant("sort_chunks")
        .moves_rows()
        .add();
    return out;
  }

  // Rows times their weights, where no kernel of the activation does it.
  ir::TensorId append_scale(ir::TensorId rows, const Routed& routed) {
    const ir::TensorId out = layer_.activation("experts.scale.out", {k_peer, k_source, experts_, slots_, ffn_});
    const auto [p, c, e, t, f] = axes<5>();
    Op(layer_, "experts.scale", ir::Kind::pointwise, {k_from_peer, k_from, experts_, slots_, ffn_})
        .read(rows, {p, c, e, t, f})
        .read(routed.weights, {p, c, e, t})
        .write(out, {p, c, e, t, f})
        .keep({rows, routed.weights})
        .flops(k_scale_forward, k_scale_backward)
        .add();
    return out;
  }

  ir::TensorId bias_of(const char* name, std::initializer_list<Axis> dims) {
    return layer_.config.has_mlp_bias() ? layer_.parameter(name, dims) : ir::k_no_tensor;
  }

  ir::TensorId append_router(ir::TensorId y) {
    const auto per_choice = [&](const char* name, bool present) {
      return present ? layer_.parameter(name, {choices_}) : ir::k_no_tensor;
    };
    const ir::TensorId weight = layer_.parameter("router.weight", {choices_, a_.hidden});
    const ir::TensorId logits = layer_.activation("router.logits", {a_.batch, a_.sequence, choices_});
    const auto [b, s, n, h] = axes<4>();
    Op(layer_, "router", ir::Kind::contraction, {a_.batch, a_.sequence, choices_, a_.hidden})
        .read(y, {b, s, h})
        .read(weight, {n, h})
        .bias(per_choice("router.bias", mixture_.router_bias), {n})
        .sum(logits, {b, s, n})
        .flops(k_multiply_add, 0)
        .add();
    const ir::TensorId weights = layer_.statistic("router.weights", {a_.batch, a_.sequence, choice_});
    const auto [tb, ts, tn, k] = axes<4>();
    Op(layer_, "router.top_k", ir::Kind::reduce, {a_.batch, a_.sequence, choices_, choice_})
        .read(logits, {tb, ts, tn})
        .bias(per_choice("router.balance", mixture_.balance_bias), {tn})
        .write(weights, {tb, ts, k})
        .keep({logits, weights})
        .flops(k_top_k_forward, k_top_k_backward)
        .variant(router_kernel())
        .add();
    return weights;
  }

  const char* router_kernel() const {
    if (layer_.options.kernels.fused_router)
      return mixture_.balance_bias ? "fused_router_sigmoid" : "fused_router_softmax";
    return mixture_.balance_bias ? "router_sigmoid" : "router_softmax";
  }

  ir::TensorId append_gated(const Routed& routed) {
    const Axis gate = a_.gate;
    const ir::TensorId weight = layer_.parameter("experts.fc1.weight", {experts_, gate, ffn_, a_.hidden});
    const ir::TensorId inner = layer_.activation("experts.fc1.out", {k_peer, k_source, experts_, slots_, gate, ffn_});
    const auto [p, c, e, t, g, f, h] = axes<7>();
    Op(layer_, "experts.fc1", ir::Kind::contraction, {k_from_peer, k_from, experts_, slots_, gate, ffn_, a_.hidden})
        .read(routed.rows, {p, c, e, t, h})
        .read(weight, {e, g, f, h})
        .bias(bias_of("experts.fc1.bias", {experts_, gate, ffn_}), {e, g, f})
        .sum(inner, {p, c, e, t, g, f})
        .flops(k_multiply_add, 0)
        .add();
    const ir::TensorId out = layer_.activation("experts.activation.out", {k_peer, k_source, experts_, slots_, ffn_});
    const Work work = work_of(kind_);
    const auto [ap, ac, ae, at, af] = axes<5>();
    Op op(layer_, "experts.activation", ir::Kind::pointwise, {k_from_peer, k_from, experts_, slots_, ffn_});
    op.read(inner, {ap, ac, ae, at, At::fixed(0), af}).read(inner, {ap, ac, ae, at, At::fixed(1), af});
    op.write(out, {ap, ac, ae, at, af});
    if (!weighted() || kind_ != Activation::silu) {
      op.keep({inner}).flops(work.forward + k_gate_forward, work.backward + k_gate_backward).variant(name_of(kind_));
      op.add();
      return weighted() ? append_scale(out, routed) : out;
    }
    op.read(routed.weights, {ap, ac, ae, at}).keep({inner, routed.weights}).variant("weighted_silu");
    op.flops(work.forward + k_gate_forward + k_scale_forward, work.backward + k_gate_backward + k_scale_backward).add();
    return out;
  }

  ir::TensorId append_plain(const Routed& routed) {
    const ir::TensorId weight = layer_.parameter("experts.fc1.weight", {experts_, ffn_, a_.hidden});
    const ir::TensorId inner = layer_.activation("experts.fc1.out", {k_peer, k_source, experts_, slots_, ffn_});
    const auto [p, c, e, t, f, h] = axes<6>();
    Op(layer_, "experts.fc1", ir::Kind::contraction, {k_from_peer, k_from, experts_, slots_, ffn_, a_.hidden})
        .read(routed.rows, {p, c, e, t, h})
        .read(weight, {e, f, h})
        .bias(bias_of("experts.fc1.bias", {experts_, ffn_}), {e, f})
        .sum(inner, {p, c, e, t, f})
        .flops(k_multiply_add, 0)
        .add();
    const ir::TensorId out = layer_.activation("experts.activation.out", {k_peer, k_source, experts_, slots_, ffn_});
    const Work work = work_of(kind_);
    Op(layer_, "experts.activation", ir::Kind::pointwise, {k_from_peer, k_from, experts_, slots_, ffn_})
        .read(inner, {p, c, e, t, f})
        .write(out, {p, c, e, t, f})
        .keep({inner})
        .flops(work.forward, work.backward)
        .variant(name_of(kind_))
        .add();
    return weighted() ? append_scale(out, routed) : out;
  }

  // Every rank sees the tokens of all ranks and picks the rows of its own experts.
  Routed permute_everywhere(ir::TensorId y, ir::TensorId weights) {
    const ir::TensorId shared = layer_.activation("share.out", {k_peer, k_source, tokens_, a_.hidden});
    const ir::TensorId shared_weights = layer_.statistic("share.weights", {k_peer, k_source, tokens_, choice_});
    {
      const auto [p, c, t, h, k, b, s] = axes<7>();
      Op(layer_, "share", ir::Kind::pointwise, {k_peer, k_source, tokens_, a_.hidden, choice_})
          .select_one(a_.batch)
          .select_one(a_.sequence)
          .read(y, {b, s, h})
          .read(weights, {b, s, k})
          .write(shared, {p, c, t, h})
          .write(shared_weights, {p, c, t, k})
          .add();
    }
    const ir::TensorId rows = rows_like("permute.out");
    const auto [p, c, e, t, h, n] = axes<6>();
    Op(layer_, "permute", ir::Kind::gather, {k_from_peer, k_from, experts_, slots_, a_.hidden})
        .select_one(tokens_)
        .read(shared, {p, c, n, h})
        .write(rows, {p, c, e, t, h})
        .add();
    if (!weighted()) return {.weights = shared_weights, .rows = rows};
    const ir::TensorId of_rows = weights_of_rows();
    const auto [wp, wc, we, wt, wn, k] = axes<6>();
    Op(layer_, "permute.weights", ir::Kind::gather, {k_from_peer, k_from, experts_, slots_})
        .select_one(tokens_)
        .select_one(choice_)
        .read(shared_weights, {wp, wc, wn, k})
        .write(of_rows, {wp, wc, we, wt})
        .add();
    return {.weights = of_rows, .rows = rows};
  }

  ir::TensorId combine_everywhere(const Routed& routed) {
    const ir::TensorId summed = layer_.activation("combine.out", {k_peer, k_source, tokens_, a_.hidden});
    {
      const auto [p, c, e, t, h, n, k] = axes<7>();
      Op op(layer_, "combine", ir::Kind::scatter, {k_from_peer, k_from, experts_, slots_, a_.hidden});
      op.select_one(tokens_).read(routed.rows, {p, c, e, t, h});
      if (!weighted()) op.select_one(choice_).read(routed.weights, {p, c, n, k}).keep({routed.rows, routed.weights});
      op.sum(summed, {p, c, n, h}).add();
    }
    return collect("collect", summed, k_peer, k_source);
  }

  ir::TensorId collect(const char* name, ir::TensorId rows, const Axis& peer, const Axis& source) {
    const ir::TensorId out = layer_.stream(std::string(name) + ".out");
    const auto [p, c, t, h, b, s] = axes<6>();
    Op(layer_, name, ir::Kind::gather, {peer, source, tokens_, a_.hidden})
        .select_one(a_.batch)
        .select_one(a_.sequence)
        .read(rows, {p, c, t, h})
        .sum(out, {b, s, h})
        .add();
    return out;
  }

 public:
  ir::TensorId share_context(ir::TensorId x) {
    const ir::TensorId mine = layer_.activation("context.mine", {k_peer, k_source, tokens_, a_.hidden});
    {
      const auto [p, c, t, h, b, s] = axes<6>();
      Op(layer_, "context.share", ir::Kind::gather, {k_peer, k_source, tokens_, a_.hidden})
          .select_one(a_.batch)
          .select_one(a_.sequence)
          .read(x, {b, s, h})
          .write(mine, {p, c, t, h})
          .add();
    }
    return collect("context", mine, k_peer, k_from);
  }

 private:
  Layer& layer_;
  const MixtureConfig& mixture_;
  const Axes& a_;
  Activation kind_;
  Axis experts_, slots_, ffn_, choices_, choice_, tokens_;
};

// Per element of the shared result: product, sum; backward two products and a sum over the row. The sigmoid is work per
// token.
constexpr double k_weigh_forward = 2, k_weigh_backward = 3;

ir::TensorId append_shared_gate(Layer& layer, ir::TensorId y) {
  const Axes& a = layer.axis;
  const ir::TensorId weight = layer.parameter("shared.weigh.weight", {a.hidden});
  const ir::TensorId out = layer.activation("shared.weigh.out", {a.batch, a.sequence});
  const auto [b, s, h] = axes<3>();
  Op(layer, "shared.weigh", ir::Kind::contraction, {a.batch, a.sequence, a.hidden})
      .read(y, {b, s, h})
      .read(weight, {h})
      .sum(out, {b, s})
      .flops(k_multiply_add, 0)
      .add();
  return out;
}

}  // namespace

std::vector<ir::Journeys::Origin> row_origins() {
  return {{.home = Mixture::k_source.name, .work = Mixture::k_experts},
          {.home = Mixture::k_peer.name, .work = Mixture::k_ffn}};
}
Routed append_routing(Layer& layer, ir::TensorId y) { return Mixture(layer).route(y); }
void append_experts(Layer& layer, Routed& routed) { routed.rows = Mixture(layer).transform(routed); }
ir::TensorId append_combine(Layer& layer, const Routed& routed) { return Mixture(layer).combine(routed); }
ir::TensorId append_shared_context(Layer& layer, ir::TensorId x) { return Mixture(layer).share_context(x); }

ir::TensorId append_shared_sum(Layer& layer, ir::TensorId routed, ir::TensorId y, const Biased& shared) {
  const Axes& axis = layer.axis;
  const ir::TensorId out = layer.stream("shared.add.out");
  const auto [b, s, h] = axes<3>();
  Op op(layer, "shared.add", ir::Kind::pointwise, {axis.batch, axis.sequence, axis.hidden});
  op.pass(routed, {b, s, h});
  if (layer.config.moe->shared_gate) {
    const ir::TensorId gate = append_shared_gate(layer, y);
    op.read(shared.value, {b, s, h}).bias(shared.bias, {h}).read(gate, {b, s}).keep({shared.value, gate});
    op.flops(k_weigh_forward, k_weigh_backward);
  } else {
    op.pass(shared.value, {b, s, h}).bias(shared.bias, {h}).flops(shared.bias == ir::k_no_tensor ? 1 : 1 + k_bias, 0);
  }
  op.write(out, {b, s, h}).add();
  return out;
}

}  // namespace cairn::models
