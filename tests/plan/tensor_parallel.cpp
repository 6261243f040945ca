// What tensor parallelism sends and keeps, layer by layer, against closed forms.
#include <utility>

#include "cairn/plan/lowering.h"
#include "catch.h"
#include "support/spine_models.h"
#include "support/transfers.h"
#include "support/two_products.h"

using namespace cairn;
using namespace cairn::testing;
using program::Axis;
using program::Collective;

namespace {

constexpr auto k_reduce = Collective::all_reduce;
constexpr auto k_gather = Collective::all_gather;
constexpr auto k_scatter = Collective::reduce_scatter;

// b = 2, s = 8, h = 16, f = 32, 4 heads, 64 tokens in the vocabulary; bf16.
constexpr double k_b = 2, k_s = 8, k_h = 16, k_f = 32, k_n = 4, k_v = 64;
constexpr double k_stream = 2 * k_b * k_s * k_h;

plan::LayerOptions options(std::int64_t t, bool sequence_parallel, bool vocab_parallel = false) {
  plan::LayerOptions o;
  o.sizes = {.batch = 2, .sequence = 8};
  plan::Strategy s;
  s.tensor = t;
  s.sequence_parallel = sequence_parallel;
  s.vocab_parallel = vocab_parallel;
  o.rules = plan::split_rules(s);
  o.groups = {{.axis = Axis::tensor, .size = t, .stride = 1}};
  return o;
}
plan::LayerLowering lowered(const ir::Model& model, std::size_t layer, const plan::LayerOptions& o) {
  return plan::LayerLowering(model.classes[layer], o);
}

}  // namespace

TEST_CASE("Column-parallel, then row-parallel: one all-reduce each way") {
  const ir::Model model = two_products({.hidden = 16});
  const auto layer = lowered(model, 0, options(4, false));
  REQUIRE(transfers(layer.forward()) == Sent{{k_reduce, k_stream}});
  REQUIRE(transfers(layer.backward()) == Sent{{k_reduce, k_stream}});
  for (const program::Block& block : {layer.forward(), layer.backward()})
    for (const program::Work& work : block.works)
      if (const auto* transfer = std::get_if<program::Transfer>(&work)) REQUIRE(transfer->group.size == 4);
  // Alone, nothing.
  REQUIRE(transfers(lowered(model, 0, options(1, false)).forward()).empty());
  REQUIRE(transfers(lowered(model, 0, options(1, true)).backward()).empty());
}

TEST_CASE("The same split along the sequence in between: gather and scatter, and the saved shard gathered again") {
  const ir::Model model = two_products({.hidden = 16});
  const auto layer = lowered(model, 0, options(4, true));
  REQUIRE(transfers(layer.forward()) == Sent{{k_gather, k_stream}, {k_scatter, k_stream}});
  // The gradient of y is gathered for both gradients of fc2; x again for fc1's weights; the gradient of x leaves as a
  // shard.
  REQUIRE(transfers(layer.backward()) == Sent{{k_gather, k_stream}, {k_gather, k_stream}, {k_scatter, k_stream}});
}

TEST_CASE("A transformer block sends 8 b s h (t-1)/t elements, 10 with sequence parallelism") {
  const ir::Model model = small_transformer();
  for (const double t : {1.0, 2.0, 4.0}) {
    const auto plain = lowered(model, 1, options(static_cast<std::int64_t>(t), false));
    const double both = volume(plain.forward(), Axis::tensor) + volume(plain.backward(), Axis::tensor);
    const double tensor_volume_closed_form = 8 * k_b * k_s * k_h * (t - 1) / t;
    REQUIRE(both == 2 * tensor_volume_closed_form);
    const auto split = lowered(model, 1, options(static_cast<std::int64_t>(t), true));
    // Forward as much as before: a gather and a scatter in place of each all-reduce.
    REQUIRE(volume(split.forward(), Axis::tensor) == volume(plain.forward(), Axis::tensor));
    // Backward the input of both column-parallel products once more.
    REQUIRE(volume(split.backward(), Axis::tensor) ==
            volume(plain.backward(), Axis::tensor) + 2 * (t - 1) / t * k_stream);
  }
  REQUIRE(transfers(lowered(model, 1, options(4, true)).backward()) == Sent{{k_gather, k_stream},
                                                                            {k_gather, k_stream},
                                                                            {k_scatter, k_stream},
                                                                            {k_gather, k_stream},
                                                                            {k_gather, k_stream},
                                                                            {k_scatter, k_stream}});
}

