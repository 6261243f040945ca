// Sharding, stages, activation checkpointing of torchtitan.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/config/units.h"
#include "numbers.h"
#include "torchtitan.h"

namespace cairn::launch {
namespace {

constexpr const char* k_replicate = "parallelism.data_parallel_replicate_degree";
constexpr const char* k_shard = "parallelism.data_parallel_shard_degree";
constexpr const char* k_reshard = "parallelism.fsdp_reshard_after_forward";
constexpr const char* k_async = "parallelism.enable_async_tensor_parallel";
constexpr const char* k_schedule = "parallelism.pipeline_parallel_schedule";
constexpr const char* k_stage_layers = "parallelism.pipeline_parallel_layers_per_stage";
constexpr const char* k_first_less = "parallelism.pipeline_parallel_first_stage_less_layers";
constexpr const char* k_last_less = "parallelism.pipeline_parallel_last_stage_less_layers";
constexpr const char* k_checkpointing = "activation_checkpoint.mode";
constexpr const char* k_selection = "activation_checkpoint.selective_ac_option";

// Tensor parallelism splits sequences and the vocabulary along with it (infra/parallelize.py, apply_tp).
void read_titan_tensor(Import& i) {
  const std::int64_t tp = i.experiment.count("strategy.tp").value_or(1);
  i.experiment.put("strategy.sequence_parallel", tp > 1 ? "true" : "false", {});
  const Word* overlaps = i.word(k_async);
  if (overlaps != nullptr && overlaps->text == "true") {
    if (i.experiment.text("training.kernels.compiled") == "true" && tp > 1)
      i.experiment.put("strategy.overlap.tp.kind", "chunked", overlaps->place);
    else
      i.remark(*i.take(k_async), "without tensor parallelism and the compiler it has no effect");
  }
}
void write_titan_tensor(Export& e) {
  const plan::Strategy& s = e.job.strategy();
  for (const char* key : {"strategy.dp", "strategy.micro_batches"}) e.keys.take(key);
  if (s.sequence_parallel == (s.tensor > 1)) e.keys.take("strategy.sequence_parallel");
  if (s.vocab_parallel == (s.tensor > 1)) e.keys.take("strategy.vocab_parallel");
  if (s.tensor > 1 && s.tensor_pieces.kind == plan::TensorPieces::Kind::chunked &&
      e.keys.text("training.kernels.compiled") == "true") {
    e.keys.take("strategy.overlap.tp.kind");
    e.say(k_async, "true");
  }
  const experiment::StrategyChoice& choice = e.job.experiment().strategy;
  const experiment::StrategyChoice usual;
  if (choice.order == usual.order && choice.expert_order == usual.expert_order)
    for (const char* key : {"strategy.order", "strategy.expert_order"}) e.keys.take(key);
}

// FSDP over shard_degree ranks, -1: those that are left; DDP where these are 1.
void read_titan_zero(Import& i) {
  const std::int64_t replicate = i.count(k_replicate).value_or(1);
  const Word* word = i.word(k_shard);
  const std::int64_t model = i.degree("strategy.tp") * i.degree("strategy.pp") * i.degree("strategy.cp");
  std::int64_t shard = word != nullptr ? config::parse_whole(word->text).value_or(0) : -1;
  const config::Place place = word != nullptr ? word->place : config::Place{};
  if (shard == 0 || shard < -1 || replicate < 1)
    return i.error(place, k_shard, "is no degree", "write a number of ranks, or -1");
  if (i.ranks && *i.ranks % model == 0) {
    const std::int64_t data = *i.ranks / model;
    if (shard == -1) shard = data % replicate == 0 ? data / replicate : 0;
    if (shard < 1 || shard > data || replicate > data || shard * replicate != data)
      return i.error(place, k_shard,
                     fmt::format("{} x {} ranks are not the {} of data parallelism", shard, replicate, data),
                     "choose a degree, or --nodes, so that they are");
  }
  const Word* policy = i.word(k_reshard);
  const std::string reshard = policy != nullptr ? policy->text : "default";
  if (reshard != "default" && reshard != "always" && reshard != "never")
    return i.error(policy->place, k_reshard, fmt::format("{} is no policy", config::quote(reshard)),
                   "use default, always or never");
  if (shard == 1) return i.experiment.put("strategy.zero.stage", "0", place);
  const bool pipelined = i.experiment.count("strategy.pp").value_or(1) > 1;
  i.experiment.put("strategy.zero.stage", "3", place);
  if (replicate > 1) i.experiment.put("strategy.zero.replicate", std::to_string(replicate), place);
  i.experiment.put("strategy.zero.reshard_after_forward",
                   (reshard == "default" ? !pipelined : reshard == "always") ? "true" : "false", {});
}
void write_titan_zero(Export& e) {
  const plan::Strategy& s = e.job.strategy();
  const std::int64_t stage = e.job.experiment().strategy.zero.stage;
  const std::int64_t shard = s.shard == 0 ? s.data : s.shard;
  const bool sharded = stage == 3 && shard > 1;
  e.say(k_replicate, sharded ? s.data / shard : s.data);
  e.say(k_shard, sharded ? shard : 1);
  if (stage == 0) e.keys.take("strategy.zero.stage");
  for (const char* key : {"strategy.zero.shard", "strategy.zero.replicate"}) e.keys.take(key);
  if (stage < 3)
    for (const char* key : {"strategy.zero.prefetch", "strategy.zero.reshard_after_forward"}) e.keys.take(key);
  if (stage > 0 && !sharded) {
    e.keys.take("strategy.zero.reshard_after_forward");
    const config::Node* zero = e.keys.find("strategy.zero");
    if (zero != nullptr)
      return e.unsaid(
          "strategy.zero",
          "torchtitan shards parameters with all that belongs to them, over more than one rank, or nothing");
  }
  if (!sharded) return;
  for (const char* key : {"strategy.zero.stage", "strategy.zero.reshard_after_forward"}) e.keys.take(key);
  e.say(k_reshard, s.reshard_after_forward ? "always" : "never");
}

// pipeline_parallel.py, generate_llm_fqn_per_model_part: embedding and head count for so many layers.
std::vector<std::int64_t> titan_stages(std::int64_t layers, std::int64_t count, std::int64_t first_less,
                                       std::int64_t last_less) {
  const std::int64_t all = layers + first_less + last_less;
  std::vector<std::int64_t> stages(static_cast<std::size_t>(count), all / count);
  for (std::int64_t stage = 0; stage < all % count; ++stage) ++stages[static_cast<std::size_t>(stage)];
  stages.front() -= first_less;
  stages.back() -= last_less;
  return stages;
}

struct TitanSchedule {
  const char* theirs;
  const char* ours;
  bool chunked;  // its virtual stages are to choose
  bool single;   // one stage a device; else two by default
};
constexpr TitanSchedule k_titan_schedules[] = {{"1F1B", "1f1b", false, true},
                                               {"GPipe", "gpipe", false, true},
                                               {"Interleaved1F1B", "interleaved-1f1b", true, false},
                                               {"LoopedBFS", "breadth-first", true, false},
                                               {"ZBVZeroBubble", "zb-v", false, false},
                                               {"DualPipeV", "dualpipev", false, false}};

void read_titan_stages(Import& i) {
  const std::int64_t pp = i.experiment.count("strategy.pp").value_or(1),
                     layers = i.experiment.count("model.layers").value_or(0);
  constexpr std::int64_t k_most = 1 << 16;
  if (pp <= 1 || pp > k_most || layers == 0) {
    for (const char* name : {k_schedule, k_stage_layers, k_first_less, k_last_less})
      i.no_effect(name, "without pipeline stages");
    return;
  }
  const Word* word = i.word(k_schedule);
  const auto* kind =
      std::find_if(std::begin(k_titan_schedules), std::end(k_titan_schedules),
                   [&](const TitanSchedule& each) { return each.theirs == (word != nullptr ? word->text : "1F1B"); });
  if (kind == std::end(k_titan_schedules)) {
    std::vector<std::string_view> all;
    for (const TitanSchedule& each : k_titan_schedules) all.emplace_back(each.theirs);
    return i.error(word->place, k_schedule, fmt::format("{} has no counterpart in Cairn", config::quote(word->text)),
                   fmt::format("use one of {}", fmt::join(all, ", ")));
  }
  const std::int64_t first = i.count(k_first_less).value_or(1), last = i.count(k_last_less).value_or(1);
  if (first > k_most || last > k_most || layers > k_most)
    return i.error({}, k_first_less, "is beyond what is modelled", "choose a smaller number");
  std::int64_t stages = pp * (kind->single ? 1 : 2);
  if (const auto each = i.count(k_stage_layers)) {
    if (*each == 0)
      return i.error(i.take(k_stage_layers)->place, k_stage_layers, "is no number of layers", "write one above 0");
    stages = (layers + first + last + *each - 1) / *each;
    if (stages % pp != 0 || (kind->single ? stages != pp : stages / pp < 2))
      return i.error(i.take(k_stage_layers)->place, k_stage_layers,
                     fmt::format("makes {} stages, which {} on {} ranks does not take", stages, kind->theirs, pp),
                     "choose another number of layers");
  }
  if (const std::int64_t least = (layers + first + last) / stages; first > least || last > least || least == 0)
    return i.error({}, k_first_less,
                   fmt::format("embedding or head count for more than the {} layers of a stage", least),
                   "choose a smaller number");
  i.experiment.put("strategy.schedule.kind", kind->ours, word != nullptr ? word->place : config::Place{});
  if (kind->chunked) i.experiment.put("strategy.schedule.chunks", std::to_string(stages / pp), {});
  config::Node list = config::make_node(config::NodeKind::list, {});
  for (const std::int64_t each : titan_stages(layers, stages, first, last))
    list.items.push_back(config::make_scalar(std::to_string(each), {}));
  i.experiment.put("strategy.stages", std::move(list));
}
void write_titan_stages(Export& e) {
  const plan::Strategy& s = e.job.strategy();
  if (s.pipeline == 1 && s.schedule == "1f1b" && s.chunks == 1) {
    e.keys.take("strategy.stages");
    e.keys.take("strategy.schedule");
    return;
  }
  const auto* kind = std::find_if(std::begin(k_titan_schedules), std::end(k_titan_schedules),
                                  [&](const TitanSchedule& each) { return s.schedule == each.ours; });
  const std::vector<std::int64_t>& stages = s.stage_layers;
  const auto count = static_cast<std::int64_t>(stages.size());
  if (s.pipeline == 1 || kind == std::end(k_titan_schedules) || (kind->chunked && s.chunks < 2)) {
    e.unsaid("strategy.stages", "its schedule is not said");
    return e.unsaid("strategy.schedule", "torchtitan has no such schedule");
  }
  e.keys.take("strategy.schedule.kind");
  e.keys.take("strategy.schedule.chunks");
  e.say(k_schedule, kind->theirs);
  const std::int64_t layers = e.job.parts().model.layers;
  constexpr std::int64_t k_tried = 128;  // layers that embedding or head count for
  for (std::int64_t first = 0; first <= std::min(layers, k_tried); ++first)
    for (std::int64_t last = 0; last <= std::min(layers, k_tried); ++last) {
      const std::int64_t all = layers + first + last, least = all / count;
      if (least == 0 || first > least || last > least) continue;
      if (stages.front() != least + (all % count > 0 ? 1 : 0) - first || stages.back() != least - last) continue;
      if (titan_stages(layers, count, first, last) != stages) continue;
      // As many layers a stage as make so many of them.
      const std::int64_t each = (layers + first + last + count - 1) / count;
      const bool usual = count == s.pipeline * (kind->single ? 1 : 2);
      if (!usual && (layers + first + last + each - 1) / each != count) continue;
      e.keys.take("strategy.stages");
      e.say(k_first_less, first);
      e.say(k_last_less, last);
      if (!usual) e.say(k_stage_layers, each);
      return;
    }
  if (kind->chunked && s.chunks != 2)
    e.unsaid("strategy.schedule.chunks", "torchtitan takes them from the layers of a stage");
  e.unsaid("strategy.stages", "torchtitan spreads layers evenly but for embedding and head");
}

// activation_checkpoint.py: full layers, every n-th of them, or operators within them.
void read_titan_checkpointing(Import& i) {
  const Word* mode = i.word(k_checkpointing);
  const Word* option = i.word(k_selection);
  const std::string kind = mode != nullptr ? mode->text : "selective", choice = option != nullptr ? option->text : "2";
  const config::Place place = mode != nullptr ? mode->place : config::Place{};
  if (kind == "none" || kind == "full") {
    if (option != nullptr) i.remark(*i.take(k_selection), fmt::format("without {} = \"selective\"", k_checkpointing));
    return i.experiment.put("strategy.recompute.kind", kind, place);
  }
  if (kind != "selective")
    return i.error(place, k_checkpointing, fmt::format("{} has no counterpart in Cairn", config::quote(kind)),
                   "use none, full or selective");
  if (choice == "op") return i.experiment.put("strategy.recompute.kind", "per-op", place);
  const auto every = config::parse_whole(choice);
  const std::int64_t layers = i.experiment.count("model.layers").value_or(0);
  if (!every || *every < 0 || layers == 0)
    return i.error(option != nullptr ? option->place : place, k_selection,
                   fmt::format("{} is no choice", config::quote(choice)), "use op, or a number: every so many layers");
  i.experiment.put("strategy.recompute.kind", *every > layers ? "none" : "full", place);
  if (*every <= 1 || *every > layers) return;
  config::Node list = config::make_node(config::NodeKind::list, place);
  for (std::int64_t layer = *every - 1; layer < layers; layer += *every)
    list.items.push_back(config::make_scalar(std::to_string(layer), place, true));
  i.experiment.put("strategy.recompute.layers", std::move(list));
  if (i.experiment.count("strategy.pp").value_or(1) > 1 && mode != nullptr)
    i.remark(*i.take(k_checkpointing), "every device counts its own layers; the experiment counts through the model");
}
void write_titan_checkpointing(Export& e) {
  const plan::Strategy& s = e.job.strategy();
  const auto said = [&](const char* mode, const std::string& option) {
    e.keys.take("strategy.recompute");
    e.say(k_checkpointing, mode);
    if (!option.empty()) e.arguments.push_back({.name = k_selection, .values = {{.text = option}}, .quoted = true});
  };
  const bool all_layers =
      s.recompute_layers.ranges.empty() && s.recompute_layers.method == plan::RecomputeMethod::every;
  const bool grouped_by_one = s.recompute_layers.ranges.empty() &&
                              s.recompute_layers.method == plan::RecomputeMethod::uniform &&
                              s.recompute_layers.count == 1;
  if (s.share_saved_inputs)
    return e.unsaid("strategy.recompute", "torchtitan keeps the whole input of a layer on every rank");
  if (s.recompute == plan::Recompute::none) return said("none", {});
  if (s.recompute == plan::Recompute::full && (all_layers || grouped_by_one)) return said("full", {});
  if (s.recompute == plan::Recompute::per_op && all_layers) return said("selective", "op");
  const std::vector<plan::LayerRange>& ranges = s.recompute_layers.ranges;
  if (s.recompute == plan::Recompute::full && s.recompute_layers.method == plan::RecomputeMethod::every &&
      !ranges.empty()) {
    const std::int64_t every = ranges.front().first + 1, layers = e.job.parts().model.layers;
    bool periodic = every > 1 && static_cast<std::int64_t>(ranges.size()) == layers / every;
    for (std::size_t n = 0; n < ranges.size(); ++n)
      periodic = periodic && ranges[n].first == ranges[n].last &&
                 ranges[n].first == static_cast<std::int64_t>(n + 1) * every - 1;
    if (periodic) return said("selective", std::to_string(every));
  }
  e.unsaid("strategy.recompute", "torchtitan recomputes all layers, every n-th, or operators of its own choice");
}

void write_profile(Export& e) { e.take_usual(); }

}  // namespace

std::vector<Rule> torchtitan_strategy_rules() {
  return {{.read = read_titan_tensor, .write = write_titan_tensor},
          {.read = read_titan_zero, .write = write_titan_zero},
          {.read = read_titan_stages, .write = write_titan_stages},
          {.read = read_titan_checkpointing, .write = write_titan_checkpointing},
          {.write = write_profile}};
}

}  // namespace cairn::launch
