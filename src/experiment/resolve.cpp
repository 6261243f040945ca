#include "resolve.h"

#include <array>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/cost/carried.h"
#include "cairn/models/huggingface.h"
#include "cairn/pipeline/balanced_split.h"
#include "cairn/plan/lowering.h"
#include "cairn/software/files.h"
#include "narrow.h"
#include "recompute.h"
#include "stage_layout.h"

namespace cairn::experiment {
namespace {

constexpr double k_most_sequences = 9007199254740992.0;  // 2^53: whole doubles up to it are exact

// The bare name under which configs/ knows the accelerator.
std::string accelerator_key(const config::Node& accelerator) {
  const config::Node* named = accelerator.is_map() ? accelerator.find("file") : &accelerator;
  if (named == nullptr || !named->is_scalar()) return {};
  return std::filesystem::path(named->text).stem().string();
}

class Resolver {
 public:
  Resolver(Resolved& resolved, core::Diagnostics& diagnostics)
      : r_(resolved),
        choice_(resolved.experiment.strategy),
        training_(resolved.experiment.training),
        diagnostics_(diagnostics) {}

  void run() {
    reject_unmodelled();
    if (diagnostics_.has_errors()) return;
    degrees();
    if (diagnostics_.has_errors()) return;
    experts();
    if (diagnostics_.has_errors()) return;
    batch();
    if (diagnostics_.has_errors()) return;
    kernels();
    overlap();
    r_.behaviour = r_.framework.whole_behaviour();
    treatment();
    stages();
    capabilities();
  }

 private:
  void error(const std::string& key, std::string message, std::string hint) {
    diagnostics_.add(r_.origins.error(key, std::move(message), std::move(hint)));
  }

  void reject_unmodelled() {
    const auto only_one = [&](const char* key, std::int64_t value) {
      if (value != 1)
        error(fmt::format("strategy.{}", key), fmt::format("{} above 1 is not modelled yet", key), "set it to 1");
    };
    only_one("cp", choice_.cp);
  }

  void degrees() {
    plan::Strategy& strategy = r_.strategy;
    strategy.tensor = choice_.tp;
    strategy.context = choice_.cp;
    strategy.pipeline = choice_.pp;
    strategy.micro_batch = choice_.micro_batch;
    strategy.chunks = choice_.schedule.chunks;
    strategy.schedule = choice_.schedule.kind;
    strategy.schedule_options = options(choice_.schedule);
    strategy.sequence_parallel = choice_.sequence_parallel;
    strategy.vocab_parallel = choice_.vocab_parallel.value_or(choice_.tp > 1);
    strategy.order = axes("order", choice_.order);
    strategy.expert_order = axes("expert_order", choice_.expert_order);
    const std::int64_t gpus = r_.machine.network.gpus();
    const std::int64_t inner = choice_.tp * choice_.cp * choice_.pp;
    if (choice_.dp) {
      strategy.data = *choice_.dp;
      if (inner * *choice_.dp != gpus)
        error("strategy.dp",
              fmt::format("tp {} x pp {} x dp {} = {} ranks, but the cluster has {} accelerators", choice_.tp,
                          choice_.pp, *choice_.dp, inner * *choice_.dp, gpus),
              gpus % inner == 0 ? fmt::format("use dp: {}, or leave dp out", gpus / inner)
                                : fmt::format("choose degrees whose product is {}", gpus));
    } else if (gpus % inner != 0) {
      error("strategy.tp",
            fmt::format("tp {} x pp {} = {} does not divide the cluster's {} accelerators", choice_.tp, choice_.pp,
                        inner, gpus),
            fmt::format("choose degrees whose product divides {}", gpus));
    } else {
      strategy.data = gpus / inner;
    }
    if (const std::int64_t ways = r_.transformer.ways; ways > 1 && ways % choice_.tp != 0)
      error("strategy.tp", fmt::format("tp {} does not divide the model's {} ways", choice_.tp, ways),
            fmt::format("choose a divisor of {}: a way stays on one rank", ways));
    else if (const std::int64_t heads = r_.transformer.heads; heads % choice_.tp != 0)
      error("strategy.tp", fmt::format("tp {} does not divide the model's {} attention heads", choice_.tp, heads),
            fmt::format("choose a divisor of {}", heads));
    else if (const std::int64_t kv = r_.transformer.kv_head_count(); kv % choice_.tp != 0)
      error("strategy.tp", fmt::format("tp {} does not divide the model's {} key-value heads", choice_.tp, kv),
            fmt::format("choose a divisor of {}", kv));
    else if (const auto& mixer = r_.transformer.mamba2; mixer && mixer->groups % choice_.tp != 0)
      error("strategy.tp",
            fmt::format("tp {} does not divide the {} groups of the state-space mixer", choice_.tp, mixer->groups),
            fmt::format("choose a divisor of {}: a group stays on one rank", mixer->groups));
    if (choice_.sequence_parallel && training_.seq_len % choice_.tp != 0)
      error("strategy.sequence_parallel",
            fmt::format("tp {} does not divide the sequence length {}", choice_.tp, training_.seq_len),
            "choose a divisor, or turn sequence_parallel off");
  }