TEST_CASE("Inputs of products that stay gathered: 8 b s h (t-1)/t elements with sequence parallelism, too") {
  const ir::Model model = small_transformer();
  const auto keeping = [](std::int64_t t, bool sequence_parallel, bool vocab_parallel = false) {
    auto o = options(t, sequence_parallel, vocab_parallel);
    o.behaviour.keeps_gathered_inputs = true;
    return o;
  };
  for (const double t : {1.0, 2.0, 4.0}) {
    const auto n = static_cast<std::int64_t>(t);
    const auto shards = lowered(model, 1, options(n, true)), kept = lowered(model, 1, keeping(n, true));
    REQUIRE(transfers(kept.forward()) == transfers(shards.forward()));
    const double both = volume(kept.forward(), Axis::tensor) + volume(kept.backward(), Axis::tensor);
    const double tensor_volume_closed_form = 8 * k_b * k_s * k_h * (t - 1) / t;
    REQUIRE(both == 2 * tensor_volume_closed_form);
    // The outputs of both norms whole, in place of their shards.
    REQUIRE(kept.state().saved_bytes - shards.state().saved_bytes == 2 * (k_stream - k_stream / t));
    REQUIRE(kept.forward().profile.delta == kept.state().saved_bytes);
    // Without sequence parallelism nothing is gathered.
    const auto plain = lowered(model, 1, options(n, false)), same = lowered(model, 1, keeping(n, false));
    REQUIRE(transfers(same.forward()) == transfers(plain.forward()));
    REQUIRE(transfers(same.backward()) == transfers(plain.backward()));
    REQUIRE(same.state().saved_bytes == plain.state().saved_bytes);
  }
  const Sent gradients{{k_gather, k_stream}, {k_scatter, k_stream}, {k_gather, k_stream}, {k_scatter, k_stream}};
  REQUIRE(transfers(lowered(model, 1, keeping(4, true)).backward()) == gradients);

  // All again: what recomputation gathers stays for the derivatives.
  auto o = keeping(4, true);
  o.recompute_all = true;
  const auto again = lowered(model, 1, o);
  REQUIRE(again.state().saved_bytes == k_stream / 4);
  // The first derivative reads nothing that runs again.
  Sent expected = gradients;
  const Sent repeated = transfers(again.forward());
  expected.insert(expected.begin() + 1, repeated.begin(), repeated.end());
  REQUIRE(transfers(again.backward()) == expected);
  // Attention alone gathers nothing, and leaves its result out.
  o.recompute_all = false;
  o.recompute = {"attention"};
  REQUIRE(transfers(lowered(model, 1, o).backward()) == gradients);
  const double context = (k_stream + 4 * k_b * k_s * k_n) / 4;
  REQUIRE(lowered(model, 1, keeping(4, true)).state().saved_bytes - lowered(model, 1, o).state().saved_bytes ==
          context);
  // A norm that runs again is gathered again; its output and its scales are not kept.
  o.recompute = {"norm1"};
  REQUIRE(volume(lowered(model, 1, o).backward(), Axis::tensor) ==
          volume(lowered(model, 1, keeping(4, true)).backward(), Axis::tensor) + 3.0 / 4 * k_stream);
  REQUIRE(lowered(model, 1, keeping(4, true)).state().saved_bytes - lowered(model, 1, o).state().saved_bytes ==
          k_stream + 4 * k_b * k_s / 4);

  // The head's input is a norm's output, too: gathered forward, its gradient scattered backward.
  const auto head = lowered(model, 2, keeping(4, true, true));
  REQUIRE(transfers(head.forward()) == transfers(lowered(model, 2, options(4, true, true)).forward()));
  REQUIRE(transfers(head.backward()) == Sent{{k_scatter, k_stream}});
  // What the layer below made is gathered again: its shard is what is kept.
  const ir::Model products = two_products({.hidden = 16});
  REQUIRE(transfers(lowered(products, 0, keeping(4, true)).backward()) ==
          transfers(lowered(products, 0, options(4, true)).backward()));
}

