#include "cairn/division/layered_plan.h"

#include "cairn/config/read.h"

namespace cairn::division {
namespace {

constexpr std::int64_t k_most_counted = 1 << 20;  // layers, micro-batches, ranks
constexpr std::size_t k_most_stages = 1 << 16;

bool is_answer(const config::Node& file) {
  const config::Node* schema = file.find("schema");
  return schema != nullptr && schema->text == "cairn.layers/1";
}

// Of an answer of ours, the strategy in it.
const config::Node& strategy_in(const config::Node& file) {
  const config::Node* strategy = is_answer(file) ? file.find("strategy") : nullptr;
  return strategy != nullptr ? *strategy : file;
}

// Of an answer without a plan: what it says of that.
core::Diagnostic no_plan(const config::Node& answer, const config::Node& strategy) {
  const auto said = [&](const char* key) {
    const config::Node* node = answer.find(key);
    return node != nullptr && node->is_scalar() ? node->text : std::string();
  };
  const std::string refused = said("refused"), hint = said("hint");
  if (refused.empty())
    return config::error_at(strategy.place, "strategy", "an answer of which nothing fits: there is no plan",
                            "give cairn search --method galvatron more accelerators, or a smaller batch");
  return config::error_at(
      strategy.place, "strategy",
      "an answer in which no way of sharing layers was allowed, so that there is no plan: " + refused,
      hint.empty() ? "change the experiment, and search again" : hint);
}

}  // namespace

void describe(config::Fields& fields, LayerStretch& stretch) {
  fields.count("count", stretch.count,
               {.doc = "consecutive layers, embedding and head among them", .minimum = 1, .maximum = k_most_counted});
  fields.count("tp", stretch.way.tp,
               {.doc = "neighbouring accelerators that share each of them by tensor parallelism; the others of the "
                       "stage hold copies",
                .minimum = 1,
                .maximum = k_most_counted});
  fields.flag("sharded", stretch.way.sharded,
              {.doc = "copies shard parameters, gradients and optimizer state (ZeRO 3); else they share what "
                      "strategy.zero of the experiment says, up to stage 2"});
  fields.flag("recompute", stretch.way.recompute,
              {.doc = "the layers between embedding and head run again in backward instead of keeping activations"});
}

void describe(config::Fields& fields, LayeredStage& stage) {
  fields.objects(
      "layers", stage.layers,
      {.doc = "in order, stretch by stretch", .required = true, .minimum_size = 1, .maximum_size = k_most_stages});
}

void describe(config::Fields& fields, LayeredStrategy& strategy) {
  fields.node("experiment", strategy.experiment,
              {.doc = "its name, {extends: name, overriding keys}, or all of it", .required = true});
  fields.count("micro_batches", strategy.plan.micro_batches,
               {.doc = "equal parts of the batch, one after another through the stages",
                .minimum = 1,
                .maximum = k_most_counted});
  fields.objects("stages", strategy.plan.stages,
                 {.doc = "of the pipeline, in the order of the layers; each has as many accelerators",
                  .required = true,
                  .minimum_size = 1,
                  .maximum_size = k_most_stages});
}

LayeredStage stage_of(const std::vector<LayerWay>& ways) {
  LayeredStage stage;
  for (const LayerWay& way : ways) {
    if (!stage.layers.empty() && stage.layers.back().way == way)
      ++stage.layers.back().count;
    else
      stage.layers.push_back({.count = 1, .way = way});
  }
  return stage;
}

bool holds_layers(const config::Node& file) { return is_answer(file) || file.find("experiment") != nullptr; }

config::Loaded<LayeredStrategy> read_layered(const config::Node& file) {
  core::Diagnostics diagnostics;
  const config::Node& strategy = strategy_in(file);
  if (strategy.is_null()) {
    diagnostics.add(no_plan(file, strategy));
    diagnostics.raise_if_errors();
  }
  config::Loaded<LayeredStrategy> result = config::read_loaded<LayeredStrategy>(strategy, {}, diagnostics);
  diagnostics.raise_if_errors();
  return result;
}

}  // namespace cairn::division
