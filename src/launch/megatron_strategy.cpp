// The strategy but for its stages: degrees, sharding, recomputation, overlaps.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/numerics/format.h"
#include "megatron.h"
#include "numbers.h"

namespace cairn::launch {
namespace {

config::Node axes(std::initializer_list<const char*> names) {
  config::Node list = config::make_node(config::NodeKind::list, {});
  for (const char* name : names) list.items.push_back(config::make_scalar(name, {}));
  return list;
}

// initialize.py: tp-cp-ep-dp-pp, or tp-cp-ep-pp-dp.
void read_order(Import& i) {
  if (!i.flag("--use-tp-pp-dp-mapping")) return;
  i.experiment.put("strategy.order", axes({"tp", "cp", "pp", "dp"}));
  i.experiment.put("strategy.expert_order", axes({"etp", "ep", "pp", "edp"}));
}
void write_order(Export& e) {
  using Names = std::vector<std::string>;
  const experiment::StrategyChoice& s = e.job.experiment().strategy;
  const bool usual = s.order == Names{"tp", "cp", "dp", "pp"} && s.expert_order == Names{"etp", "ep", "edp", "pp"};
  const bool swapped = s.order == Names{"tp", "cp", "pp", "dp"} && s.expert_order == Names{"etp", "ep", "pp", "edp"};
  if (!usual && !swapped) return;
  e.keys.take("strategy.order");
  e.keys.take("strategy.expert_order");
  if (swapped) e.say("--use-tp-pp-dp-mapping");
}

// arguments.py: sequence parallelism is turned off without tensor parallelism; etp is tp where it is not said.
void read_degrees(Import& i) {
  const auto tp = i.experiment.count("strategy.tp");
  if (i.said("--sequence-parallel")) {
    const Argument* flag = i.take("--sequence-parallel");
    const bool splits = tp.value_or(1) > 1;
    if (!splits) i.remark(*flag, "turned off with --tensor-model-parallel-size 1");
    i.experiment.put("strategy.sequence_parallel", splits ? "true" : "false", flag->place);
  }
  if (i.said("--num-experts")) {
    const auto etp = i.count("--expert-tensor-parallel-size");
    i.experiment.put("strategy.etp", std::to_string(etp.value_or(tp.value_or(1))), {});
  } else {
    i.no_effect("--expert-tensor-parallel-size", "without --num-experts");
  }
}
void write_degrees(Export& e) {
  const experiment::StrategyChoice& s = e.job.experiment().strategy;
  for (const char* key : {"strategy.dp", "strategy.micro_batches", "strategy.etp"}) e.keys.take(key);
  if (e.job.parts().model.moe) e.say("--expert-tensor-parallel-size", s.etp);
  if (s.vocab_parallel.value_or(s.tp > 1) == (s.tp > 1)) e.keys.take("strategy.vocab_parallel");
  if (s.sequence_parallel && s.tp > 1) e.say("--sequence-parallel");
  if (!s.sequence_parallel || s.tp > 1) e.keys.take("strategy.sequence_parallel");
}

// arguments.py and Transformer Engine's AttnFuncWithCP*: how context-parallel ranks share attention.
constexpr Pair k_cp_types[] = {{"p2p", "megatron-p2p"},
                               {"all_gather", "megatron-all-gather"},
                               {"a2a", "megatron-a2a"},
                               {"a2a+p2p", "megatron-a2a-p2p"}};
constexpr const char* k_cp_type = "--cp-comm-type";
constexpr const char* k_cp_levels = "--hierarchical-context-parallel-sizes";
void read_context(Import& i) {
  if (i.experiment.count("strategy.cp").value_or(1) == 1) {
    for (const char* name : {k_cp_type, k_cp_levels}) i.no_effect(name, "without --context-parallel-size above 1");
    return;
  }
  const Word* type = i.word(k_cp_type);
  const auto* found = type == nullptr ? std::begin(k_cp_types)
                                      : std::find_if(std::begin(k_cp_types), std::end(k_cp_types),
                                                     [&](const Pair& each) { return each.theirs == type->text; });
  if (found == std::end(k_cp_types))
    return i.error(type->place, k_cp_type, fmt::format("{} is no such type", config::quote(type->text)),
                   "use p2p, all_gather, a2a or a2a+p2p");
  i.experiment.put("strategy.attention.scheme", std::string(found->ours),
                   type == nullptr ? config::Place{} : type->place);
  const Argument* levels = i.take(k_cp_levels);
  if (levels == nullptr) return;
  if (found->theirs != "a2a+p2p") return i.remark(*levels, "of a2a+p2p alone");
  if (levels->values.size() != 2)
    return i.error(levels->place, k_cp_levels, "is not two sizes", "give the ranks of a2a, then those of p2p");
  i.experiment.put("strategy.attention.heads", levels->values.front().text, levels->place);
}
void write_context(Export& e) {
  const plan::AttentionSharing& sharing = e.job.strategy().attention;
  if (sharing.scheme == nullptr) return;
  const auto* found = std::find_if(std::begin(k_cp_types), std::end(k_cp_types),
                                   [&](const Pair& each) { return each.ours == sharing.scheme->name; });
  if (found == std::end(k_cp_types))
    return e.unsaid("strategy.attention", "Megatron-LM shares attention by p2p, all_gather, a2a or a2a+p2p");
  if (sharing.fp32_gradients)
    return e.unsaid("strategy.attention", "Megatron-LM sends the parts of dK and dV in the format of K and V");
  e.keys.take("strategy.attention");
  e.say(k_cp_type, std::string(found->theirs));
  if (found->theirs != "a2a+p2p") return;
  Argument levels{.name = k_cp_levels};
  for (const std::int64_t size : {sharing.grid.head_ranks, sharing.grid.token_ranks()})
    levels.values.push_back({.text = std::to_string(size)});
  e.arguments.push_back(std::move(levels));
}

// data_parallel_sharding_strategy by the stages of ZeRO.
constexpr const char* k_sharding[] = {"no_shard", "optim", "optim_grads", "optim_grads_params"};
void read_zero_stage(Import& i) {
  const Argument* fsdp = i.take("--use-megatron-fsdp");
  const Argument* torch = i.take("--use-torch-fsdp2");
  const Argument* sharded = i.take("--use-distributed-optimizer");
  if (fsdp != nullptr && torch != nullptr)
    i.error(torch->place, torch->name, "beside --use-megatron-fsdp", "keep one of the two");
  if (torch != nullptr && sharded != nullptr)
    i.error(torch->place, torch->name, "beside --use-distributed-optimizer, which Megatron-LM refuses",
            "keep one of the two");
  std::size_t stage = sharded != nullptr ? 1 : 0;
  if (torch != nullptr) {
    stage = 3;
    if (i.flag("--torch-fsdp2-no-reshard-after-forward"))
      i.experiment.put("strategy.zero.reshard_after_forward", "false", torch->place);
  }
  if (fsdp != nullptr) {
    const Word* word = i.word("--data-parallel-sharding-strategy");
    const auto* found = word == nullptr ? std::end(k_sharding) - 1
                                        : std::find(std::begin(k_sharding), std::end(k_sharding), word->text);
    if (found == std::end(k_sharding))
      return i.error(word->place, "--data-parallel-sharding-strategy",
                     fmt::format("{} is no strategy", config::quote(word->text)),
                     fmt::format("use one of {}", fmt::join(k_sharding, ", ")));
    stage = static_cast<std::size_t>(found - k_sharding);
    i.word("--ckpt-format");  // which Megatron-FSDP asks for
  }
  i.no_effect("--data-parallel-sharding-strategy", "without --use-megatron-fsdp");
  i.no_effect("--torch-fsdp2-no-reshard-after-forward", "without --use-torch-fsdp2");
  i.experiment.put("strategy.zero.stage", std::to_string(stage), {});
}

// arguments.py 965: a gather is overlapped beside shards of the optimizer's state and an overlapped reduction.
constexpr const char* k_gather = "--overlap-param-gather";
void read_gather(Import& i) {
  const Argument* gather = i.take(k_gather);
  i.experiment.put("strategy.overlap.dp.gather", gather != nullptr ? "true" : "false", {});
  if (gather == nullptr) return;
  if (i.experiment.text("strategy.zero.stage") == "0")
    i.error(gather->place, k_gather, "without --use-distributed-optimizer", "say that, too, or leave it out");
  if (!i.said("--overlap-grad-reduce"))
    i.error(gather->place, k_gather, "without --overlap-grad-reduce", "say that, too, or leave it out");
}
void write_gather(Export& e) {
  // Without shards nothing is gathered.
  if (!e.job.strategy().overlap_parameter_gather || e.job.experiment().strategy.zero.stage == 0) {
    e.keys.take("strategy.overlap.dp.gather");
    return;
  }
  if (!e.job.strategy().overlap_gradient_reduce)
    return e.unsaid("strategy.overlap.dp.gather", "Megatron-LM refuses it without --overlap-grad-reduce");
  e.keys.take("strategy.overlap.dp.gather");
  e.say(k_gather);
}

void read_zero(Import& i) {
  read_zero_stage(i);
  const bool sharded = i.experiment.count("strategy.zero.stage").value_or(0) > 0;
  if (const auto copies = i.count("--num-distributed-optimizer-instances"); copies && *copies > 1) {
    if (sharded)
      i.experiment.put("strategy.zero.replicate", std::to_string(*copies),
                       i.take("--num-distributed-optimizer-instances")->place);
    else
      i.error(i.take("--num-distributed-optimizer-instances")->place, "--num-distributed-optimizer-instances",
              "without --use-distributed-optimizer", "say that, too, or leave it out");
  }
  if (const Argument* offload = i.take("--optimizer-cpu-offload")) {
    i.experiment.put("strategy.zero.offload.optimizer", "host", offload->place);
    const Word* share = i.word("--optimizer-offload-fraction");
    if (share != nullptr && share->text != "1.0" && share->text != "1")
      i.remark(*i.take("--optimizer-offload-fraction"), "Cairn offloads all of the optimizer's state");
  }
  i.no_effect("--optimizer-offload-fraction", "without --optimizer-cpu-offload");
}
void write_zero(Export& e) {
  const experiment::Zero& zero = e.job.experiment().strategy.zero;
  const experiment::Experiment written = e.job.written_out(experiment::Naming::by_name);
  for (const char* key : {"strategy.zero.stage", "strategy.zero.shard", "strategy.zero.replicate"}) e.keys.take(key);
  if (zero.stage == 1) e.say("--use-distributed-optimizer");
  if (zero.stage > 1) {
    e.say("--use-megatron-fsdp");
    e.say("--data-parallel-sharding-strategy", k_sharding[zero.stage]);
    e.say("--ckpt-format", "fsdp_dtensor");
  }
  if (const std::int64_t copies = written.strategy.zero.replicate.value_or(1); copies > 1)
    e.say("--num-distributed-optimizer-instances", copies);
  const software::Sharding& defaults = e.job.framework().sharding;
  const bool parameters = zero.stage == 3;
  if (!parameters || e.job.strategy().prefetch == (e.job.strategy().overlap_parameter_gather ? defaults.prefetch : 0))
    e.keys.take("strategy.zero.prefetch");
  if (!parameters || e.job.strategy().reshard_after_forward == defaults.reshard_after_forward)
    e.keys.take("strategy.zero.reshard_after_forward");
  if (!zero.offload) return;
  const experiment::OffloadChoice& offload = *zero.offload;
  if (offload.optimizer == experiment::Place::host && !offload.policy) {
    e.keys.take("strategy.zero.offload.optimizer");
    e.say("--optimizer-cpu-offload");
  }
}

// transformer_config.py, recompute_granularity.
void read_recompute(Import& i) {
  const Word* granularity = i.word("--recompute-granularity");
  const Argument* old_flag = i.take("--recompute-activations");
  const std::string kind = old_flag != nullptr ? "selective" : granularity != nullptr ? granularity->text : "";
  const config::Place place = old_flag != nullptr      ? old_flag->place
                              : granularity != nullptr ? granularity->place
                                                       : config::Place{};
  const Word* method = i.word("--recompute-method");
  const auto count = i.count("--recompute-num-layers");
  if (kind == "full") {
    if (method == nullptr || !count)
      return i.error(place, "--recompute-granularity", "full needs --recompute-method and --recompute-num-layers",
                     "say both");
    i.experiment.put("strategy.recompute.kind", "full", place);
    i.experiment.put("strategy.recompute.method", method->text, method->place);
    i.experiment.put("strategy.recompute.count", std::to_string(*count), i.take("--recompute-num-layers")->place);
    if (const Argument* shares = i.take("--distribute-saved-activations"))
      i.experiment.put("strategy.recompute.share_saved_inputs", "true", shares->place);
  } else if (kind == "selective") {
    if (count)
      return i.error(i.take("--recompute-num-layers")->place, "--recompute-num-layers", "with selective recomputation",
                     "leave it out");
    i.experiment.put("strategy.recompute.kind", "attention", place);
    if (const Argument* modules = i.take("--recompute-modules"); modules != nullptr)
      for (const Word& module : modules->values)
        if (module.text != "core_attn")
          i.remark(
              *modules,
              fmt::format("of these modules Cairn recomputes core_attn alone; {}: see strategy.recompute.operators",
                          config::quote(module.text)));
  } else if (!kind.empty()) {
    return i.error(place, "--recompute-granularity", fmt::format("{} is no granularity", config::quote(kind)),
                   "use full or selective");
  } else {
    i.experiment.put("strategy.recompute", "none", {});
  }
  i.no_effect("--distribute-saved-activations", "without full recomputation");
  i.no_effect("--recompute-modules", "without selective recomputation");
}
void write_recompute(Export& e) {
  using experiment::RecomputeKind;
  const experiment::Recompute& r = e.job.experiment().strategy.recompute;
  const bool shares = e.job.strategy().share_saved_inputs;
  if (r.operators) return e.unsaid("strategy.recompute", "operators by name are not Megatron-LM's modules");
  if (r.layers) return e.unsaid("strategy.recompute", "Megatron-LM cannot choose layers one by one");
  if (r.kind == RecomputeKind::per_op) return e.unsaid("strategy.recompute", "it recomputes attention or whole layers");
  if (r.kind == RecomputeKind::attention && r.method)
    return e.unsaid("strategy.recompute", "attention is recomputed in all layers");
  e.keys.take("strategy.recompute");
  if (r.kind == RecomputeKind::none) return;
  e.say("--recompute-granularity", r.kind == RecomputeKind::full ? "full" : "selective");
  if (r.kind == RecomputeKind::attention) return e.say("--recompute-modules", "core_attn");
  e.say("--recompute-method", r.method == experiment::RecomputeMethod::block ? "block" : "uniform");
  e.say("--recompute-num-layers", r.count.value_or(1));
  if (shares) e.say("--distribute-saved-activations");
}

// Buckets are counted in elements of the format that gradients are reduced in.
constexpr std::int64_t k_most_bucket = std::int64_t{1} << 50;
void read_bucket(Import& i) {
  const auto elements = i.count("--ddp-bucket-size");
  if (!elements) return;
  const config::Node* precision = i.experiment.find("training.precision");
  const std::string recipe = precision == nullptr ? "" : precision->is_scalar() ? precision->text : "";
  const bool two_bytes =
      recipe == "fp16" || recipe == "bf16-bf16-gradients" || i.experiment.text("training.precision.reduce") == "bf16";
  const std::int64_t bytes = two_bytes ? 2 : 4;
  if (*elements == 0 || *elements > k_most_bucket)
    return i.error(i.take("--ddp-bucket-size")->place, "--ddp-bucket-size", "no size of a bucket",
                   "write elements, as in 40000000");
  i.experiment.put("strategy.overlap.dp.bucket", fmt::format("{} B", *elements * bytes),
                   i.take("--ddp-bucket-size")->place);
}
void write_bucket(Export& e) {
  const plan::Strategy& strategy = e.job.strategy();
  const numerics::Format reduce = e.job.recipe().reduce;
  const double usual = e.job.framework().overlap.bucket.size(strategy.data, reduce).base();
  const double bytes = numerics::bytes_per_element(reduce);
  const double elements = static_cast<double>(strategy.bucket_bytes) / bytes;
  if (static_cast<double>(strategy.bucket_bytes) == static_cast<double>(usual)) {
    e.keys.take("strategy.overlap.dp.bucket");
  } else if (e.precision_unsaid) {
    e.unsaid("strategy.overlap.dp.bucket", "it is said in elements of a format that is not said");
  } else if (const std::optional<std::int64_t> whole = whole_number(elements, k_most_bucket)) {
    e.keys.take("strategy.overlap.dp.bucket");
    e.say("--ddp-bucket-size", *whole);
  } else {
    e.unsaid("strategy.overlap.dp.bucket", "no whole number of elements");
  }
}

void read_expert_overlap(Import& i) {
  if (!i.said("--num-experts")) {
    for (const char* name : {"--moe-shared-expert-overlap", "--overlap-moe-expert-parallel-comm"})
      i.no_effect(name, "without --num-experts");
    return;
  }
  const Argument* shared = i.take("--moe-shared-expert-overlap");
  const Argument* batches = i.take("--overlap-moe-expert-parallel-comm");
  if (shared != nullptr && batches != nullptr)
    return i.error(shared->place, shared->name, "beside --overlap-moe-expert-parallel-comm, which Megatron-LM refuses",
                   "keep one of the two");
  const char* kind = batches != nullptr ? "two-batch" : shared != nullptr ? "shared" : "none";
  i.experiment.put("strategy.overlap.ep.kind", kind, {});
}
void write_expert_overlap(Export& e) {
  const std::string kind = e.keys.take("strategy.overlap.ep.kind");
  if (!e.job.parts().model.moe) return;
  if (kind == "shared") e.say("--moe-shared-expert-overlap");
  if (kind == "two-batch") e.say("--overlap-moe-expert-parallel-comm");
}

}  // namespace

std::vector<Row> megatron_strategy_rows() {
  return {
      {.argument = "--micro-batch-size", .key = "strategy.micro_batch", .required = true},
      {.argument = "--tensor-model-parallel-size", .key = "strategy.tp", .unsaid = "1"},
      {.argument = "--pipeline-model-parallel-size", .key = "strategy.pp", .unsaid = "1"},
      {.argument = "--context-parallel-size", .key = "strategy.cp", .unsaid = "1"},
      {.argument = "--expert-model-parallel-size", .key = "strategy.ep", .unsaid = "1"},
      {.argument = "--overlap-grad-reduce",
       .key = "strategy.overlap.dp.reduce",
       .kind = Kind::flag,
       .words = {{"", "true"}},
       .unsaid = "false"},
      {.argument = "--no-overlap-p2p-communication",
       .key = "strategy.overlap.pp",
       .kind = Kind::flag,
       .words = {{"", "false"}},
       .unsaid = "true"},
      {.argument = "--tp-comm-overlap",
       .key = "strategy.overlap.tp.kind",
       .kind = Kind::flag,
       .words = {{"", "chunked"}}},
  };
}

std::vector<Rule> megatron_strategy_rules() {
  return {{.read = read_order, .write = write_order},     {.read = read_degrees, .write = write_degrees},
          {.read = read_context, .write = write_context}, {.read = read_zero, .write = write_zero},
          {.read = read_gather, .write = write_gather},   {.read = read_recompute, .write = write_recompute},
          {.read = read_bucket, .write = write_bucket},   {.read = read_expert_overlap, .write = write_expert_overlap}};
}

std::vector<Fixed> megatron_strategy_fixed() {
  return {{"strategy.overlap.tp.beside", "true"}, {"strategy.overlap.tp.chunks", "4"}, {"strategy.overlap.pp", "true"}};
}

}  // namespace cairn::launch