// y sums over ranks and is a shard for a norm, then whole for products, whose sum z is a shard for the residual. What the
// communicator has used comes free late: of each sum the partial one, k_stream, and its shard, k_stream / t; of y, where
// it stays gathered, the gathered tensor as well.
TEST_CASE("A shard whose place a gathered tensor takes comes free late alone") {
  using namespace small_models;
  const Dim hidden{"hidden", extent(16)}, ffn{"ffn", extent(32)};
  constexpr auto k_format = numerics::Format::bf16;
  ir::Graph graph;
  const Indices all{at(0), at(1), at(2)};
  const ir::TensorId x = token_activation(graph, "x", hidden, k_format);
  graph.set_inputs({x});
  const ir::TensorId before = token_product(graph, "fc1", x, hidden, ffn, k_format);
  const ir::TensorId y = token_product(graph, "fc2", before, ffn, hidden, k_format);
  const ir::TensorId normed = token_activation(graph, "normed", hidden, k_format);
  append(graph, operation("norm", ir::Kind::reduce, {{"batch", batch()}, sequence_dim(), hidden}, 4.0, 7.0),
         {read(y, all), write(normed, all)}, {y});
  const ir::TensorId behind = token_product(graph, "fc3", y, hidden, ffn, k_format);
  const ir::TensorId z = token_product(graph, "fc4", behind, ffn, hidden, k_format);
  const ir::TensorId out = token_activation(graph, "out", hidden, k_format);
  append(graph, operation("residual", ir::Kind::pointwise, {{"batch", batch()}, sequence_dim(), hidden}, 1.0),
         {read(normed, all, ir::InputGradient::passed), read(z, all, ir::InputGradient::passed), write(out, all)});
  graph.set_outputs({out});
  graph.differentiate({.parameter_gradient = numerics::Format::fp32, .fused_accumulation = true});
  const ir::LayerClass layer{.name = "body", .position = ir::Position::body, .graph = std::move(graph)};

  const auto forward = [&](bool keeps) {
    auto o = options(4, true);
    o.recompute_all = true;  // so that y is workspace
    o.behaviour.records_reductions = true;
    o.behaviour.keeps_gathered_inputs = keeps;
    return plan::LayerLowering(layer, o).forward();
  };
  const program::Block shards = forward(false), kept = forward(true);
  REQUIRE(transfers(kept) ==
          Sent{{k_gather, k_stream}, {k_scatter, k_stream}, {k_gather, k_stream}, {k_scatter, k_stream}});
  REQUIRE(shards.recorded == 2 * (k_stream + k_stream / 4));
  REQUIRE(kept.recorded == shards.recorded + k_stream);
  // What is left besides: the same.
  REQUIRE(kept.profile.delta - kept.recorded == shards.profile.delta - shards.recorded);
}

TEST_CASE("Recomputation repeats the forward transfers") {
  const ir::Model model = small_transformer();
  for (const bool sequence_parallel : {false, true}) {
    auto o = options(4, sequence_parallel);
    const double forward = volume(lowered(model, 1, o).forward(), Axis::tensor);
    const double backward = volume(lowered(model, 1, o).backward(), Axis::tensor);
    o.recompute_all = true;
    REQUIRE(volume(lowered(model, 1, o).forward(), Axis::tensor) == forward);
    REQUIRE(volume(lowered(model, 1, o).backward(), Axis::tensor) == forward + backward);
    // Attention alone has none of its own.
    o.recompute_all = false;
    o.recompute = {"attention"};
    REQUIRE(volume(lowered(model, 1, o).backward(), Axis::tensor) == backward);
  }
  // What is recomputed, and nothing else, is reported so: 7 operators of attention's block's 9 have no region.
  auto o = options(1, false);
  o.recompute = {"attention"};
  const program::Block backward = lowered(model, 1, o).backward();
  int again = 0;
  for (const program::Step& step : backward.steps) again += step.term == program::Term::recompute;
  REQUIRE(again == 1);
  o.recompute_all = true;
  const program::Block everything = lowered(model, 1, o).backward();
  again = 0;
  for (const program::Step& step : everything.steps) again += step.term == program::Term::recompute;
  REQUIRE(again == static_cast<int>(model.classes[1].graph.forward_count()));
}