  static pipeline::Settings options(const ScheduleChoice& choice) {
    pipeline::Settings options;
    const auto set = [](std::int32_t& option, const std::optional<std::int64_t>& value) {
      if (value) option = static_cast<std::int32_t>(*value);  // describe() bounds them
    };
    set(options.waves, choice.waves);
    set(options.pipelines, choice.pipelines);
    set(options.group, choice.group);
    if (choice.memory_limit) options.memory_limit = static_cast<std::int32_t>(*choice.memory_limit);
    options.weight_gradients = choice.weight_gradients.value_or(options.weight_gradients);
    options.reorder = choice.reorder.value_or(options.reorder);
    options.continuation = choice.continuation.value_or(options.continuation);
    options.vocabulary = choice.vocabulary.value_or(options.vocabulary);
    return options;
  }

  bool generate_schedule() {
    try {
      r_.schedule = std::make_shared<const pipeline::Schedule>(
          pipeline::generate(r_.strategy.schedule, plan::schedule_settings(r_.strategy)));
      check_host_link(*r_.schedule);
      return true;
    } catch (const core::ConfigurationError& problem) {
      add_placed(problem, r_.origins, diagnostics_);
      return false;
    }
  }

  void check_host_link(const pipeline::Schedule& schedule) {
    const bool copies = std::any_of(schedule.operations.begin(), schedule.operations.end(),
                                    [](const auto& operation) { return operation.phase == pipeline::Phase::offload; });
    if (copies && !r_.machine.cluster.value.host)
      error("strategy.schedule",
            fmt::format("{} copies activations to the host, to which cluster '{}' has no link", schedule.kind,
                        r_.machine.cluster.value.name),
            "describe it: cluster.host: {memory, memory_bandwidth, link: {bandwidth}}, or use interleaved-1f1b");
  }

  program::AxisOrder axes(const char* key, const std::vector<std::string>& names) {
    program::AxisOrder result;
    for (const std::string& name : names)
      for (std::size_t i = 0; i < program::k_axes; ++i) {
        const auto axis = static_cast<program::Axis>(i);
        if (program::label(axis) != name) continue;
        if (std::find(result.begin(), result.end(), axis) != result.end())
          error(fmt::format("strategy.{}", key), fmt::format("{} appears twice", name), "name each axis once");
        result.push_back(axis);
      }
    return result;
  }

  // How experts are spread: tp x cp x dp = etp x ep x edp.
  void experts() {
    plan::Strategy& strategy = r_.strategy;
    strategy.expert = choice_.ep;
    strategy.expert_tensor = choice_.etp;
    const auto& mixture = r_.transformer.moe;
    if (!mixture) {
      if (choice_.ep * choice_.etp > 1)
        error(choice_.ep > 1 ? "strategy.ep" : "strategy.etp", "the model has no experts", "set ep and etp to 1");
      return;
    }
    const std::int64_t ranks = strategy.tensor * strategy.context * strategy.data;
    if (ranks % (choice_.ep * choice_.etp) != 0)
      error("strategy.ep",
            fmt::format("etp {} x ep {} does not divide tp x cp x dp = {}", choice_.etp, choice_.ep, ranks),
            fmt::format("choose divisors of {}", ranks));
    if (mixture->experts % choice_.ep != 0)
      error("strategy.ep", fmt::format("ep {} does not divide the model's {} experts", choice_.ep, mixture->experts),
            fmt::format("choose a divisor of {}", mixture->experts));
    if (mixture->ffn % choice_.etp != 0)
      error("strategy.etp", fmt::format("etp {} does not divide the experts' width {}", choice_.etp, mixture->ffn),
            fmt::format("choose a divisor of {}", mixture->ffn));
    if (strategy.tensor > 1 && !strategy.sequence_parallel)
      error("strategy.sequence_parallel",
            fmt::format("the {} ranks of tp would route the same tokens to experts", strategy.tensor),
            "set sequence_parallel: true, so that each routes its own");
    if (diagnostics_.has_errors()) return;
    strategy.bilevel_experts = mixture->dispatcher == models::Dispatcher::smile;
    strategy.expert_copies = mixture->top_k;
    strategy.expert_domains = mixture->node_limit;
    const std::int64_t domain = r_.machine.network.domain();
    if (strategy.bilevel_experts) r_.build.expert_domains = strategy.expert / plan::experts_in_domain(strategy, domain);
    const ExpertOverlapKind overlap = expert_overlap(r_);
    r_.build.shared_experts_first = overlap == ExpertOverlapKind::shared;
    r_.build.parts = overlap == ExpertOverlapKind::two_batch ? 2 : 1;
    strategy.overlap_experts = overlap != ExpertOverlapKind::none || mixture->shortcut;
    if (r_.build.parts > 1 && strategy.micro_batch % r_.build.parts != 0)
      error("strategy.overlap.ep", fmt::format("a micro-batch of {} does not fall in two halves", strategy.micro_batch),
            "use an even micro_batch");
  }

