// Random models and random settings that fit them.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "cairn/plan/lowering.h"
#include "support/spine_models.h"

namespace cairn::testing {

inline std::int64_t between(core::Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(high - low + 1)));
}
inline bool coin(core::Random& random) { return random.below(2) == 0; }

inline ir::Model random_model(core::Random& random) {
  const std::int64_t body = between(random, 1, 9);
  const bool fused = coin(random);
  switch (random.below(6)) {
    case 0:
      return multilayer_perceptron(8, 16, 4, {.body_layers = body, .fused_accumulation = fused});
    case 2:
      return recurrent_network(4, 8, 4, {.body_layers = body, .fused_accumulation = fused});
    case 1:
      return convolutional_network(8, 4, 4, {.body_layers = body, .fused_accumulation = fused});
    default:
      return small_transformer({.body_layers = body,
                                .hidden = 16,
                                .heads = 4,
                                .ffn = 32,
                                .vocab = 64,
                                .tied = coin(random),
                                .row_bias = coin(random),
                                .in_place = coin(random),
                                .fused_accumulation = fused});
  }
}

inline plan::ParameterTreatment random_treatment(core::Random& random) {
  plan::ParameterTreatment treatment;
  // Of what came later, so that all else stays as it was drawn.
  constexpr std::uint64_t k_seeds = 1'000'000;
  core::Random copy = random, later(copy.below(k_seeds));
  if (coin(random)) treatment.gradients = numerics::Format::bf16;
  if (coin(random)) treatment.master.reset();
  treatment.moments = static_cast<int>(between(random, 0, 2));
  treatment.step_end.gradient_reads = between(random, 0, 2);
  treatment.step_end.gradient_copy = coin(random);
  treatment.step_end.gradient_join = coin(random);
  treatment.step_end.gradient_scale = coin(random);
  treatment.step_end.separate_parameter_copy = coin(random);
  treatment.step_end.separate_kernels = coin(later);
  treatment.step_end.whole_gradients = coin(later);
  treatment.step_end.copies_to_buckets = coin(later);
  return treatment;
}

inline plan::FrameworkBehaviour random_behaviour(core::Random& random) {
  plan::FrameworkBehaviour behaviour;
  // Of what came later, so that all else stays as it was drawn.
  constexpr std::uint64_t k_seeds = 1'000'000;
  core::Random copy = random, later(copy.below(k_seeds));
  behaviour.scatter_sends = coin(random);
  behaviour.host_waits = static_cast<plan::HostWaits>(random.below(3));
  behaviour.host_waits_for_computation = coin(random);
  behaviour.issues_per_peer = coin(random);
  behaviour.records_reductions = coin(random);
  behaviour.reduce_whole_gradients = coin(random);
  behaviour.holds_buckets = coin(random);
  behaviour.recompute_ends = coin(random);
  behaviour.keeps_unread_products = coin(random);
  behaviour.held_results = between(random, 0, 3);
  behaviour.copies_gathered = coin(later);
  behaviour.keeps_root_gathered = coin(later);
  behaviour.pads_gradients = coin(later);
  behaviour.divides_gradients = coin(later);
  behaviour.keeps_gathered_inputs = coin(later);
  behaviour.issues_per_peer_across = coin(later);
  behaviour.eager_joins = coin(later);
  behaviour.waits_for_attention = coin(later);
  behaviour.awaits_offloaded_gradients = coin(later);
  behaviour.returns_offloaded_gradients = coin(later);
  behaviour.repeats_attention = coin(later);
  return behaviour;
}

// `layers` cut into `parts` at random places; now and then, and where there are too few, any part may be empty, else
// those at the ends alone.
inline std::vector<std::int64_t> random_cut(core::Random& random, std::int64_t layers, std::int64_t parts) {
  const bool any = parts - 2 > layers || random.below(4) == 0;
  std::vector<std::int64_t> result(static_cast<std::size_t>(parts), any ? 0 : 1);
  result.front() = result.back() = 0;
  for (std::int64_t left = layers - (any ? 0 : std::max<std::int64_t>(0, parts - 2)); left > 0; --left)
    ++result[static_cast<std::size_t>(between(random, 0, parts - 1))];
  return result;
}