TEST_CASE("Vocabulary-parallel embedding and loss") {
  const ir::Model model = small_transformer();
  // The look-up is whole only after a sum; backward each rank scatters into its own rows.
  REQUIRE(transfers(lowered(model, 0, options(4, false, true)).forward()) == Sent{{k_reduce, k_stream}});
  REQUIRE(transfers(lowered(model, 0, options(4, false, true)).backward()).empty());
  REQUIRE(transfers(lowered(model, 0, options(4, true, true)).forward()) == Sent{{k_scatter, k_stream}});
  REQUIRE(transfers(lowered(model, 0, options(4, true, true)).backward()) == Sent{{k_gather, k_stream}});
  REQUIRE(lowered(model, 0, options(4, false, true)).state().parameter_elements() == k_v * k_h / 4);
  // Loss: the logits stay split, only the log-sum of each token (fp32) is made whole.
  const double per_token = 4 * k_b * k_s;
  REQUIRE(transfers(lowered(model, 2, options(4, false, true)).forward()) == Sent{{k_reduce, per_token}});
  REQUIRE(transfers(lowered(model, 2, options(4, false, true)).backward()) == Sent{{k_reduce, k_stream}});
  REQUIRE(transfers(lowered(model, 2, options(4, true, true)).forward()) ==
          Sent{{k_gather, k_stream}, {k_reduce, per_token}});
  REQUIRE(transfers(lowered(model, 2, options(4, true, true)).backward()) ==
          Sent{{k_gather, k_stream}, {k_scatter, k_stream}});
  // Not vocabulary-parallel: whole tables, and along the sequence each token's loss is a rank's own.
  for (const bool sequence_parallel : {false, true})
    for (const std::size_t end : {0, 2}) {
      REQUIRE(transfers(lowered(model, end, options(4, sequence_parallel)).forward()).empty());
      REQUIRE(transfers(lowered(model, end, options(4, sequence_parallel)).backward()).empty());
    }
}

TEST_CASE("Gradients that tensor-parallel ranks hold in parts") {
  const auto partial = [](const ir::Model& model, std::size_t layer, const plan::LayerOptions& o) {
    return lowered(model, layer, o).state().partial_elements.front();
  };
  const ir::Model model = small_transformer();
  // Two gains per block, one in the head, only where tokens are split.
  REQUIRE(partial(model, 1, options(4, false)) == 0);
  REQUIRE(partial(model, 1, options(4, true)) == 2 * k_h);
  REQUIRE(partial(model, 2, options(4, true, true)) == k_h);
  REQUIRE(partial(model, 1, options(1, true)) == 0);
  // Whole tables with split tokens.
  REQUIRE(partial(model, 0, options(4, true)) == k_v * k_h);
  REQUIRE(partial(model, 2, options(4, true)) == k_v * k_h + k_h);
  // A bias inside the row-parallel product: its gradient sums over tokens, not over what the product is split along.
  for (const bool fused : {true, false}) {
    const ir::Model biased = two_products({.hidden = 16, .bias = true, .fused_accumulation = fused});
    REQUIRE(partial(biased, 0, options(4, false)) == 0);
    REQUIRE(partial(biased, 0, options(4, true)) == k_h);
  }
  // A weight that no rule splits, its gradient written on its own first: still summed once per step, not per
  // micro-batch.
  TransformerOptions apart;
  apart.fused_accumulation = false;
  const ir::Model unfused = small_transformer(apart);
  REQUIRE(partial(unfused, 2, options(4, true)) == k_v * k_h + k_h);
  REQUIRE(transfers(lowered(unfused, 2, options(4, true)).backward()).empty());
}