  // The batches next to `sequences` that are multiples of `unit`: "488 or 489 sequences, which are 3997696 or 4005888
  // tokens".
  std::string next_batches(double sequences, std::int64_t unit) const {
    const auto step = static_cast<double>(unit), tokens = static_cast<double>(training_.seq_len);
    const double below = std::floor(sequences / step) * step, above = below + step;
    if (below < 1.0) return fmt::format("{:.0f} sequences, which are {:.0f} tokens", above, above * tokens);
    return fmt::format("{:.0f} or {:.0f} sequences, which are {:.0f} or {:.0f} tokens", below, above, below * tokens,
                       above * tokens);
  }

  // Tokens counted by powers of 1000 where those of 1024 are meant: ", or '4 Mi tokens', which are 512 sequences".
  std::string binary_batch(double tokens) const {
    constexpr double k_mega = 1e6, k_mebi = 1048576.0;
    const double meant = tokens / k_mega * k_mebi, sequences = meant / static_cast<double>(training_.seq_len);
    if (tokens != std::floor(tokens / k_mega) * k_mega || sequences != std::floor(sequences)) return {};
    return fmt::format(", or '{}', which are {:.0f} sequences", config::exact_text(meant, config::Dimension::tokens),
                       sequences);
  }

  void batch() {
    const GlobalBatch& given = training_.global_batch;
    if (given.sequences > 0) {
      r_.global_batch = given.sequences;
    } else {
      const double sequences = given.tokens / static_cast<double>(training_.seq_len);
      if (sequences > k_most_sequences) {
        error("training.global_batch",
              fmt::format("{:.3g} sequences are more than the {:.0f} that are counted one by one", sequences,
                          k_most_sequences),
              "use fewer tokens");
        return;
      }
      if (sequences < 1.0 || sequences != std::floor(sequences)) {
        error("training.global_batch",
              fmt::format("{:.0f} tokens are not a whole number of sequences of {}", given.tokens, training_.seq_len),
              "use " + next_batches(sequences, 1) + binary_batch(given.tokens));
        return;
      }
      r_.global_batch = static_cast<std::int64_t>(sequences);
    }
    const std::int64_t unit = r_.strategy.data * r_.strategy.micro_batch;
    if (r_.global_batch % unit != 0) {
      error("training.global_batch",
            fmt::format("{} sequences do not divide into micro-batches of {} on dp {} ranks", r_.global_batch,
                        r_.strategy.micro_batch, r_.strategy.data),
            fmt::format("use a multiple of {}, as {}, or another dp or micro_batch", unit,
                        next_batches(static_cast<double>(r_.global_batch), unit)));
      return;
    }
    r_.strategy.micro_batches = r_.global_batch / unit;
    if (choice_.micro_batches.value_or(r_.strategy.micro_batches) != r_.strategy.micro_batches)
      error("strategy.micro_batches",
            fmt::format("{} sequences in micro-batches of {} on dp {} ranks are {}, not {}", r_.global_batch,
                        r_.strategy.micro_batch, r_.strategy.data, r_.strategy.micro_batches, *choice_.micro_batches),
            "leave it out, or change training.global_batch");
  }