// Names of operators of body layers.
inline std::vector<std::string> random_operators(core::Random& random, const ir::Model& model) {
  std::vector<std::string> names;
  const auto layer = std::find_if(model.classes.begin(), model.classes.end(),
                                  [](const ir::LayerClass& each) { return each.position == ir::Position::body; });
  const ir::Graph& body = layer->graph;
  for (std::size_t id = 0; id < body.forward_count(); ++id)
    if (coin(random)) names.push_back(body.operators()[id].name);
  return names;
}

inline void random_recompute(core::Random& random, const ir::Model& model, plan::Strategy& s) {
  s.recompute = static_cast<plan::Recompute>(random.below(5));
  if (s.recompute == plan::Recompute::operators) s.recompute_operators = random_operators(random, model);
  s.share_saved_inputs = coin(random);
  s.recompute_layers.count = between(random, 1, 4);
  const bool shares_weights = model.name == "recurrent network";
  switch (random.below(4)) {
    case 0:
      s.recompute_layers.method = plan::RecomputeMethod::block;
      break;
    case 1:
      if (s.recompute == plan::Recompute::full && !shares_weights)
        s.recompute_layers.method = plan::RecomputeMethod::uniform;
      break;
    case 2:
      s.recompute_layers.ranges = {{.first = 0, .last = between(random, 0, model.body_layers() - 1)}};
      break;
    default:
      break;
  }
}

// What is sharded, fetched and offloaded, on top of a strategy.
inline void random_units(core::Random& random, plan::Strategy& s) {
  const auto home = [&] { return static_cast<plan::Home>(random.below(3)); };
  s.sharded = static_cast<plan::Sharded>(random.below(4));
  if (s.sharded != plan::Sharded::nothing && coin(random)) s.shard = s.data % 2 == 0 ? between(random, 1, 2) : s.data;
  s.prefetch = between(random, 0, 2);
  s.reshard_after_forward = coin(random);
  s.reduce_every_micro_batch = coin(random);
  if (coin(random)) return;
  s.offload.activations = home();
  s.offload.optimizer = home();
  if (s.sharded == plan::Sharded::nothing || s.sharded == plan::Sharded::parameters) s.offload.parameters = home();
  if (s.offload.parameters != plan::Home::device) s.reshard_after_forward = true;
  s.subgroup_elements = coin(random) ? 100.0 : 1e6;
  s.device_every = between(random, 0, 3);
  s.offload.update_in_backward = s.offload.optimizer != plan::Home::device && coin(random);
  s.offload.gradients_in_place = s.offload.optimizer != plan::Home::device && coin(random);
  if (s.pipeline * s.chunks == 1) s.offload.resident_units = between(random, 0, 3);
}

inline plan::Strategy random_strategy(core::Random& random, const ir::Model& model) {
  const std::int64_t body_layers = model.body_layers();
  // Layers that all share their weights can live on two stages at most.
  const std::int64_t most_stages = model.name == "recurrent network" ? 2 : 4;
  plan::Strategy s;
  s.tensor = std::int64_t{1} << random.below(3);
  s.data = between(random, 1, 4);
  // Its tokens do not need each other. Halves of what is left of them are whole on every rank.
  if (model.name == "two products" && s.tensor < 4) s.context = between(random, 1, 2);
  s.micro_batch = between(random, 1, 2);
  const char* kinds[] = {"gpipe", "1f1b", "interleaved-1f1b"};
  s.schedule = kinds[random.below(3)];
  s.pipeline = between(random, 1, most_stages);
  s.micro_batches = between(random, 1, 8);
  if (s.schedule == "interleaved-1f1b") {
    if (s.pipeline < 2) {
      s.schedule = "1f1b";
    } else {
      s.chunks = between(random, 2, 3);
      s.micro_batches = s.pipeline * between(random, 1, 3);
    }
  }
  s.stage_layers = random_cut(random, body_layers, s.pipeline * s.chunks);
  if (coin(random))
    s.order = {program::Axis::pipeline, program::Axis::data, program::Axis::context, program::Axis::tensor};
  s.sequence_parallel = coin(random);
  s.vocab_parallel = coin(random);
  s.sharded = coin(random) ? plan::Sharded::optimizer : plan::Sharded::nothing;
  random_recompute(random, model, s);
  s.overlap_gradient_reduce = coin(random);
  s.overlap_parameter_gather = coin(random);
  s.overlap_tensor = coin(random);
  s.overlap_sends = coin(random);
  s.asynchronous_tensor = coin(random);
  s.tensor_pieces.kind = static_cast<plan::TensorPieces::Kind>(random.below(4));
  s.tensor_pieces.count = std::int64_t{1} << between(random, 1, 2);
  const double buckets[] = {0.0, 1.0, 2048.0, 8192.0, 1e6};
  s.bucket_bytes = buckets[random.below(5)];
  if (coin(random) && s.recompute_layers.method != plan::RecomputeMethod::uniform) random_units(random, s);
  return s;
}

