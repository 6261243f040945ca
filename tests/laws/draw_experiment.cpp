#include <algorithm>
#include <optional>

#include "cairn/core/diagnostics.h"
#include "cairn/pipeline/generators.h"
#include "cairn/sequence/scheme.h"
#include "random_experiments.h"

namespace cairn::laws {
namespace {

using pipeline::Phase;

// An order of work that is accepted, and what it asks of the rest.
struct DrawnSchedule {
  Json setting;
  std::int64_t micro_batches = 1;
  std::int64_t passed = 1;  // virtual stages that a micro-batch passes
  bool splits = false;
  bool exchanges = false;  // parameters, beside the passes
  bool copies = false;     // activations, to the host
  bool updates = false;    // within the step
};

class ExperimentDraw {
 public:
  ExperimentDraw(std::uint64_t seed, const Shelf& shelf, const Wanted& wanted)
      : draw_(seed), sharing_(~seed), shelf_(shelf), wanted_(wanted) {}

  Json result() {
    cluster_ = draw_cluster(draw_, shelf_);
    degrees();
    schedule();
    std::int64_t layers = schedule_.passed * draw_.between(1, schedule_.passed > 4 ? 1 : 3) +
                          (draw_.chance(0.3) ? draw_.between(0, 2) : 0);
    if (draw_.chance(0.1)) layers = std::max<std::int64_t>(1, schedule_.passed - draw_.between(1, 2));
    sequence_ = tp_ * (draw_.chance(0.9) ? draw_.power_of_two(4, 12) : draw_.between(1, 5000));
    if (draw_.chance(0.03)) sequence_ = draw_.power_of_two(14, 17);
    model_ = draw_model(
        draw_, shelf_,
        {.tp = tp_, .layers = layers, .sequence = sequence_, .separate_ends = schedule_.updates && draw_.chance(0.9)});
    layers_ = model_.layers;
    share_sequences();
    if (!cluster_.named || draw_.chance(0.1))
      calibration_ = draw_.chance(0.7) ? cluster_.accelerator : draw_.of(shelf_.calibrations);
    Json experiment{{"version", 1}};
    if (draw_.coin()) experiment["name"] = draw_.word({"drawn", "drawn again"});
    experiment["model"] = model_.model;
    experiment["cluster"] = cluster_.cluster;
    experiment["training"] = training();
    experiment["strategy"] = strategy();
    if (!calibration_.empty()) experiment["calibration"] = calibration_;
    if (draw_.chance(0.6)) experiment["simulation"] = simulation();
    if (draw_.chance(0.2))
      experiment["training"]["tokens"] = draw_.coin() ? Json(1e9 * static_cast<double>(draw_.between(1, 20'000)))
                                                      : Json(fmt::format("{} G tokens", draw_.between(1, 20'000)));
    return experiment;
  }

 private:
  void degrees() {
    pp_ = draw_.divisor_of(cluster_.gpus);
    if (pp_ > 8 || draw_.chance(0.35)) pp_ = 1;
    tp_ = draw_.divisor_of(cluster_.gpus / pp_);
    if (tp_ > 8 || draw_.chance(0.3)) tp_ = 1;
    dp_ = cluster_.gpus / pp_ / tp_;
    micro_batch_ = draw_.one<std::int64_t>({1, 1, 1, 2, 4, 3});
  }

  // Ranks that would hold copies share sequences instead. Layers that look at a part of the sequence seldom may.
  void share_sequences() {
    if (!sharing_.chance(0.4)) return;
    const bool mixes = model_.model.contains("blocks") || model_.model.contains("delta") ||
                       model_.model.contains("mamba2") || model_.one_kernel;
    if (mixes && sharing_.chance(0.9)) return;
    const std::int64_t ranks = sharing_.divisor_of(dp_);
    if (ranks > 16 || (sequence_ % (2 * ranks) != 0 && sharing_.chance(0.9))) return;
    cp_ = ranks;
    dp_ /= ranks;
  }

  // Settings of a kind, as it may take them or not.
  std::optional<DrawnSchedule> try_schedule(const pipeline::Generator& kind) {
    namespace takes = pipeline::takes;
    const auto has = [&](std::uint32_t option) { return (kind.options & option) != 0; };
    DrawnSchedule result;
    pipeline::Settings settings{.stages = static_cast<std::int32_t>(pp_)};
    settings.micro_batches = static_cast<std::int32_t>(draw_.coin() ? pp_ * draw_.between(1, 3) : draw_.between(1, 10));
    Json options{{"kind", kind.kind}};
    const auto set = [&](std::uint32_t option, const char* key, std::int32_t& value, std::int64_t low,
                         std::int64_t high) {
      if (!has(option) || draw_.chance(0.3)) return;
      value = static_cast<std::int32_t>(draw_.between(low, high));
      options[key] = value;
    };
    set(takes::k_chunks, "chunks", settings.chunks, 1, 3);
    set(takes::k_waves, "waves", settings.waves, 1, 2);
    set(takes::k_group, "group", settings.group, 1, 4);
    if (has(takes::k_pipelines) && draw_.coin())
      options["pipelines"] = settings.pipelines = static_cast<std::int32_t>(2 * draw_.between(1, 2));
    if (has(takes::k_memory_limit) && draw_.coin()) {
      settings.memory_limit = static_cast<std::int32_t>(draw_.between(pp_, 2 * pp_ + 2));
      options["memory_limit"] = *settings.memory_limit;
    }
    if (has(takes::k_weight_gradients) && draw_.coin()) {
      const bool fill = draw_.coin();
      options["weight_grads"] = fill ? "fill" : "last";
      if (fill) settings.weight_gradients = pipeline::WeightGradients::fill;
    }
    if (has(takes::k_reorder) && draw_.coin()) options["reorder"] = settings.reorder = draw_.coin();
    if (has(takes::k_continuation) && draw_.coin()) {
      const std::int64_t way = draw_.between(0, 2);
      options["continuation"] = way == 0 ? "concatenate" : way == 1 ? "double-forward" : "halve-backward";
      settings.continuation = static_cast<pipeline::Continuation>(way);
    }
    if (draw_.chance(0.02)) options["vocabulary"] = draw_.word({"whole", "vocab-1", "vocab-2", "interlaced"});
    try {
      const pipeline::Schedule schedule = pipeline::generate(kind.kind, settings);
      const auto runs = [&](Phase phase) {
        return std::any_of(schedule.operations.begin(), schedule.operations.end(),
                           [phase](const auto& operation) { return operation.phase == phase; });
      };
      result.passed = schedule.chain_length;
      result.exchanges = runs(Phase::communication);
      result.copies = runs(Phase::offload);
      result.updates = runs(Phase::optimizer);
    } catch (const core::ConfigurationError&) {
      return std::nullopt;
    }
    result.splits = kind.splits;
    result.micro_batches = settings.micro_batches;
    result.setting = options.size() == 1 && draw_.coin() ? options["kind"] : options;
    return result;
  }

  bool may_order(const pipeline::Generator& kind) const {
    return !wanted_.fixed_plan || (kind.options & pipeline::takes::k_durations) == 0;
  }

  void schedule() {
    constexpr int k_attempts = 4;
    const auto kinds = pipeline::generators();
    const bool any = pp_ > 1 ? draw_.chance(0.7) : draw_.chance(0.15);
    for (int i = 0; any && i < k_attempts; ++i) {
      const pipeline::Generator& kind = kinds[static_cast<std::size_t>(draw_.between(0, std::ssize(kinds) - 1))];
      if (!may_order(kind)) continue;
      const std::optional<DrawnSchedule> drawn = try_schedule(kind);
      if (!drawn || (drawn->copies && !cluster_.host)) continue;
      schedule_ = *drawn;
      return;
    }
    schedule_ = {.setting = draw_.one<Json>({nullptr, "1f1b", "gpipe"}),
                 .micro_batches = draw_.coin() ? pp_ * draw_.between(1, 3) : draw_.between(1, 8),
                 .passed = pp_};
  }

  Json training() {
    const std::int64_t sequences = dp_ * micro_batch_ * schedule_.micro_batches;
    Json training{{"seq_len", sequence_}};
    training["global_batch"] =
        draw_.chance(0.8) ? Json(sequences) : Json(fmt::format("{} tokens", sequences * sequence_));
    const std::vector<std::string>& recipes = shelf_.accelerators.at(cluster_.accelerator).recipes;
    const bool default_runs = std::find(recipes.begin(), recipes.end(), "bf16") != recipes.end();
    if (!default_runs || draw_.chance(0.8)) training["precision"] = draw_precision(draw_, shelf_, cluster_.accelerator);
    if (draw_.coin()) {
      const std::string kind = draw_.word({"adam", "adamw", "sgd", "adafactor", "adam8bit", "sgd8bit"});
      Json map{{"kind", kind}};
      if (draw_.coin()) map["block"] = draw_.one({256, 2048});
      training["optimizer"] = draw_.coin() ? Json(kind) : map;
    }
    framework_ = draw_.chance(0.8) ? draw_.of(names_of(shelf_.frameworks)) : std::string("megatron");
    if (framework_ != "megatron" || draw_.coin()) training["framework"] = framework_;
    if (framework_.find('@') == std::string::npos && draw_.chance(0.1)) training["framework"] = {{"file", framework_}};
    const std::string activations =
        activations_of(shelf_, training.contains("precision") ? training["precision"] : Json());
    if (const Json chosen = kernels(activations == "bf16" || activations == "fp16"); !chosen.empty())
      training["kernels"] = chosen;
    return training;
  }

  // Kernels that keep their scores on chip take 16-bit operands.
  Json kernels(bool sixteen_bits) {
    Json kernels = Json::object();
    const std::string accelerator = calibration_.empty() ? cluster_.accelerator : calibration_;
    std::vector<std::string> known = shelf_.accelerators.at(accelerator).attentions;
    if (model_.one_kernel || cp_ > 1)
      std::erase_if(known, [](const std::string& kernel) { return kernel == "unfused" || kernel == "fused-softmax"; });
    const bool default_runs =
        std::find(known.begin(), known.end(), shelf_.frameworks.at(framework_).attention) != known.end();
    if (!known.empty() && (draw_.chance(cp_ > 1 ? 0.9 : 0.4) || (!default_runs && draw_.chance(0.95))))
      kernels["attention"] = draw_.of(known);
    if (!sixteen_bits && draw_.chance(0.95)) kernels["attention"] = "unfused";
    if (draw_.coin()) return kernels;
    if (draw_.coin()) kernels["norm"] = draw_.word({"fused", "unfused"});
    if (draw_.coin()) kernels["pointwise"] = draw_.word({"fused", "eager"});
    if (draw_.coin()) kernels["loss"] = draw_.word({"fused", "unfused", "log-softmax", "fused-linear"});
    if (draw_.coin()) kernels["compiled"] = draw_.coin();
    return kernels;
  }

  Json strategy() {
    Json strategy = Json::object();
    if (tp_ > 1 || draw_.coin()) strategy["tp"] = tp_;
    if (pp_ > 1 || draw_.coin()) strategy["pp"] = pp_;
    if (draw_.coin()) strategy["dp"] = dp_;
    if (draw_.coin() || cp_ > 1) strategy["cp"] = cp_;
    if (sharing_.chance(cp_ > 1 ? 0.8 : 0.1)) strategy["attention"] = attention();
    if (draw_.coin()) strategy["order"] = draw_.shuffled<std::string>({"tp", "cp", "dp", "pp"});
    const bool sequence_parallel = !model_.moe.is_null() ? tp_ > 1 || draw_.coin() : draw_.chance(0.4);
    if (sequence_parallel || draw_.coin()) strategy["sequence_parallel"] = sequence_parallel;
    experts(strategy);
    if (micro_batch_ > 1 || draw_.coin()) strategy["micro_batch"] = micro_batch_;
    if (draw_.chance(0.2)) strategy["micro_batches"] = schedule_.micro_batches;
    if (draw_.chance(0.3)) strategy["vocab_parallel"] = draw_.coin();
    stages(strategy);
    groups_ = draw_.chance(0.12);
    if (draw_.coin() && !groups_) strategy["zero"] = zero();
    if (schedule_.exchanges && !strategy.contains("zero") && draw_.coin()) strategy["zero"] = 3;
    if (draw_.coin() || groups_) strategy["recompute"] = recompute();
    if (!schedule_.setting.is_null()) strategy["schedule"] = schedule_.setting;
    if (draw_.chance(0.6)) strategy["overlap"] = overlap();
    return strategy;
  }

  Json attention() {
    const std::vector<std::string> names = sequence::scheme_names();
    const std::string name = sharing_.of(names);
    if (sharing_.chance(0.7)) return name;
    std::vector<sequence::Grid> grids;
    const std::string either = sharing_.word({"loongtrain", "ulysses-2d"});  // heads inside or outside
    for (const std::string& each : {sharing_.coin() ? either : name, sharing_.of(names), sharing_.of(names)}) {
      grids = sequence::scheme(each).grids(cp_);
      if (grids.empty()) continue;
      const sequence::Grid& grid = grids[static_cast<std::size_t>(sharing_.between(0, std::ssize(grids) - 1))];
      Json map{{"scheme", each}};
      if (sharing_.coin()) map["heads"] = grid.head_ranks;
      if (sharing_.coin()) map["grid"] = {grid.rows, grid.columns};
      if (sharing_.coin()) map["window"] = grid.window;
      if (sharing_.coin()) map["heads_inner"] = grid.heads_inner;
      if (sharing_.coin()) map["fp32_gradients"] = sharing_.coin();
      return map;
    }
    return name;
  }

  void experts(Json& strategy) {
    if (draw_.chance(0.6)) {
      // Pipeline stages stand where they stand in the dense mesh: at either end, most of the time.
      std::vector<std::string> order = draw_.shuffled<std::string>({"etp", "ep", "edp"});
      const bool first = strategy.contains("order") && strategy["order"][0] == "pp";
      const bool last = !strategy.contains("order") || strategy["order"][3] == "pp";
      if (pp_ == 1 || first || last || draw_.chance(0.3))
        order.insert(first ? order.begin() : order.end(), "pp");
      else
        order.clear();
      if (!order.empty()) strategy["expert_order"] = order;
    }
    if (model_.moe.is_null()) return;
    const std::int64_t ranks = tp_ * cp_ * dp_;
    std::int64_t ep = 1, etp = 1;
    for (int i = 0; i < 4; ++i) {
      ep = draw_.divisor_of(ranks);
      etp = draw_.divisor_of(ranks / ep);
      if (model_.moe["experts"].get<std::int64_t>() % ep == 0 && model_.moe["ffn"].get<std::int64_t>() % etp == 0)
        break;
      ep = etp = 1;
    }
    if (ep > 1 || draw_.coin()) strategy["ep"] = ep;
    if (etp > 1 || draw_.coin()) strategy["etp"] = etp;
  }

  void stages(Json& strategy) {
    if (layers_ % schedule_.passed != 0 || wanted_.fixed_plan || draw_.chance(0.3)) {
      if (wanted_.fixed_plan || draw_.coin()) {
        const std::vector<std::int64_t> counts = draw_.cut(layers_, schedule_.passed);
        strategy["stages"] = draw_.coin() ? Json(counts) : Json(layout_of(counts));
      } else
        strategy["stages"] = draw_.word({"balanced", "by-weight"});
    } else if (draw_.coin()) {
      strategy["stages"] = "even";
    }
  }

  // The counts as Megatron-LM writes them.
  std::string layout_of(const std::vector<std::int64_t>& counts) {
    std::string layout = "E";
    for (std::size_t stage = 0; stage < counts.size(); ++stage) {
      if (stage > 0) layout += draw_.coin() ? "|" : "|,";
      if (counts[stage] > 2 && draw_.coin())
        layout += fmt::format("t*{}", counts[stage]);
      else if (counts[stage] > 1 && draw_.coin())
        layout += fmt::format("(t)*{}", counts[stage]);
      else
        layout.append(static_cast<std::size_t>(counts[stage]), 't');
    }
    const std::int64_t further =
        model_.model.contains("mtp") ? model_.model["mtp"]["depth"].get<std::int64_t>() : std::int64_t{0};
    return layout.append(static_cast<std::size_t>(further), 'm') + "L";
  }

  Json zero() {
    const bool fragile = pp_ > 1 && !shelf_.frameworks.at(framework_).sharding_with_pipeline;
    std::int64_t stage = draw_.between(0, fragile ? 1 : 3);
    if (schedule_.exchanges) stage = fragile || draw_.coin() ? 0 : 3;
    if (draw_.coin()) return stage;
    Json zero = Json::object();
    if (stage > 0 || draw_.coin()) zero["stage"] = stage;
    if (stage > 0 && draw_.chance(0.3)) {
      const std::int64_t shard = draw_.divisor_of(dp_);
      if (draw_.coin()) zero["shard"] = shard;
      if (!zero.contains("shard") || draw_.coin()) zero["replicate"] = dp_ / shard;
    }
    if (draw_.coin()) zero["prefetch"] = draw_.between(0, 2);
    if (draw_.coin()) zero["reshard_after_forward"] = schedule_.exchanges || schedule_.updates || draw_.coin();
    if (cluster_.host && draw_.coin()) zero["offload"] = offload(stage, zero);
    return zero;
  }

  Json offload(std::int64_t stage, Json& zero) {
    const auto place = [&] { return cluster_.drives && draw_.coin() ? "nvme" : "host"; };
    const bool whole = pp_ == 1 && schedule_.passed == 1;
    const bool parameters = (stage == 0 || stage == 3) && !schedule_.exchanges;
    Json offload = Json::object();
    if (draw_.chance(0.6) && !schedule_.exchanges) {
      std::vector<std::string> policies{"zero-offload", "interleaved"};
      if (parameters && cluster_.drives) policies.push_back("zero-infinity");
      if (parameters && whole) policies.push_back("patrickstar");
      if (parameters) policies.push_back("superpipeline");
      if (cluster_.drives && !schedule_.copies) policies.push_back("fuyou");
      offload["policy"] = draw_.of(policies);
    }
    if (draw_.chance(0.3) && !schedule_.exchanges) offload["optimizer"] = place();
    if (parameters && draw_.chance(0.3)) offload["parameters"] = place();
    if (!schedule_.copies && (offload.empty() || draw_.chance(0.4))) offload["activations"] = place();
    const std::string policy = offload.value("policy", "");
    const bool moves = offload.contains("parameters") || policy == "patrickstar" || policy == "zero-infinity" ||
                       policy == "superpipeline";
    if (moves && zero.contains("reshard_after_forward")) zero["reshard_after_forward"] = true;
    if (moves && whole && (draw_.coin() || wanted_.fixed_plan)) offload["resident"] = draw_.between(0, 4);
    if (draw_.coin()) offload["subgroup"] = draw_.one<Json>({1e6, 1e7, 100e6, 5000});
    if (policy == "interleaved" && (draw_.coin() || wanted_.fixed_plan)) offload["every"] = draw_.between(1, 5);
    return offload;
  }

  Json recompute() {
    if (groups_) return {{"kind", "full"}, {"method", "uniform"}, {"count", draw_.between(1, 3)}};
    const std::string kind = draw_.word({"none", "attention", "selective", "per-op", "full", "full"});
    if (draw_.chance(0.4)) return kind;
    Json recompute = Json::object();
    if (draw_.chance(0.3)) {
      Json& operators = recompute["operators"] = Json::array();
      for (const char* name : {"norm1", "attention", "proj", "norm2", "residual1"})
        if (draw_.chance(0.2)) operators.push_back(name);
      if (operators.empty()) operators.push_back("norm1");
    } else {
      recompute["kind"] = kind;
    }
    if (draw_.chance(0.3)) {
      const std::int64_t first = draw_.between(0, layers_ - 1);
      recompute["layers"] =
          Json::array({draw_.coin() ? fmt::format("{}", first) : fmt::format("{}..{}", first, layers_ - 1)});
    }
    if (draw_.coin()) {
      const bool block = draw_.coin();
      recompute["method"] = block ? "block" : "uniform";
      if (draw_.coin()) recompute["count"] = block ? draw_.between(1, 3) : 1;
    }
    if (draw_.coin()) recompute["share_saved_inputs"] = draw_.coin();
    return recompute;
  }

  Json overlap() {
    Json overlap = Json::object();
    if (draw_.coin()) {
      Json map = Json::object();
      if (draw_.coin()) map["reduce"] = draw_.coin();
      if (draw_.coin()) map["gather"] = draw_.coin();
      if (draw_.coin()) map["bucket"] = draw_.quantity(0.5, 500, "MB");
      overlap["dp"] = draw_.chance(0.3) ? Json(draw_.coin()) : map;
    }
    if (draw_.coin()) {
      Json map = Json::object();
      if (draw_.coin()) map["beside"] = draw_.coin();
      if (draw_.chance(0.6))
        map["kind"] = schedule_.splits ? draw_.word({"chunked", "t3"}) : draw_.word({"chunked", "t3", "iso"});
      if (map.value("kind", "") == "chunked" && draw_.coin()) map["chunks"] = draw_.power_of_two(1, 3);
      overlap["tp"] = draw_.chance(0.3) ? Json(draw_.coin()) : map;
    }
    if (draw_.coin()) overlap["pp"] = draw_.coin();
    if (draw_.coin()) {
      const std::string kind =
          micro_batch_ % 2 == 0 ? draw_.word({"none", "shared", "two-batch"}) : draw_.word({"none", "shared"});
      overlap["ep"] = draw_.chance(0.3) ? Json(draw_.coin()) : Json{{"kind", kind}};
    }
    return overlap;
  }

  Json simulation() {
    Json simulation = Json::object();
    if (draw_.coin()) simulation["contention"] = draw_.coin();
    if (draw_.chance(0.3)) simulation["interference"] = draw_.coin();
    if (draw_.chance(0.3))
      simulation["jitter"] = draw_.coin() ? Json("none") : Json{{"sigma", draw_.one({0.0, 0.05, 0.3})}};
    if (simulation.contains("jitter") && simulation["jitter"].is_object() && draw_.coin())
      simulation["jitter"]["distribution"] = "lognormal";
    if (draw_.chance(0.3)) simulation["seed"] = draw_.between(0, 99);
    if (!draw_.chance(0.15)) return simulation;
    for (std::int64_t i = draw_.between(1, 2); i > 0; --i) {
      Json fault{{"rank", draw_.between(0, cluster_.gpus - 1)}, {"compute", draw_.one({0.5, 0.9, 1.0, 1.5})}};
      if (draw_.coin()) fault["from"] = draw_.quantity(0.1, 100, "ms");
      if (draw_.coin()) fault["until"] = draw_.quantity(200, 5000, "ms");
      simulation["faults"].push_back(fault);
    }
    return simulation;
  }

  Draw draw_;
  Draw sharing_;  // apart, so that plans in which no ranks share sequences stay as they are
  const Shelf& shelf_;
  const Wanted& wanted_;
  DrawnCluster cluster_;
  DrawnSchedule schedule_;
  DrawnModel model_;
  std::string framework_ = "megatron";
  std::string calibration_;  // empty: the accelerator's own
  std::int64_t tp_ = 1, pp_ = 1, dp_ = 1, cp_ = 1, micro_batch_ = 1, layers_ = 1, sequence_ = 1;
  bool groups_ = false;  // layers recompute in groups
};

}  // namespace

Json draw_experiment(std::uint64_t seed, const Shelf& shelf, const Wanted& wanted) {
  return ExperimentDraw(seed, shelf, wanted).result();
}

}  // namespace cairn::laws