  void kernels() {
    models::Kernels& kernels = r_.build.kernels;
    kernels = training_.kernels.over(r_.framework.kernels);
    const std::int64_t local_heads = r_.transformer.heads / r_.strategy.tensor;
    if (kernels.attention == models::AttentionKernel::fused_softmax && local_heads > 0 &&
        !r_.framework.fused_softmax.applies(training_.seq_len, local_heads, r_.strategy.micro_batch)) {
      kernels.attention = models::AttentionKernel::unfused;
      r_.warnings.push_back(
          fmt::format("no fused softmax kernel for {} keys, {} heads per rank and micro-batch {}: unfused kernels",
                      training_.seq_len, local_heads, r_.strategy.micro_batch));
    }
    r_.build.activation = software::activation_format(r_.recipe);
    if (r_.recipe.narrow) r_.build.narrow = narrow_products(r_);
    r_.build.parameter = r_.recipe.parameters;
    r_.build.parameter_gradient = r_.recipe.gradients;
    r_.build.fused_accumulation = r_.framework.accumulation.fused;
    r_.build.vocab_divisor = r_.strategy.vocab_parallel ? r_.strategy.tensor : 1;
  }

  void overlap() {
    const software::OverlapDefaults& defaults = r_.framework.overlap;
    const Overlap& chosen = choice_.overlap;
    plan::Strategy& strategy = r_.strategy;
    const DataOverlap data = chosen.dp.value_or(DataOverlap{});
    strategy.overlap_gradient_reduce = data.reduce.value_or(
        choice_.zero.stage > 0 ? defaults.dp_reduce_sharded.value_or(defaults.dp_reduce) : defaults.dp_reduce);
    strategy.overlap_parameter_gather = data.gather.value_or(defaults.dp_gather);
    strategy.bucket_bytes = data.bucket.value_or(defaults.bucket.size(strategy.data, r_.recipe.reduce)).base();
    tensor_overlap(chosen.tp.value_or(TensorOverlap{}), defaults);
    strategy.overlap_sends = chosen.pp.value_or(defaults.pp);
  }

  int moments() const {
    switch (training_.optimizer.kind) {
      case Optimizer::adam:
      case Optimizer::adamw:
      case Optimizer::adam8bit:
        return 2;
      case Optimizer::sgd:
      case Optimizer::sgd8bit:
        return 1;
      case Optimizer::adafactor:
        return 0;  // beside the factored one
    }
    return 2;
  }
  numerics::Format moments_format() const {
    const bool narrow =
        training_.optimizer.kind == Optimizer::adam8bit || training_.optimizer.kind == Optimizer::sgd8bit;
    if (!narrow) return r_.recipe.moments;
    return training_.optimizer.block == 2048 ? numerics::Format::int8_b2048 : numerics::Format::int8_b256;
  }

  void tensor_overlap(const TensorOverlap& asked, const software::OverlapDefaults& defaults) {
    constexpr std::int64_t k_default_chunks = 4;
    plan::Strategy& strategy = r_.strategy;
    strategy.overlap_tensor = asked.beside.value_or(defaults.tp_backward);
    strategy.asynchronous_tensor = r_.transformer.residual != models::Residual::standard;
    if (!asked.kind) return;
    if (strategy.tensor == 1) {
      r_.warnings.push_back("strategy.overlap.tp: nothing to overlap with tp 1");
      return;
    }
    if (*asked.kind == TensorOverlapKind::iso && !r_.transformer.causal)
      error("strategy.overlap.tp",
            "iso runs one half of the tokens ahead of the other, and a model without causal mask needs both at once",
            "use kind: chunked or t3");
    using Kind = plan::TensorPieces::Kind;
    strategy.tensor_pieces.kind = *asked.kind == TensorOverlapKind::chunked ? Kind::chunked
                                  : *asked.kind == TensorOverlapKind::t3    ? Kind::triggered
                                                                            : Kind::halves;
    strategy.tensor_pieces.count =
        *asked.kind == TensorOverlapKind::chunked ? asked.chunks.value_or(k_default_chunks) : 1;
  }