TEST_CASE("Saved bytes of a transformer block") {
  const ir::Model model = small_transformer();
  for (const double t : {1.0, 2.0, 4.0}) {
    const auto n = static_cast<std::int64_t>(t);
    // x, norm1.out, residual1, norm2.out whole; qkv (3), context split by heads; fc1.out and its activation by ffn.
    // Statistics: two scales per token whole, a log-sum per head and token split.
    const double whole = 4 * k_stream;
    const double split = 4 * k_stream + 2 * 2 * k_b * k_s * k_f;
    const double token_statistics = 2 * 4 * k_b * k_s;
    const double head_statistics = 4 * k_b * k_s * k_n;
    const auto plain = lowered(model, 1, options(n, false));
    REQUIRE(plain.state().saved_bytes == whole + token_statistics + (split + head_statistics) / t);
    REQUIRE(plain.state().saved_statistic_bytes == token_statistics + head_statistics / t);
    const auto spread = lowered(model, 1, options(n, true));
    REQUIRE(spread.state().saved_bytes == (whole + token_statistics + split + head_statistics) / t);
    // The context and its statistic are made again.
    auto o = options(n, true);
    o.recompute = {"attention"};
    REQUIRE(lowered(model, 1, o).state().saved_bytes == (whole + token_statistics + split - k_stream) / t);
    o.recompute = {};
    o.recompute_all = true;
    REQUIRE(lowered(model, 1, o).state().saved_bytes == k_stream / t);
    // Held by the layer below, which keeps its own output: nothing but this layer's own.
    o.recompute_all = false;
    o.inputs_held = 1;
    REQUIRE(lowered(model, 1, o).state().saved_bytes ==
            (whole - k_stream + token_statistics + split + head_statistics) / t);
  }
}

TEST_CASE("Forward holds what is saved, backward gives it back, for every class and option") {
  std::vector<ir::Model> models{multilayer_perceptron(8, 16, 4), convolutional_network(8, 4, 4),
                                recurrent_network(5, 3, 2), two_products({.hidden = 16, .bias = true})};
  for (const bool in_place : {false, true})
    for (const bool fused : {false, true})
      models.push_back(small_transformer({.in_place = in_place, .fused_accumulation = fused}));
  for (const ir::Model& model : models)
    for (std::size_t layer = 0; layer < model.classes.size(); ++layer)
      for (const std::int64_t t : {1, 2, 4})
        for (int flags = 0; flags < 128; ++flags) {
          auto o = options(t, flags & 1, flags & 2);
          o.settings.overlap_tensor = flags & 4;
          o.inputs_held = flags & 8 ? 1 : 0;
          o.recompute_all = flags & 16;
          if (flags & 32) o.recompute = {"attention"};
          o.behaviour.keeps_gathered_inputs = flags & 64;
          const auto lowering = lowered(model, layer, o);
          INFO(model.name << " " << model.classes[layer].name << " t " << t << " flags " << flags);
          const program::MemoryProfile forward = lowering.forward().profile;
          const program::MemoryProfile backward = lowering.backward().profile;
          REQUIRE(forward.delta == lowering.state().saved_bytes);
          REQUIRE(forward.delta + backward.delta == 0.0);
          REQUIRE(forward.peak >= forward.delta);
          REQUIRE(backward.peak >= 0.0);
          // No single release exceeds what is held: memory never falls below what was there on entry.
          double held = 0.0;
          for (const program::MemoryEvent& event : lowering.forward().memory) {
            held += event.bytes;
            REQUIRE(held >= 0.0);
          }
          for (const program::MemoryEvent& event : lowering.backward().memory) {
            held += event.bytes;
            REQUIRE(held >= 0.0);
          }
        }
}

TEST_CASE("A layer with two outputs keeps one of them: the layer above holds the other itself") {
  const ir::Model model = recurrent_network(5, 3, 2);
  plan::LayerOptions o = options(1, false);
  const auto body = lowered(model, 1, o);
  // Outputs h and c; the cell's derivative reads the new c.
  REQUIRE(body.state().kept_outputs == 2);
  o.inputs_held = 2;
  // b = 2, 3 units, fp32: without the input c.
  REQUIRE(body.state().saved_bytes - lowered(model, 1, o).state().saved_bytes == 4 * 2 * 3);
}
