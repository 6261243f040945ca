// What a plan with ways of its own for each layer answers, key by key.
#include "cairn/config/read.h"
#include "cairn/core/json_text.h"
#include "cairn/report/layered.h"
#include "diagnostic_keys.h"

namespace cairn::report {

using namespace schema;

namespace schema {
namespace {

constexpr const char* k_layered_schema = "cairn.layers/1";
constexpr int k_layered_indent = 2;

// Consecutive layers with what a document says of them.
struct WrittenStretch {
  const division::LayerStretch& stretch;
  std::int64_t devices = 1;  // of the stage
  std::string first = {};
  std::string last = {};
};

struct WrittenLayers {
  std::size_t number = 1;
  const division::PricedStage& priced;
  std::vector<WrittenStretch> stretches = {};
};

const Described<WrittenStretch>& stretch_keys() {
  static const Described<WrittenStretch> keys{
      {"first", text("its first layer"), [](const auto& of) { return of.first; }},
      {"last", text("its last layer"), [](const auto& of) { return of.last; }},
      {"count", count("of its layers"), [](const auto& of) { return of.stretch.count; }},
      {"tp", count("accelerators that share each of them"), [](const auto& of) { return of.stretch.way.tp; }},
      {"dp", count("copies, which take different sequences"),
       [](const auto& of) { return of.devices / of.stretch.way.tp; }},
      {"sharded", flag("whether the copies shard parameters, gradients and optimizer state"),
       [](const auto& of) { return of.stretch.way.sharded; }},
      {"recompute", flag("whether the layers run again in backward"),
       [](const auto& of) { return of.stretch.way.recompute; }}};
  return keys;
}

const Described<WrittenLayers>& written_layers_keys() {
  static const Described<WrittenLayers> keys{
      {"stage", count("of the pipeline, from 1 on"), [](const auto& of) { return of.number; }},
      {"forward_s", amount("s, of one micro-batch, changes between its layers included"),
       [](const auto& of) { return core::to_seconds(of.priced.forward); }},
      {"backward_s", amount("s, of one micro-batch, changes between its layers included"),
       [](const auto& of) { return core::to_seconds(of.priced.backward); }},
      {"once_s",
       amount("s, of exchanging gradients and parameters once a step, without what passes hide, and of the update"),
       [](const auto& of) { return core::to_seconds(of.priced.once); }},
      {"memory_bytes", amount("bytes of a device"), [](const auto& of) { return of.priced.memory; }},
      {"layers", described(list_of(stretch_keys().schema()), "in order, those of one way together"),
       [](const auto& of) { return stretch_keys().list(of.stretches); }}};
  return keys;
}

std::vector<WrittenLayers> written_stages_of(const Layered& of) {
  std::vector<WrittenLayers> result;
  if (of.answer == nullptr) return result;
  const std::vector<division::LayeredStage>& stages = of.strategy.plan.stages;
  const std::int64_t devices = of.accelerators / std::max<std::int64_t>(std::ssize(stages), 1);
  std::size_t layer = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    WrittenLayers& written = result.emplace_back(WrittenLayers{.number = i + 1, .priced = of.answer->stages[i]});
    for (const division::LayerStretch& stretch : stages[i].layers) {
      const std::size_t last = layer + static_cast<std::size_t>(stretch.count) - 1;
      written.stretches.push_back(
          {.stretch = stretch, .devices = devices, .first = of.layers.name(layer), .last = of.layers.name(last)});
      layer = last + 1;
    }
  }
  return result;
}

const Described<division::LayeredAnswer>& uniform_keys() {
  static const Described<division::LayeredAnswer> keys{
      {"stages", count("of the pipeline"), [](const auto& of) { return of.plan.stages.size(); }},
      {"micro_batches", count("of the batch"), [](const auto& of) { return of.plan.micro_batches; }},
      {"tp", count("accelerators that share each layer"),
       [](const auto& of) { return of.plan.stages.front().layers.front().way.tp; }},
      {"sharded", flag("whether copies shard parameters, gradients and optimizer state"),
       [](const auto& of) { return of.plan.stages.front().layers.front().way.sharded; }},
      {"recompute", flag("whether layers run again in backward"),
       [](const auto& of) { return of.plan.stages.front().layers.front().way.recompute; }},
      {"time_s", amount("s, of a step"), [](const auto& of) { return core::to_seconds(of.priced.time); }},
      {"memory_bytes", amount("bytes of the fullest device"), [](const auto& of) { return of.priced.memory; }}};
  return keys;
}

// Why the first way of a search was not allowed; null where some were.
const core::Diagnostic* refusal(const Layered& of) {
  return of.search != nullptr && of.search->refused ? &*of.search->refused : nullptr;
}

const Described<Layered>& layered_document_keys() {
  static const Described<Layered> keys{
      {"schema", text(), [](const auto&) { return k_layered_schema; }},
      {"tool", tool(), [](const auto& of) { return made_by(of.tool); }},
      {"experiment", text("its name"), [](const auto& of) { return of.experiment; }},
      {"accelerators", count("of the cluster"), [](const auto& of) { return of.accelerators; }},
      {"sequences", count("of a step"), [](const auto& of) { return of.sequences; }},
      {"time_s", or_null(amount("s, of a step under 1F1B; null: nothing fits")),
       [](const auto& of) { return seconds_of(of.answer, &division::PricedPlan::time); }},
      {"time_ps", or_null(count("the same in picoseconds, exactly")),
       [](const auto& of) { return nullable(of.answer, &division::PricedPlan::time); }},
      {"memory_bytes",
       or_null(amount("bytes of the fullest device: state, what micro-batches under way keep, and the "
                      "most that lives within a pass")),
       [](const auto& of) { return nullable(of.answer, &division::PricedPlan::memory); }},
      {"capacity_bytes", amount("bytes that a device has for that"), [](const auto& of) { return of.capacity.base(); }},
      {"fits", flag("whether it has"), [](const auto& of) { return of.fits(); }},
      {"method", or_null(text("how the ways of layers were searched; null: they were given")),
       [](const auto& of) { return of.search != nullptr ? Json("galvatron") : Json(); }},
      {"pipelines", or_null(count("numbers of stages and of micro-batches whose layers were searched")),
       [](const auto& of) { return nullable(of.search, &division::LayeredSearch::pipelines); }},
      {"ways", or_null(count("ways of sharing a layer that were compared")),
       [](const auto& of) { return nullable(of.search, &division::LayeredSearch::ways); }},
      {"refused", or_null(text("why no way of sharing a layer was allowed, of the first one; null: some were")),
       [](const auto& of) { return nullable(refusal(of), &core::Diagnostic::message); }},
      Key<Layered>{"hint", or_null(text("what would allow that way")),
                   [](const auto& of) { return hint_of(refusal(of)); }}
          .left_out(),
      {"uniform",
       described(or_null(uniform_keys().schema()),
                 "the fastest plan with one way for all layers, by the same costs; null: none fits, or "
                 "nothing was searched"),
       [](const auto& of) {
         return of.search != nullptr && of.search->uniform ? uniform_keys().json(*of.search->uniform) : Json();
       }},
      {"stages", described(list_of(written_layers_keys().schema()), "in the order of the layers"),
       [](const auto& of) { return written_layers_keys().list(written_stages_of(of)); }},
      {"strategy",
       described(or_null(Json{{"type", "object"}}),
                 "what ran, as `cairn schema layers` describes it: cairn run --strategy-file takes it, and this "
                 "document, again"),
       [](const auto& of) { return of.answer != nullptr ? Json::parse(config::to_json(of.strategy, -1)) : Json(); }},
      {"assumptions", assumption_list(), [](const auto& of) { return of.assumptions; }},
      {"warnings", warning_list(), [](const auto& of) { return of.warnings; }}};
  return keys;
}

}  // namespace
}  // namespace schema

std::string json(const Layered& of) {
  return core::json_text(layered_document_keys().json(of), k_layered_indent) + "\n";
}

std::string layered_schema() {
  return core::json_text(document(k_layered_schema, layered_document_keys().schema()), k_schema_indent);
}

}  // namespace cairn::report