  void treatment() {
    const software::OptimizerStep& step = r_.framework.optimizer;
    r_.treatment = plan::ParameterTreatment{.parameters = r_.recipe.parameters,
                                            .gradients = r_.recipe.gradients,
                                            .reduce = r_.recipe.reduce,
                                            .gather = r_.recipe.dp_gather_wire,
                                            .master = r_.recipe.master,
                                            .moments_format = moments_format(),
                                            .moments = moments(),
                                            .factored_moment = training_.optimizer.kind == Optimizer::adafactor,
                                            .separate_gradients = r_.framework.accumulation.separate_buffer,
                                            .gradient_reads = static_cast<int>(step.gradient_reads),
                                            .gradient_copy = step.gradient_copy,
                                            .separate_parameter_copy = step.separate_parameter_copy};
    if (r_.recipe.narrow) narrow_weights(r_, r_.treatment);
    resolve_recompute(r_, diagnostics_);
    if (r_.transformer.prediction_depth() > 0 && (r_.recipe.narrow || r_.strategy.recompute != plan::Recompute::none))
      r_.warnings.push_back(
          "model.mtp: narrow products and recomputation are of the model's own layers; modules for further tokens have "
          "neither");
    resolve_zero(r_, diagnostics_);
  }

  void stages() {
    if (!generate_schedule()) return;
    const std::int64_t virtual_stages = r_.schedule->chain_length;  // that a micro-batch passes
    const Stages cut = choice_.stages.value_or(Stages{.rule = r_.framework.stages});
    try {
      if (!cut.layout.empty())
        r_.strategy.stage_layers = layers_of_layout(
            cut.layout, {.layers = r_.transformer.layers, .further = r_.transformer.prediction_depth()});
      else if (!cut.layers.empty())
        r_.strategy.stage_layers = cut.layers;
      else if (cut.rule == StageRule::even)
        r_.strategy.stage_layers = plan::even_stages(r_.transformer.layers, virtual_stages);
      else if (cut.rule == StageRule::by_weight)
        fill_stages(static_cast<std::int32_t>(virtual_stages));
    } catch (const core::ConfigurationError& problem) {
      add_placed(problem, r_.origins, diagnostics_);
    }
  }

  void fill_stages(std::int32_t virtual_stages) {
    const models::TransformerConfig& t = r_.transformer;
    const std::vector<std::int32_t> counts =
        pipeline::filled_split(models::layer_weights(t), virtual_stages, {.first = 0, .last = t.vocab * t.hidden});
    r_.strategy.stage_layers.assign(counts.begin(), counts.end());
  }

  void capabilities() {
    const software::Capabilities& can = r_.framework.capabilities;
    const auto warn = [&](bool asked, bool able, const char* what) {
      if (asked && !able) r_.warnings.push_back(fmt::format("{} has no {}", framework_label(r_), what));
    };
    warn(r_.strategy.sequence_parallel, can.sequence_parallel, "sequence parallelism");
    warn(r_.strategy.recompute == plan::Recompute::attention, can.selective_recompute, "selective recomputation");
    warn(choice_.zero.stage > can.zero, false, "such ZeRO stage");
    warn(r_.strategy.chunks > 1, can.interleaved, "interleaved schedule");
  }

