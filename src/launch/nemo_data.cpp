// What data-parallel ranks of NeMo hold, in which formats, and when they exchange it.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/core/printable.h"
#include "cairn/numerics/format.h"
#include "cairn/software/files.h"
#include "nemo.h"
#include "numbers.h"

namespace cairn::launch {
namespace {

// apex: the distributed Adam of Apex; core: Megatron-Core's. Both shard the optimizer's state, and add up gradients of
// all micro-batches before they reduce them.
enum class NemoSharing : std::uint8_t { none, apex, core, fsdp };

struct NemoState {
  NemoSharing sharing = NemoSharing::none;
  std::string format = "fp32";    // of products
  bool wide_weights = false;      // megatron_amp_O2 is off: autocast
  bool narrow_gradients = false;  // reduced in `format`
  bool fp8 = false;
  bool fp8_weights = false;
};

struct NemoOptimizer {
  std::string_view theirs;
  const char* ours;
  NemoSharing sharing;
};
constexpr NemoOptimizer k_nemo_optimizers[] = {{"mcore_distributed_optim", "adamw", NemoSharing::core},
                                               {"distributed_fused_adam", "adamw", NemoSharing::apex},
                                               {"fused_adam", "adamw", NemoSharing::none},
                                               {"megatron_fused_adam", "adamw", NemoSharing::none},
                                               {"adamw", "adamw", NemoSharing::none},
                                               {"adam", "adam", NemoSharing::none},
                                               {"sgd", "sgd", NemoSharing::none}};
constexpr const char* k_nemo_optimizer = "model.optim.name";
constexpr const char* k_nemo_copies = "model.optim.num_distributed_optimizer_instances";
constexpr const char* k_nemo_strategy = "model.fsdp_sharding_strategy";
constexpr const char* k_nemo_reduce = "model.fsdp_grad_reduce_dtype";
constexpr const char* k_nemo_sync_format = "model.optim.grad_sync_dtype";
constexpr const char* k_nemo_grad_sync = "model.optim.overlap_grad_sync";
constexpr const char* k_nemo_param_sync = "model.optim.overlap_param_sync";
constexpr const char* k_nemo_async = "model.async_grad_allreduce";
constexpr const char* k_nemo_elements = "model.optim.ddp_bucket_size";
constexpr const char* k_nemo_bucket = "model.optim.bucket_cap_mb";
constexpr const char* k_nemo_chunk = "model.grad_allreduce_chunk_size_mb";

// The recipe of a state; nothing where NeMo refuses it.
std::optional<config::Node> nemo_recipe(const NemoState& state) {
  const bool bf16 = state.format == "bf16", fsdp = state.sharing == NemoSharing::fsdp;
  config::Node map = config::make_node(config::NodeKind::map, {});
  const auto put = [&](const char* key, std::string value) { map.put(key, config::make_scalar(std::move(value), {})); };
  if (state.fp8 && (!bf16 || fsdp || state.wide_weights)) return std::nullopt;
  if (state.format == "fp32") {
    put("recipe", "fp32");
  } else if (state.fp8) {
    put("recipe", "fp8-delayed");
    if (state.narrow_gradients)
      for (const char* key : {"gradients", "reduce"}) put(key, "bf16");
    if (state.fp8_weights)
      for (const char* key : {"parameters", "dp_gather_wire"}) put(key, "fp8_e4m3");
  } else if (fsdp) {
    put("recipe", bf16 ? "bf16" : "fp16-fp32-gradients");
    if (state.narrow_gradients) put("reduce", state.format);
  } else if (state.wide_weights) {
    put("recipe", bf16 ? "bf16" : "fp16-fp32-gradients");
    for (const char* key : {"parameters", "dp_gather_wire"}) put(key, "fp32");
    put("master", "none");
  } else if (bf16) {
    put("recipe", state.narrow_gradients ? "bf16-bf16-gradients" : "bf16");
  } else if (state.sharing == NemoSharing::none) {
    return std::nullopt;  // megatron_base_model.py: fp16 training is not yet supported with O2
  } else {
    put("recipe", state.narrow_gradients ? "fp16" : "fp16-fp32-gradients");
  }
  return map.entries.size() == 1 ? map.entries.front().value : map;
}

// parts/utils_funcs.py, torch_dtype_from_precision.
std::string nemo_format(const std::string& text) {
  if (text == "bf16" || text == "bf16-mixed") return "bf16";
  if (text == "16" || text == "16-mixed") return "fp16";
  if (text == "32" || text == "32-true") return "fp32";
  return {};
}

// A format by a word of its own; fp32, Lightning's default, without it.
std::string read_nemo_format(Import& i, const char* name) {
  const Word* word = i.word(name);
  if (word == nullptr) return "fp32";
  std::string format = nemo_format(word->text);
  if (format.empty())
    i.error(word->place, name, fmt::format("{} is no precision of NeMo", core::quoted(word->text)),
            "use bf16, 16 or 32");
  return format;
}

void read_nemo_fp8(Import& i, NemoState& state) {
  constexpr const char* k_fp8 = "model.fp8";
  constexpr const char* k_hybrid = "model.fp8_hybrid";
  constexpr const char* k_e4m3 = "model.fp8_e4m3";
  state.fp8 = nemo_truth(i, k_fp8, false);
  if (!state.fp8) {
    for (const char* name : {k_hybrid, k_e4m3, "model.fp8_params", "model.fp8_margin", "model.fp8_interval",
                             "model.fp8_amax_history_len", "model.fp8_amax_compute_algo", "model.fp8_wgrad",
                             "model.fp8_recipe", "model.reduce_amax", "model.tp_only_amax_red"})
      i.no_effect(name, "without fp8: true");
    return;
  }
  const config::Place place = i.take(k_fp8)->place;
  if (nemo_truth(i, k_e4m3, false))
    return i.error(i.take(k_e4m3)->place, k_e4m3, "gradients in E4M3 with delayed scales have no counterpart",
                   "use fp8_hybrid");
  if (!nemo_truth(i, k_hybrid, false))
    return i.error(place, k_fp8, "without fp8_hybrid or fp8_e4m3, which NeMo refuses", "say fp8_hybrid: true");
  const Word* recipe = i.word("model.fp8_recipe");
  if (recipe != nullptr && recipe->text != "delayed")
    return i.error(recipe->place, "model.fp8_recipe", fmt::format("{} has no counterpart", core::quoted(recipe->text)),
                   "use delayed");
  state.fp8_weights = nemo_truth(i, "model.fp8_params", false);
}

void read_nemo_formats(Import& i, NemoState& state) {
  const char* own = "model.precision";
  const char* trainers = "trainer.precision";
  state.format = read_nemo_format(i, i.said(own) ? own : trainers);
  if (i.said(own) && i.said(trainers) && read_nemo_format(i, trainers) != state.format)
    i.error(i.take(own)->place, own, "is not that of trainer.precision", "say one of the two");
  const bool half = nemo_truth(i, k_nemo_half_weights, false);
  const bool fsdp = state.sharing == NemoSharing::fsdp;
  state.wide_weights = fsdp || !half;
  if (fsdp) {
    state.narrow_gradients = read_nemo_format(i, k_nemo_reduce) != "fp32";
  } else if (state.sharing == NemoSharing::none) {
    i.no_effect(k_nemo_sync_format, "of distributed optimizers alone");
  } else if (const Word* sync = i.word(k_nemo_sync_format)) {
    state.narrow_gradients = sync->text != "fp32" && sync->text != "float32" && sync->text != "torch.float32";
  }
  read_nemo_fp8(i, state);
  if (i.problems.has_errors()) return;
  const std::optional<config::Node> recipe = nemo_recipe(state);
  if (!recipe)
    return i.error({}, trainers,
                   fmt::format("{}{} with {}megatron_amp_O2 has no counterpart", state.format,
                               state.fp8 ? " and fp8" : "", state.wide_weights ? "no " : ""),
                   "use bf16 with megatron_amp_O2: true");
  i.experiment.put("training.precision", *recipe);
  if (!fsdp && !half && state.format != "fp32")
    i.notes.emplace_back(
        "Without megatron_amp_O2: true weights stay in fp32; that they are cast for every product is not modelled.");
}

void read_nemo_fsdp(Import& i, const NemoState& state) {
  const Word* strategy = i.word(k_nemo_strategy);
  const std::string name = strategy != nullptr ? strategy->text : "full";
  if (name != "full" && name != "grad")
    return i.error(strategy->place, k_nemo_strategy, fmt::format("{} is refused by NeMo", core::quoted(name)),
                   "use full or grad");
  if (state.sharing != NemoSharing::none)
    return i.error(i.take(k_nemo_optimizer)->place, k_nemo_optimizer, "beside fsdp: true, which NeMo refuses",
                   "use fused_adam");
  if (i.degree("strategy.pp") > 1)
    return i.error(i.take(k_nemo_fsdp)->place, k_nemo_fsdp, "with pipeline stages, which NeMo refuses",
                   "keep one of the two");
  i.experiment.put("strategy.zero.reshard_after_forward", name == "full" ? "true" : "false", {});
}

// Without a distributed optimizer chunks of the gradients are reduced beside the backward pass, but for pipeline
// stages, sequence parallelism and weights in fp32.
bool nemo_async(const NemoState& state, std::int64_t stages, bool sequence_parallel) {
  return state.sharing == NemoSharing::none && !state.wide_weights && stages == 1 && !sequence_parallel;
}

// NeMo turns sequence parallelism off where one rank has the whole of a layer, whatever the plan says of it.
bool nemo_async(const NemoState& state, const plan::Strategy& plan) {
  return nemo_async(state, plan.pipeline, plan.sequence_parallel && plan.tensor > 1);
}

void read_nemo_overlap(Import& i, const NemoState& state) {
  bool reduce = true, gather = true;
  if (state.sharing == NemoSharing::none) {
    const bool may =
        nemo_async(state, i.degree("strategy.pp"), i.experiment.text("strategy.sequence_parallel") == "true");
    reduce = may && nemo_truth(i, k_nemo_async, true);
    gather = false;
    for (const char* name : {k_nemo_grad_sync, k_nemo_param_sync}) i.no_effect(name, "of distributed optimizers alone");
  } else if (state.sharing != NemoSharing::fsdp) {
    reduce = nemo_truth(i, k_nemo_grad_sync, state.sharing == NemoSharing::apex);
    gather = nemo_truth(i, k_nemo_param_sync, false);
    if (gather && !reduce)
      i.error(i.take(k_nemo_param_sync)->place, k_nemo_param_sync, "without overlap_grad_sync, which NeMo refuses",
              "say that, too, or leave it out");
  }
  i.no_effect(k_nemo_async, "of optimizers that are not distributed, without pipeline stages and sequence parallelism");
  i.experiment.put("strategy.overlap.dp.reduce", reduce ? "true" : "false", {});
  i.experiment.put("strategy.overlap.dp.gather", gather ? "true" : "false", {});
}

// What Apex's optimizer does otherwise: megatron_gpt_model.py, distributed_adam_buckets; megatron_base_model.py,
// store_params.
void note_apex(Import& i, const NemoState& state) {
  i.notes.emplace_back(
      "Apex's optimizer reduces the gradients of a layer (of a virtual stage where there are several) together, in "
      "whole "
      "buckets of bucket_cap_mb, the last of them padded; Cairn fills buckets of that size across layers, without "
      "padding.");
  const Word* format = i.word("model.optim.dtype");
  const bool whole = nemo_truth(i, "model.optim.store_params", state.fp8_weights);
  if (format != nullptr && nemo_format(format->text) != "fp32" && format->text != "float32")
    i.remark(*i.take("model.optim.dtype"), "moments stay in fp32");
  else if (state.format == "bf16" && !state.wide_weights && !whole)
    i.notes.emplace_back(
        "Beside weights in bf16 Apex's optimizer keeps the 16 bits that they lack of fp32 ones, two bytes each; Cairn "
        "holds "
        "and moves four.");
}

// Elements with Megatron-Core's optimizer, MiB of what travels with Apex's, MiB of fp32 without a distributed one.
constexpr std::int64_t k_nemo_most_bucket = std::int64_t{1} << 50;
constexpr double k_nemo_mebibyte = 1048576.0;
void read_nemo_bucket(Import& i, const NemoState& state) {
  const bool core = state.sharing == NemoSharing::core, apex = state.sharing == NemoSharing::apex;
  const bool async = state.sharing == NemoSharing::none && i.experiment.text("strategy.overlap.dp.reduce") == "true";
  const char* name = core ? k_nemo_elements : apex ? k_nemo_bucket : async ? k_nemo_chunk : "";
  std::optional<std::int64_t> size;
  if (*name != '\0') size = i.count(name);
  i.no_effect(k_nemo_elements, "of Megatron-Core's optimizer alone");
  i.no_effect(k_nemo_bucket, core ? "Megatron-Core's optimizer counts elements, ddp_bucket_size"
                                  : "of Apex's distributed optimizer alone");
  i.no_effect(k_nemo_chunk, "of gradients that an optimizer which is not distributed reduces in chunks");
  if (!size && i.said(name)) return;
  if (size && (*size == 0 || *size > k_nemo_most_bucket))
    return i.error(i.take(name)->place, name, "is no size of a bucket", "write one above 0");
  const bool two_bytes = state.narrow_gradients && !state.wide_weights && state.format != "fp32";
  constexpr double k_apex = 100.0, k_usual_chunk = 125.0;
  double bytes = 0.0;
  if (core && size) bytes = static_cast<double>(*size) * (two_bytes ? 2.0 : 4.0);
  if (apex) bytes = (size ? static_cast<double>(*size) : k_apex) * k_nemo_mebibyte;
  if (async) bytes = (size ? static_cast<double>(*size) : k_usual_chunk) * k_nemo_mebibyte;
  if (bytes > 0.0)
    i.experiment.put("strategy.overlap.dp.bucket", fmt::format("{:.0f} B", bytes),
                     size ? i.take(name)->place : config::Place{});
}

void read_nemo_data(Import& i) {
  const Word* name = i.word(k_nemo_optimizer);
  if (name == nullptr)
    return i.error({}, k_nemo_optimizer, "is missing", "the framework has no default for it: say it");
  const auto* optimizer = std::find_if(std::begin(k_nemo_optimizers), std::end(k_nemo_optimizers),
                                       [&](const NemoOptimizer& each) { return each.theirs == name->text; });
  if (optimizer == std::end(k_nemo_optimizers)) {
    std::vector<std::string_view> all;
    for (const NemoOptimizer& each : k_nemo_optimizers) all.push_back(each.theirs);
    return i.error(name->place, k_nemo_optimizer,
                   fmt::format("{} has no counterpart in Cairn", core::quoted(name->text)),
                   fmt::format("use one of {}", fmt::join(all, ", ")));
  }
  i.experiment.put("training.optimizer", optimizer->ours, name->place);
  NemoState state{.sharing = optimizer->sharing};
  if (nemo_truth(i, k_nemo_fsdp, false)) {
    read_nemo_fsdp(i, state);
    state.sharing = NemoSharing::fsdp;
  } else {
    for (const char* each : {k_nemo_strategy, k_nemo_reduce, "model.fsdp_sharded_checkpoint"})
      i.no_effect(each, "without fsdp: true");
  }
  const bool core = state.sharing == NemoSharing::core;
  const char* stage = state.sharing == NemoSharing::none ? "0" : state.sharing == NemoSharing::fsdp ? "3" : "1";
  i.experiment.put("strategy.zero.stage", stage, name->place);
  if (core) {
    if (const auto copies = i.count(k_nemo_copies); copies && *copies > 1)
      i.experiment.put("strategy.zero.replicate", std::to_string(*copies), i.take(k_nemo_copies)->place);
  }
  i.no_effect(k_nemo_copies, "of Megatron-Core's optimizer alone");
  read_nemo_formats(i, state);
  read_nemo_overlap(i, state);
  read_nemo_bucket(i, state);
  if (state.sharing == NemoSharing::apex) note_apex(i, state);
}

// NeMo's words for the recipe; nothing where none are it.
std::optional<NemoState> nemo_state(const Export& e, NemoSharing sharing) {
  const bool fsdp = sharing == NemoSharing::fsdp, distributed = sharing != NemoSharing::none;
  const bool needs_half = e.job.strategy().chunks > 1 || e.job.experiment().strategy.ep > 1;
  std::vector<NemoState> all;
  for (const char* format : {"bf16", "fp16"})
    for (const bool wide : {fsdp, true})
      for (const bool narrow : {false, distributed && (fsdp || !wide)})
        if (!wide || fsdp || !needs_half)
          all.push_back({.sharing = sharing, .format = format, .wide_weights = wide, .narrow_gradients = narrow});
  for (const bool narrow : {false, distributed})
    for (const bool weights : {false, true})
      all.push_back({.sharing = sharing,
                     .format = "bf16",
                     .wide_weights = fsdp,
                     .narrow_gradients = narrow,
                     .fp8 = true,
                     .fp8_weights = weights});
  all.push_back({.sharing = sharing, .format = "fp32", .wide_weights = fsdp});
  for (const NemoState& state : all) {
    const std::optional<config::Node> recipe = nemo_recipe(state);
    if (!recipe) continue;
    core::Diagnostics problems;
    const auto read = software::read_precision(e.loader, *recipe, "training.precision", problems);
    if (!problems.has_errors() && e.has_formats_of(read.value)) return state;
  }
  return std::nullopt;
}

NemoState write_nemo_formats(Export& e, NemoSharing sharing) {
  const bool fsdp = sharing == NemoSharing::fsdp;
  const std::optional<NemoState> found = nemo_state(e, sharing);
  const NemoState state = found.value_or(NemoState{.sharing = sharing, .format = "bf16", .wide_weights = fsdp});
  if (found) {
    e.keys.take("training.precision");
  } else {
    e.precision_unsaid = true;
    e.unsaid("training.precision", "no combination of NeMo's formats is this recipe");
  }
  const std::string word = state.format == "bf16" ? "bf16" : state.format == "fp16" ? "16" : "32";
  e.say("trainer.precision", word);
  e.say(k_nemo_half_weights, state.wide_weights ? "false" : "true");
  if (fsdp) e.say(k_nemo_reduce, state.narrow_gradients ? word : "32");
  if (sharing == NemoSharing::core) e.say(k_nemo_sync_format, state.narrow_gradients ? state.format : "fp32");
  if (state.fp8)
    for (const char* name : {"model.fp8", "model.fp8_hybrid"}) e.say(name, "true");
  if (state.fp8_weights) e.say("model.fp8_params", "true");
  return state;
}

// What the plan holds in shards, as far as NeMo does.
NemoSharing write_nemo_sharing(Export& e) {
  const experiment::StrategyChoice& choice = e.job.experiment().strategy;
  const std::int64_t copies = e.job.written_out(experiment::Naming::by_name).strategy.zero.replicate.value_or(1);
  const std::int64_t stage = choice.zero.stage;
  const bool fsdp = stage == 3 && e.job.strategy().pipeline == 1 && e.job.strategy().chunks == 1;
  const NemoSharing sharing = stage == 0 ? NemoSharing::none : fsdp ? NemoSharing::fsdp : NemoSharing::core;
  for (const char* key : {"strategy.zero.shard", "strategy.zero.replicate"}) e.keys.take(key);
  const std::int64_t usual = e.job.strategy().overlap_parameter_gather ? e.job.framework().sharding.prefetch : 0;
  if (stage < 3) e.keys.take("strategy.zero.reshard_after_forward");
  if (stage < 3 || e.job.strategy().prefetch == usual)
    e.keys.take("strategy.zero.prefetch");
  else
    e.unsaid("strategy.zero.prefetch", "FSDP gathers what is next of its own accord");
  if (stage == 2 || (stage == 3 && !fsdp))
    e.unsaid("strategy.zero.stage", "NeMo shards the optimizer's state, or by FSDP without pipeline stages all of it");
  else
    e.keys.take("strategy.zero.stage");
  if (sharing == NemoSharing::core && copies > 1) e.say(k_nemo_copies, copies);
  if (!fsdp) return sharing;
  if (copies > 1)
    e.unsaid("strategy.zero.replicate", std::to_string(copies), "FSDP of NeMo shards over all data-parallel ranks");
  e.keys.take("strategy.zero.reshard_after_forward");
  e.say(k_nemo_fsdp, "true");
  e.say(k_nemo_strategy, e.job.strategy().reshard_after_forward ? "full" : "grad");
  return sharing;
}

void write_nemo_optimizer(Export& e, NemoSharing sharing) {
  using experiment::Optimizer;
  const Optimizer kind = e.job.experiment().training.optimizer.kind;
  const bool core = sharing == NemoSharing::core;
  const bool plain = !core && (kind == Optimizer::adam || kind == Optimizer::sgd);
  e.say(k_nemo_optimizer, core                      ? "mcore_distributed_optim"
                          : !plain                  ? "fused_adam"
                          : kind == Optimizer::adam ? "adam"
                                                    : "sgd");
  if (plain || kind == Optimizer::adamw)
    e.keys.take("training.optimizer");
  else
    e.unsaid("training.optimizer", core ? "NeMo's distributed optimizers are adamw" : "NeMo has adamw, adam and sgd");
}

void write_nemo_overlap(Export& e, const NemoState& state) {
  const plan::Strategy& s = e.job.strategy();
  constexpr const char* k_reduce_key = "strategy.overlap.dp.reduce";
  constexpr const char* k_gather_key = "strategy.overlap.dp.gather";
  const bool reduce = s.overlap_gradient_reduce, gather = s.overlap_parameter_gather;
  if (state.sharing == NemoSharing::fsdp) {
    for (const auto& [key, on] : {std::pair(k_reduce_key, reduce), std::pair(k_gather_key, gather)}) {
      if (on)
        e.keys.take(key);
      else
        e.unsaid(key, "false", "FSDP overlaps its collectives");
    }
    return;
  }
  const bool none = state.sharing == NemoSharing::none;
  const bool may = !none || nemo_async(state, s);
  if (reduce && !may)
    e.unsaid(k_reduce_key, "true",
             "NeMo reduces beside the backward pass without pipeline stages and sequence parallelism");
  else
    e.keys.take(k_reduce_key);
  if (may) e.say(none ? k_nemo_async : k_nemo_grad_sync, reduce ? "true" : "false");
  if (none) {
    e.keys.take(k_gather_key);  // without shards nothing is gathered
  } else if (gather && !reduce) {
    e.unsaid(k_gather_key, "true", "NeMo refuses it without overlap_grad_sync");
  } else {
    e.keys.take(k_gather_key);
    e.say(k_nemo_param_sync, gather ? "true" : "false");
  }
}

void write_nemo_bucket(Export& e, const NemoState& state) {
  constexpr const char* k_key = "strategy.overlap.dp.bucket";
  const plan::Strategy& s = e.job.strategy();
  const numerics::Format reduce = e.job.recipe().reduce;
  const auto bytes = static_cast<double>(s.bucket_bytes);
  const double usual = static_cast<double>(e.job.framework().overlap.bucket.size(s.data, reduce).base());
  const bool core = state.sharing == NemoSharing::core;
  const bool async = nemo_async(state, s) && s.overlap_gradient_reduce;
  if (!async && bytes == usual) {
    e.keys.take(k_key);
    return;
  }
  if (!core && !async) return e.unsaid(k_key, "NeMo has no size for it");
  if (core && e.precision_unsaid) return e.unsaid(k_key, "it is said in elements of a format that is not said");
  const double unit = core ? numerics::bytes_per_element(reduce) : k_nemo_mebibyte;
  const std::optional<std::int64_t> whole = whole_number(bytes / unit, k_nemo_most_bucket);
  if (!whole) return e.unsaid(k_key, core ? "no whole number of elements" : "no whole number of MiB");
  e.keys.take(k_key);
  e.say(core ? k_nemo_elements : k_nemo_chunk, *whole);
}

void write_nemo_data(Export& e) {
  const NemoSharing sharing = write_nemo_sharing(e);
  write_nemo_optimizer(e, sharing);
  const NemoState state = write_nemo_formats(e, sharing);
  write_nemo_overlap(e, state);
  write_nemo_bucket(e, state);
}

}  // namespace

std::vector<Rule> nemo_data_rules() { return {{.read = read_nemo_data, .write = write_nemo_data}}; }

}  // namespace cairn::launch