// Attention of a transformer whose kernel keeps its scores on chip.
struct SharedHeads {
  std::int64_t tokens = 0;  // of a sequence
  std::int64_t heads = 1;   // of all tensor-parallel ranks, as many of keys
};

// Now and then some ranks share every sequence, by any scheme that can.
inline void random_context(core::Random& random, plan::Strategy& s, const SharedHeads& attention) {
  if (random.below(2) == 0 || attention.heads % s.tensor != 0) return;
  const std::int64_t heads = attention.heads / s.tensor;
  const sequence::Problem problem{.tokens = attention.tokens, .heads = heads, .kv_heads = heads};
  const std::int64_t ranks = std::int64_t{1} << between(random, 1, 3);
  const auto schemes = sequence::schemes();
  for (int tried = 0; tried < 4; ++tried) {
    const sequence::Scheme& scheme = schemes[random.below(schemes.size())];
    const std::vector<sequence::Grid> grids = scheme.grids(ranks);
    if (grids.empty()) continue;
    const sequence::Grid& grid = grids[random.below(grids.size())];
    if (scheme.refusal(problem, grid)) continue;
    s.context = ranks;
    s.attention = {.scheme = &scheme, .grid = grid};
    if (s.tensor_pieces.kind == plan::TensorPieces::Kind::halves) s.tensor_pieces = {};
    return;
  }
}

// Experts spread over some of the ranks of tensor x context x data, of which each routes tokens of its own.
inline void random_experts(core::Random& random, plan::Strategy& s) {
  const std::int64_t ranks = s.tensor * s.context * s.data;
  const auto fits = [&](std::int64_t experts) { return ranks % experts == 0; };
  s.sequence_parallel = true;
  s.expert = s.expert_tensor = 1;
  while (s.expert < 16 && fits(2 * s.expert) && random.below(4) != 0) s.expert *= 2;
  if (fits(2 * s.expert) && coin(random)) s.expert_tensor = 2;
  s.bilevel_experts = coin(random);
  s.overlap_experts = coin(random);
  s.expert_domain_limit = between(random, 0, 2);
  s.experts = s.expert * between(random, 1, 4);
  s.expert_copies = between(random, 1, 4);
  s.merged_copies = coin(random);
  s.expert_order = {program::Axis::expert_tensor, program::Axis::expert, program::Axis::expert_data};
  if (coin(random)) std::swap(s.expert_order.front(), s.expert_order.back());
  const bool inner = s.order.front() == program::Axis::pipeline;
  s.expert_order.insert(inner ? s.expert_order.begin() : s.expert_order.end(), program::Axis::pipeline);
}

// What a schedule's side rows move is theirs alone: settings that would move it as well make room for them.
inline void make_room_for_side_rows(const pipeline::Schedule& schedule, plan::Strategy& s) {
  const auto runs = [&](pipeline::Phase phase) {
    return std::any_of(schedule.operations.begin(), schedule.operations.end(),
                       [phase](const auto& operation) { return operation.phase == phase; });
  };
  if (runs(pipeline::Phase::offload)) s.offload.activations = plan::Home::device;
  if (!runs(pipeline::Phase::communication)) return;
  s.sharded = s.sharded == plan::Sharded::nothing ? plan::Sharded::nothing : plan::Sharded::parameters;
  s.reshard_after_forward = true;
  s.offload.parameters = s.offload.optimizer = plan::Home::device;
  s.offload.update_in_backward = s.offload.gradients_in_place = false;
}