  Resolved& r_;
  const StrategyChoice& choice_;
  const Training& training_;
  core::Diagnostics& diagnostics_;
};

}  // namespace

ExpertOverlapKind expert_overlap(const Resolved& r) {
  if (const std::optional<ExpertOverlap>& asked = r.experiment.strategy.overlap.ep) return asked->kind;
  return r.framework.overlap.ep ? ExpertOverlapKind::shared : ExpertOverlapKind::none;
}

void add_placed(const core::ConfigurationError& error, const config::Origins& origins, core::Diagnostics& diagnostics) {
  for (const core::Diagnostic& each : error.diagnostics()) {
    // What knows no experiment names a schedule or stages without saying whose, and counts what others decide.
    const bool of_strategy = each.key_path.starts_with("schedule") || each.key_path.starts_with("stages");
    std::string key = (of_strategy ? "strategy." : "") + each.key_path;
    if (each.key_path == "schedule.micro_batches") key = "training.global_batch";
    if (each.key_path == "schedule.stages") key = "strategy.pp";
    if (each.file.empty() && !each.key_path.empty())
      diagnostics.add(origins.error(key, each.message, each.hint));
    else
      diagnostics.add(each);
  }
}

config::Node framework_reference(const Resolved& r) {
  const config::Node& named = r.experiment.training.framework;
  return named.is_null() ? config::make_scalar(std::string(software::k_default_framework), {}) : named;
}

config::Node calibration_reference(const Resolved& r) {
  if (!r.experiment.calibration.is_null()) return r.experiment.calibration;
  const std::string name = accelerator_key(r.machine.cluster.value.accelerator);
  return name.empty() ? config::Node{} : config::make_scalar(name, {});
}

std::string framework_label(const Resolved& r) {
  const config::Node named = framework_reference(r);
  return named.is_scalar() ? named.text : r.framework.name;
}

namespace {

bool has_calibration(const config::Loader& loader, const std::string& accelerator) {
  const std::vector<std::string> known = loader.names("calibration");
  return std::find(known.begin(), known.end(), accelerator) != known.end();
}

// The calibration asked for, or the accelerator's own, on the accelerator as the cluster describes it.
void read_calibration(Resolved& r, const config::Loader& loader) {
  const std::string chip = accelerator_key(r.machine.cluster.value.accelerator);
  const hardware::Accelerator& accelerator = r.machine.accelerator.value;
  const config::Node reference = calibration_reference(r);
  if (reference.is_null())
    throw core::ConfigurationError("calibration", "an accelerator written inline has no calibration of its own",
                                   "name the nearest one, as in calibration: a100-sxm4-80gb; its prices follow the "
                                   "accelerator's figures");
  const cost::Calibration calibration = cost::load_calibration(loader, reference);
  // A block written inline is known by the name it gives.
  const bool same_chip = chip.empty() ? calibration.name == accelerator.name : calibration.accelerator == chip;
  if (!same_chip && has_calibration(loader, chip))
    throw core::ConfigurationError(
        "calibration",
        fmt::format("'{}' was measured on {}, not on {}", calibration.name, calibration.accelerator, chip),
        fmt::format("use calibration: {}, or leave it out", chip));
  cost::Carried carried = cost::carried(calibration, accelerator);
  r.calibration = std::move(carried.calibration);
  if (!same_chip)
    r.carried = fmt::format("kernels and transfers of {} on {}, where nothing was measured", calibration.name,
                            accelerator.name);
  if (carried.differences.empty()) return;
  r.carried += fmt::format("{}: {} (a peak does not follow the clock)",
                           same_chip ? "kernels follow the accelerator's own figures" : ", by its figures",
                           fmt::join(carried.differences, "; "));
}

}  // namespace

void read_parts(Resolved& r, const config::Loader& loader, core::Diagnostics& diagnostics) {
  r.transformer = models::read_model(r.experiment.model, loader, diagnostics);
  r.machine = hardware::read_machine(loader, r.experiment.cluster, "cluster", diagnostics);
  const config::Node& precision = r.experiment.training.precision;
  r.recipe = software::read_precision(loader, precision, "training.precision", diagnostics).value;
  r.framework =
      software::read_framework(loader, r.experiment.training.framework, "training.framework", diagnostics).value;
  if (diagnostics.has_errors()) return;
  check_units(r, loader, diagnostics);
  if (diagnostics.has_errors()) return;
  const software::PrecisionRecipe asked = r.recipe;
  r.recipe = r.framework.adjust(r.recipe);
  if (precision.is_map()) {
    if (precision.find("gradients")) r.recipe.gradients = asked.gradients;
    if (precision.find("reduce")) r.recipe.reduce = asked.reduce;
  }
  try {
    models::validate(r.transformer);
    r.transformer = models::for_sequence(r.transformer, r.experiment.training.seq_len);
  } catch (const core::ConfigurationError& problem) {
    add_placed(problem, r.origins, diagnostics);
    return;
  }
  try {
    read_calibration(r, loader);
  } catch (const core::ConfigurationError& problem) {
    add_placed(problem, r.origins, diagnostics);
    return;
  }
  std::string fabric;  // of the innermost network between domains that names one
  for (const hardware::NetworkLevel& level : r.machine.network.beyond())
    if (fabric.empty()) fabric = level.fabric;
  if (fabric.empty() || fabric == r.calibration.fabric) return;
  try {
    const cost::Fabrics fabrics = cost::load_fabrics(loader);
    if (const cost::Fabric* found = fabrics.find(fabric)) {
      r.calibration.transfers.fabric = found->laws;
      r.calibration.fabric = fabric;
    } else {
      throw core::ConfigurationError("cluster.inter.fabric", fmt::format("no calibrated fabric '{}'", fabric),
                                     "see configs/calibration/fabrics.yaml");
    }
  } catch (const core::ConfigurationError& problem) {
    add_placed(problem, r.origins, diagnostics);
  }
}

void resolve_strategy(Resolved& resolved, core::Diagnostics& diagnostics) { Resolver(resolved, diagnostics).run(); }

}  // namespace cairn::experiment
