#include "cairn/experiment/experiment.h"

#include "cairn/sequence/other_scheme.h"
#include "cairn/sequence/scheme.h"
#include "stage_layout.h"

namespace cairn::experiment {
namespace {

using config::Fields;
using config::Form;
using config::Value;

constexpr std::string_view k_kind = "experiments";
constexpr std::string_view k_result = "cairn.run/1";

// Outside the namespace's describe overloads so that each stays a plain list of keys.
const std::vector<std::string>& axis_names() {
  static const std::vector<std::string> names{"tp", "cp", "dp", "pp"};
  return names;
}
const std::vector<std::string>& expert_axis_names() {
  static const std::vector<std::string> names{"etp", "ep", "edp", "pp"};
  return names;
}

}  // namespace

void describe(Value& value, GlobalBatch& batch) {
  value.one_of(
      batch.tokens > 0.0 ? 1 : 0,
      {{Form::number, [&](Value& v) { v.count(batch.sequences, {.minimum = 1}); }},
       {Form::word, [&](Value& v) { v.quantity(batch.tokens, config::Dimension::tokens, {.positive = true}); }}});
}

void describe(Value& value, TokenCount& count) {
  value.one_of(
      0, {{Form::number, [&](Value& v) { v.number(count.tokens, {.positive = true}); }},
          {Form::word, [&](Value& v) { v.quantity(count.tokens, config::Dimension::tokens, {.positive = true}); }}});
}

const config::Choices<Optimizer>& optimizers() {
  static const config::Choices<Optimizer> choices{
      {"adam", Optimizer::adam},           {"adamw", Optimizer::adamw},       {"sgd", Optimizer::sgd},
      {"adafactor", Optimizer::adafactor}, {"adam8bit", Optimizer::adam8bit}, {"sgd8bit", Optimizer::sgd8bit}};
  return choices;
}
void describe(Fields& fields, OptimizerChoice& optimizer) {
  fields.choice("kind", optimizer.kind, optimizers(), {.doc = "which optimizer", .required = true});
  fields.count("block", optimizer.block,
               {.doc = "8-bit ones: elements that share a scale, 256 or 2048", .minimum = 256, .maximum = 2048});
  fields.check(
      "block", [&] { return optimizer.block == 256 || optimizer.block == 2048; }, "no optimizer keeps such blocks",
      "use 256 or 2048");
}
void describe(Value& value, OptimizerChoice& optimizer) {
  const bool in_blocks = optimizer.kind == Optimizer::adam8bit || optimizer.kind == Optimizer::sgd8bit;
  value.one_of(in_blocks ? 1 : 0, {{Form::word, [&](Value& v) { v.choice(optimizer.kind, optimizers()); }},
                                   {Form::map, [&](Value& v) { v.object(optimizer); }}});
}

namespace {

// The map `training` holds settings, and the names of the software.
void describe_training(Fields& fields, Experiment& experiment) {
  Training& training = experiment.training;
  fields.count("seq_len", training.seq_len,
               {.doc = "tokens per sequence", .required = true, .minimum = 1, .maximum = k_longest_sequence});
  fields.value("global_batch", training.global_batch,
               {.doc = "sequences per optimizer step, or tokens as in '4 Mi tokens'", .required = true});
  fields.value("tokens", training.tokens,
               {.doc = "tokens of the whole training, as in 15e12 or '15 T tokens': the answer then says its days, "
                       "accelerator hours and price"});
  fields.node(
      "precision", experiment.precision,
      {.doc = "recipe of configs/precision, or {recipe, overriding keys}, see `cairn schema precision`; default bf16"});
  fields.value(
      "optimizer", training.optimizer,
      {.doc =
           "adam, adamw (adam's state and bytes: the fused kernel decays the parameter that it holds), sgd, adafactor, "
           "adam8bit, sgd8bit, or {kind, block}"});
  fields.node("framework", experiment.framework,
              {.doc = "profile of configs/frameworks, with a release as in megatron@2024, {file: ..., overriding "
                      "keys}, or the whole block; "
                      "default megatron"});
  fields.object("kernels", training.kernels, {.doc = "kernels that differ from the framework's"});
}

}  // namespace

void describe(Value& value, Stages& stages) {
  const std::size_t by_counts_or_rule = stages.layers.empty() ? 0 : 2;
  value.one_of(
      stages.layout.empty() ? by_counts_or_rule : 1,
      {{Form::word,
        [&](Value& v) {
          v.choice(stages.rule,
                   {{"even", StageRule::even}, {"balanced", StageRule::balanced}, {"by-weight", StageRule::by_weight}});
        }},
       {Form::notation, [&](Value& v) { v.notation(stages.layout, k_stage_layout); }},
       {Form::list, [&](Value& v) { v.counts(stages.layers, {.minimum = 0}); }}});
}

void describe(Fields& fields, OffloadChoice& offload) {
  const config::Choices<Place> places{{"host", Place::host}, {"nvme", Place::nvme}};
  fields.choice("policy", offload.policy,
                {{"zero-offload", OffloadPolicy::zero_offload},
                 {"zero-infinity", OffloadPolicy::zero_infinity},
                 {"patrickstar", OffloadPolicy::patrickstar},
                 {"interleaved", OffloadPolicy::interleaved},
                 {"fuyou", OffloadPolicy::fuyou},
                 {"superpipeline", OffloadPolicy::superpipeline}},
                {.doc = "a published system: what it offloads, for keys left out, and how it updates"});
  fields.choice("optimizer", offload.optimizer, places,
                {.doc = "home of master copy and moments; the host's cores update"});
  fields.choice("parameters", offload.parameters, places,
                {.doc = "home of parameters between their uses: stage 3 or 0"});
  fields.choice("activations", offload.activations, places, {.doc = "home of what body layers keep for backward"});
  fields.count("resident", offload.resident,
               {.doc = "units whose offloaded parameters stay on the device; patrickstar: what fits"});
  fields.number("subgroup", offload.subgroup, {.doc = "parameters updated together, default 100e6", .minimum = 1.0});
  fields.count(
      "every", offload.every,
      {.doc = "interleaved: of so many subgroups one is updated on the device; default: balanced", .minimum = 1});
}

void describe(Fields& fields, Zero& zero) {
  fields.count(
      "stage", zero.stage,
      {.doc = "kept in shards: 0 nothing, 1 optimizer state, 2 gradients too, 3 parameters too", .maximum = 3});
  fields.count("shard", zero.shard, {.doc = "ranks that split a copy among them; default: dp", .minimum = 1});
  fields.count("replicate", zero.replicate, {.doc = "copies; shard x replicate = dp", .minimum = 1});
  fields.count("prefetch", zero.prefetch,
               {.doc = "units fetched ahead of the one that computes; default: the framework's", .maximum = 2});
  fields.flag("reshard_after_forward", zero.reshard_after_forward,
              {.doc = "gathered parameters are given up between forward and backward"});
  fields.object("offload", zero.offload, {.doc = "what lives in the host's memory or on drives between its uses"});
}
void describe(Value& value, Zero& zero) {
  value.shorthand(Form::number, zero, [&](Value& v) { v.count(zero.stage, {.maximum = 3}); });
}

const config::Choices<RecomputeKind>& recompute_kinds() {
  static const config::Choices<RecomputeKind> choices{{"none", RecomputeKind::none},
                                                      {"attention", RecomputeKind::attention},
                                                      {"selective", RecomputeKind::attention},
                                                      {"per-op", RecomputeKind::per_op},
                                                      {"full", RecomputeKind::full}};
  return choices;
}
void describe(Fields& fields, Recompute& recompute) {
  fields.choice("kind", recompute.kind, recompute_kinds(), {.doc = "what runs again in backward"});
  fields.texts("operators", recompute.operators,
               {.doc = "operators that run again, by name or region; in place of kind"});
  fields.texts("layers", recompute.layers,
               {.doc = "layers that recompute, counted from 0, as in [0..39, 60]; default: all"});
  fields.choice(
      "method", recompute.method, {{"uniform", RecomputeMethod::uniform}, {"block", RecomputeMethod::block}},
      {.doc = "uniform: groups of `count` layers of which only the input is kept; block: the first `count` layers of "
              "every virtual stage"});
  fields.count("count", recompute.count, {.doc = "layers of a group or block", .minimum = 1, .maximum = 1 << 16});
  fields.flag("share_saved_inputs", recompute.share_saved_inputs,
              {.doc = "tensor-parallel ranks each keep a share of a layer's input; default: the framework's"});
  fields.check(
      "kind", [&] { return recompute.kind == RecomputeKind::none || !recompute.operators; }, "beside operators",
      "leave one of them out");
  fields.check(
      "count", [&] { return recompute.method || !recompute.count; }, "without a method",
      "say method: uniform or block");
}
void describe(Value& value, Recompute& recompute) {
  value.shorthand(Form::word, recompute, [&](Value& v) { v.choice(recompute.kind, recompute_kinds()); });
}

void describe(Fields& fields, AttentionChoice& attention) {
  constexpr std::int64_t k_most = std::int64_t{1} << 24;
  fields.name("scheme", attention.scheme, sequence::scheme_names(), sequence::other_use,
              {.doc = "any of `cairn attention --list`", .required = true});
  fields.count(
      "heads", attention.heads,
      {.doc = "ranks that split the heads; the other factor of cp shares tokens", .minimum = 1, .maximum = k_most});
  fields.list("grid", attention.grid, {.doc = "rows and columns of a 2-d scheme", .maximum_size = 2},
              [](Value& v, std::int64_t& side) { v.count(side, {.minimum = 1, .maximum = k_most}); });
  fields.check(
      "grid", [&] { return attention.grid.empty() || attention.grid.size() == 2; }, "is not rows and columns",
      "write two numbers, as in [4, 2]");
  fields.count("window", attention.window,
               {.doc = "ranks of the inner ring of a double ring", .minimum = 1, .maximum = k_most});
  fields.flag("heads_inner", attention.heads_inner,
              {.doc = "true: neighbouring ranks split heads; false: they share tokens"});
  fields.flag("fp32_gradients", attention.fp32_gradients,
              {.doc = "whether dQ, dK and dV travel in fp32, not in 16 bits; default: the framework's"});
}
void describe(Value& value, AttentionChoice& attention) {
  value.shorthand(Form::word, attention,
                  [&](Value& v) { v.name(attention.scheme, sequence::scheme_names(), sequence::other_use); });
}

void describe(Fields& fields, ScheduleChoice& schedule) {
  constexpr std::int64_t k_most = 1 << 16;
  fields.text("kind", schedule.kind,
              {.doc = "any of `cairn schedule --list`, with the options that it lists", .required = true});
  fields.count(
      "chunks", schedule.chunks,
      {.doc = "virtual stages per device, where the kind leaves them to choose", .minimum = 1, .maximum = k_most});
  fields.count("waves", schedule.waves,
               {.doc = "times a micro-batch sweeps down and up over the devices", .minimum = 1, .maximum = k_most});
  fields.count("pipelines", schedule.pipelines,
               {.doc = "pipelines in both directions together", .minimum = 2, .maximum = k_most});
  fields.count("group", schedule.group,
               {.doc = "micro-batches that are taken together", .minimum = 1, .maximum = k_most});
  fields.count("memory_limit", schedule.memory_limit,
               {.doc = "micro-batches whose activations a device holds at most", .minimum = 1, .maximum = k_most});
  fields.choice("weight_grads", schedule.weight_gradients,
                {{"last", pipeline::WeightGradients::last}, {"fill", pipeline::WeightGradients::fill}},
                {.doc = "when split weight gradients run: last, or wherever a device would wait"});
  fields.flag("reorder", schedule.reorder, {.doc = "whether the order of a building block is improved on"});
  fields.choice("continuation", schedule.continuation,
                {{"concatenate", pipeline::Continuation::concatenate},
                 {"double-forward", pipeline::Continuation::double_forward},
                 {"halve-backward", pipeline::Continuation::halve_backward}},
                {.doc = "how pipelines in both directions take more micro-batches than stages"});
  fields.choice("vocabulary", schedule.vocabulary,
                {{"whole", pipeline::Vocabulary::whole},
                 {"vocab-1", pipeline::Vocabulary::one},
                 {"vocab-2", pipeline::Vocabulary::two},
                 {"interlaced", pipeline::Vocabulary::interlaced}},
                {.doc = "how the stages share the output layer; a step takes whole alone"});
}
void describe(Value& value, ScheduleChoice& schedule) {
  value.shorthand(Form::word, schedule, [&](Value& v) { v.text(schedule.kind); });
}

void describe(Fields& fields, DataOverlap& overlap) {
  fields.flag("reduce", overlap.reduce, {.doc = "gradient reduction beside the last backward pass"});
  fields.flag("gather", overlap.gather, {.doc = "parameter gathers beside the first forward pass"});
  fields.quantity("bucket", overlap.bucket, {.doc = "gradients reduced together", .positive = true});
}
void describe(Value& value, DataOverlap& overlap) {
  value.one_of(1, {{Form::flag,
                    [&](Value& v) {
                      bool both = overlap.reduce.value_or(false);
                      v.flag(both);
                      overlap.reduce = both;
                      overlap.gather = both;
                    }},
                   {Form::map, [&](Value& v) { v.object(overlap); }}});
}
void describe(Fields& fields, TensorOverlap& overlap) {
  fields.flag("beside", overlap.beside,
              {.doc = "input-gradient transfers beside the weight gradient; default: the framework's"});
  fields.choice(
      "kind", overlap.kind,
      {{"chunked", TensorOverlapKind::chunked}, {"t3", TensorOverlapKind::t3}, {"iso", TensorOverlapKind::iso}},
      {.doc = "chunked: products and their transfers in pieces, Megatron-LM's tp-comm-overlap; t3: results reduced as "
              "the kernel makes them; iso: two "
              "halves of the sequence take turns"});
  fields.count("chunks", overlap.chunks,
               {.doc = "chunked: pieces of each product; default 4", .minimum = 2, .maximum = 1 << 10});
  fields.check(
      "chunks", [&] { return !overlap.chunks || overlap.kind == TensorOverlapKind::chunked; }, "without kind: chunked",
      "say kind: chunked");
}
void describe(Value& value, TensorOverlap& overlap) {
  value.one_of(1, {{Form::flag,
                    [&](Value& v) {
                      bool beside = overlap.beside.value_or(false);
                      v.flag(beside);
                      overlap.beside = beside;
                    }},
                   {Form::map, [&](Value& v) { v.object(overlap); }}});
}
const config::Choices<ExpertOverlapKind>& expert_overlaps() {
  static const config::Choices<ExpertOverlapKind> choices{{"none", ExpertOverlapKind::none},
                                                          {"shared", ExpertOverlapKind::shared},
                                                          {"two-batch", ExpertOverlapKind::two_batch}};
  return choices;
}
void describe(Fields& fields, ExpertOverlap& overlap) {
  fields.choice("kind", overlap.kind, expert_overlaps(), {.doc = "beside what routed tokens travel", .required = true});
}
void describe(Value& value, ExpertOverlap& overlap) {
  value.one_of(1, {{Form::flag,
                    [&](Value& v) {
                      bool beside = overlap.kind != ExpertOverlapKind::none;
                      v.flag(beside);
                      overlap.kind = beside ? ExpertOverlapKind::shared : ExpertOverlapKind::none;
                    }},
                   {Form::map, [&](Value& v) { v.object(overlap); }}});
}
void describe(Fields& fields, Overlap& overlap) {
  fields.value("dp", overlap.dp, {.doc = "data-parallel collectives beside computation"});
  fields.value(
      "tp", overlap.tp,
      {.doc = "true, false: input-gradient transfers beside the weight gradient; {kind: chunked}: beside products"});
  fields.flag("pp", overlap.pp, {.doc = "pipeline messages beside computation"});
  fields.value("ep", overlap.ep, {.doc = "routed tokens travel beside shared experts, or {kind: two-batch}"});
}

void describe(Fields& fields, StrategyChoice& strategy) {
  constexpr std::int64_t k_most = std::int64_t{1} << 24;
  fields.count("tp", strategy.tp, {.doc = "tensor-parallel degree", .minimum = 1, .maximum = k_most});
  fields.count("cp", strategy.cp, {.doc = "context-parallel degree", .minimum = 1, .maximum = k_most});
  fields.value(
      "attention", strategy.attention,
      {.doc = "how ranks of cp share attention: a scheme of `cairn attention --list`, or {scheme, heads, grid, "
              "window, heads_inner, fp32_gradients}; default: the framework's"});
  fields.count("pp", strategy.pp, {.doc = "pipeline stages", .minimum = 1, .maximum = k_most});
  fields.count("dp", strategy.dp,
               {.doc = "data-parallel degree; default, and again with --set strategy.dp=null: what the cluster leaves",
                .minimum = 1,
                .maximum = k_most});
  fields.count("ep", strategy.ep, {.doc = "expert-parallel degree", .minimum = 1, .maximum = k_most});
  fields.count("etp", strategy.etp, {.doc = "tensor-parallel degree inside experts", .minimum = 1, .maximum = k_most});
  fields.list("order", strategy.order, {.doc = "mesh axes, inner to outer", .minimum_size = 4, .maximum_size = 4},
              [](Value& v, std::string& axis) { v.name(axis, axis_names()); });
  fields.list("expert_order", strategy.expert_order,
              {.doc = "axes of the experts' mesh, inner to outer", .minimum_size = 4, .maximum_size = 4},
              [](Value& v, std::string& axis) { v.name(axis, expert_axis_names()); });
  fields.count("micro_batch", strategy.micro_batch,
               {.doc = "sequences per micro-batch", .minimum = 1, .maximum = k_most});
  fields.count("micro_batches", strategy.micro_batches,
               {.doc = "of a step on one data-parallel rank; follows from global_batch, dp and micro_batch, and must "
                       "agree with them",
                .minimum = 1});
  fields.flag("sequence_parallel", strategy.sequence_parallel,
              {.doc = "norms and residuals split along the sequence over tp"});
  fields.flag("vocab_parallel", strategy.vocab_parallel, {.doc = "embedding and head split over tp; default: tp > 1"});
  fields.value(
      "stages", strategy.stages,
      {.doc =
           "even, balanced, by-weight, or what every virtual stage holds, in the order in which a micro-batch "
           "passes them: its layers as a list, [0, 1, ..., 1, 0], or Megatron-LM's layout, E|(t|)*126L (E embedding, "
           "t layer, m module for a further token, L head, | next stage, *n repeats); the first and the last hold "
           "embedding and head besides, and any may have no layer; default: the framework's"});
  fields.value(
      "zero", strategy.zero,
      {.doc = "what is kept in shards over dp: 0 nothing, 1 optimizer state, 2 gradients too, 3 parameters too"});
  fields.value("recompute", strategy.recompute,
               {.doc = "none, attention (selective), per-op, full, or {kind | operators, layers, method, count}"});
  fields.value("schedule", strategy.schedule, {.doc = "pipeline schedule, or {kind, chunks}"});
  fields.object("overlap", strategy.overlap,
                {.doc = "communication beside computation; keys left out come from the framework"});
}

void describe(Fields& fields, Fault& fault) {
  fields.count("rank", fault.rank, {.doc = "the rank that is slow", .required = true});
  fields.number("compute", fault.compute, {.doc = "its speed, 1 = as priced", .required = true, .positive = true});
  fields.quantity("from", fault.from, {.doc = "since when"});
  fields.quantity("until", fault.until, {.doc = "until when; default: the end"});
  fields.check(
      "until", [&] { return !fault.until || *fault.until > fault.from; }, "is not later than from",
      "give a later time, or leave it out: until the end");
  const auto reached = [](core::Seconds time) {
    return time.base() * core::k_picoseconds_per_second < static_cast<double>(core::k_reach);
  };
  const std::string beyond = "is later than simulated time reaches, " + core::reach_text();
  fields.check(
      "from", [&] { return reached(fault.from); }, beyond, "no step lasts so long: leave the fault out");
  fields.check(
      "until", [&] { return !fault.until || reached(*fault.until); }, beyond, "leave it out: until the end");
}
void describe(Fields& fields, Jitter& jitter) {
  fields.name("distribution", jitter.distribution, {"lognormal"}, {.doc = "of a computation's duration, mean 1"});
  fields.number("sigma", jitter.sigma, {.doc = "of the logarithm", .required = true, .maximum = 2.0});
}
void describe(Value& value, Jitter& jitter) {
  value.one_of(1, {{Form::word,
                    [&](Value& v) {
                      std::string none = "none";
                      v.name(none, {"none"});
                      jitter.sigma = 0.0;
                    }},
                   {Form::map, [&](Value& v) { v.object(jitter); }}});
}
void describe(Fields& fields, Simulation& simulation) {
  fields.flag("contention", simulation.contention,
              {.doc = "transfers that overlap share links; otherwise each has its links to itself"});
  fields.flag(
      "interference", simulation.interference,
      {.doc = "kernels and transfers that overlap share multiprocessors and memory; otherwise a collective takes the "
              "multiprocessors that it holds from kernels beside it, and nothing else"});
  fields.value("jitter", simulation.jitter, {.doc = "none, or {distribution: lognormal, sigma}"});
  fields.count("seed", simulation.seed, {.doc = "of every random choice"});
  fields.objects("faults", simulation.faults, {.doc = "ranks that are slow for a while"});
}

void describe(Fields& fields, Experiment& experiment) {
  std::int64_t version = 1;
  fields.count("version", version, {.doc = "of this format", .minimum = 1, .maximum = 1});
  fields.text("name", experiment.name, {.doc = "shown in reports"});
  fields.node("model", experiment.model,
              {.doc = "a name, {file | hf: ..., overriding keys}, or the whole block", .required = true});
  fields.node("cluster", experiment.cluster,
              {.doc = "a name, {file: ..., overriding keys}, or the whole block", .required = true});
  fields.value(
      "training", experiment, {.doc = "what one step is", .required = true},
      [](Value& value, Experiment& whole) { value.object([&](Fields& keys) { describe_training(keys, whole); }); });
  fields.object("strategy", experiment.strategy, {.doc = "how it is laid out"});
  fields.node(
      "calibration", experiment.calibration,
      {.doc = "of configs/calibration, {file: ..., overriding keys}, or the whole block; default: the accelerator's"});
  fields.object("simulation", experiment.simulation, {.doc = "event engine only"});
}

namespace {

// A result holds the experiment that it answers, which can be asked again.
const config::Node& experiment_of(const config::Node& node) {
  const config::Node* schema = node.find("schema");
  const config::Node* experiment = node.find("experiment");
  return schema != nullptr && schema->text == k_result && experiment != nullptr ? *experiment : node;
}

}  // namespace

LoadedExperiment read(const config::Node& node, const std::vector<std::string>& overrides) {
  core::Diagnostics diagnostics;
  config::Node root = experiment_of(node);
  const std::vector<std::pair<std::string, std::string>> shorthands{{"cluster", "file"},
                                                                    {"model", "file"},
                                                                    {"strategy.zero", "stage"},
                                                                    {"strategy.schedule", "kind"},
                                                                    {"strategy.recompute", "kind"},
                                                                    {"strategy.attention", "scheme"},
                                                                    {"training.precision", "recipe"}};
  for (const std::string& assignment : overrides) config::apply_override(root, assignment, diagnostics, shorthands);
  LoadedExperiment result;
  result.origins = config::read(root, result.experiment, diagnostics);
  diagnostics.raise_if_errors();
  if (node.place.file) result.home = std::filesystem::path(*node.place.file).parent_path();
  return result;
}

namespace {

// What `get` takes from the loader, and the files that this took.
template <class Get>
LoadedExperiment noting_sources(const config::Loader& loader, Get get, const std::vector<std::string>& overrides) {
  core::Diagnostics diagnostics;
  config::Sources sources;
  const config::Node whole = get(loader.noting(sources), diagnostics);
  diagnostics.raise_if_errors();
  LoadedExperiment result = read(whole, overrides);
  result.sources = std::move(sources);
  return result;
}

}  // namespace

LoadedExperiment load(const config::Loader& loader, const std::string& name,
                      const std::vector<std::string>& overrides) {
  core::Diagnostics diagnostics;
  const std::filesystem::path file = loader.find(name, k_kind, {}, {}, diagnostics);
  diagnostics.raise_if_errors();
  return load_file(loader, file, overrides);
}

LoadedExperiment read(const config::Loader& loader, const config::Node& node,
                      const std::vector<std::string>& overrides) {
  return noting_sources(
      loader,
      [&](const config::Loader& noting, auto& diagnostics) { return noting.extended(node, k_kind, diagnostics); },
      overrides);
}

LoadedExperiment load_file(const config::Loader& loader, const std::filesystem::path& file,
                           const std::vector<std::string>& overrides) {
  return noting_sources(
      loader, [&](const config::Loader& noting, auto& diagnostics) { return noting.load(file, diagnostics, k_kind); },
      overrides);
}

}  // namespace cairn::experiment