// Options that a kind takes, at random.
inline pipeline::Settings random_schedule_options(core::Random& random, const pipeline::Generator& kind) {
  pipeline::Settings options;
  if ((kind.options & pipeline::takes::k_waves) != 0) options.waves = static_cast<std::int32_t>(between(random, 1, 2));
  if ((kind.options & pipeline::takes::k_memory_limit) != 0 && coin(random))
    options.memory_limit = static_cast<std::int32_t>(between(random, 1, 6));
  if ((kind.options & pipeline::takes::k_weight_gradients) != 0 && coin(random))
    options.weight_gradients = pipeline::WeightGradients::fill;
  if ((kind.options & pipeline::takes::k_pipelines) != 0 && coin(random)) options.pipelines = 4;
  if ((kind.options & pipeline::takes::k_continuation) != 0 && coin(random))
    options.continuation = pipeline::Continuation::double_forward;
  if ((kind.options & pipeline::takes::k_group) != 0 && coin(random))
    options.group = static_cast<std::int32_t>(between(random, 1, 4));
  if ((kind.options & pipeline::takes::k_reorder) != 0) options.reorder = coin(random);
  if ((kind.options & pipeline::takes::k_durations) != 0)
    options.durations = {.forward = between(random, 1, 4),
                         .input_gradient = between(random, 1, 4),
                         .weight_gradient = between(random, 1, 4),
                         .delay = between(random, 0, 2)};
  return options;
}

// A random strategy under a schedule of this kind; nothing when the one drawn does not take the kind. `longer`: times
// the micro-batches of a short step.
inline std::optional<plan::Strategy> random_strategy(core::Random& random, const ir::Model& model,
                                                     const pipeline::Generator& kind, std::int64_t longer = 1) {
  plan::Strategy s = random_strategy(random, model);
  s.schedule = kind.kind;
  s.schedule_options = random_schedule_options(random, kind);
  s.pipeline = model.name == "recurrent network" ? 2 : 2 * between(random, 1, 2);
  s.micro_batches = s.pipeline * between(random, 1, 4) * longer;
  const bool chunked = (kind.options & pipeline::takes::k_chunks) != 0;
  s.chunks = chunked ? between(random, 1, 2) : 1;
  std::int64_t passed = 0;
  try {
    const pipeline::Schedule schedule = pipeline::generate(kind.kind, plan::schedule_settings(s));
    passed = schedule.chain_length;
    const bool updates = schedule.operations.back().phase == pipeline::Phase::optimizer;
    s.reshard_after_forward = s.reshard_after_forward || updates;  // what updates change is gathered again
    make_room_for_side_rows(schedule, s);
  } catch (const core::ConfigurationError&) {
    return std::nullopt;
  }
  s.stage_layers = random_cut(random, model.body_layers(), passed);
  s.offload.resident_units = 0;
  if (!kind.splits) return s;
  if (s.tensor_pieces.kind == plan::TensorPieces::Kind::halves) s.tensor_pieces.kind = plan::TensorPieces::Kind::none;
  return s;
}

inline constexpr std::int64_t k_random_plan_sequence = 8;

// `domain`: 0 for all ranks, or those joined by the fastest links.
inline plan::Lowering random_lowering(core::Random& random, const ir::Model& model, std::int64_t domain = 0,
                                      std::int64_t sequence = k_random_plan_sequence) {
  const plan::ParameterTreatment treatment = random_treatment(random);
  return plan::Lowering(model, sequence, treatment, domain, random_behaviour(random));
}

// A random model, settings that fit it, and the Program of both.
struct RandomPlan {
  explicit RandomPlan(std::uint64_t seed)
      : random(seed),
        model(random_model(random)),
        lowering(random_lowering(random, model)),
        strategy(random_strategy(random, model)),
        program(lowering.lower(strategy)) {}
  core::Random random;
  ir::Model model;
  plan::Lowering lowering;
  plan::Strategy strategy;
  const program::Program& program;
};

}  // namespace cairn::testing
