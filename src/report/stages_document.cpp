// What a staged network answers, key by key.
#include "cairn/config/read.h"
#include "cairn/core/json_text.h"
#include "cairn/report/stages.h"
#include "described.h"

namespace cairn::report {

using namespace schema;

namespace schema {
namespace {

constexpr const char* k_stages_schema = "cairn.stages/1";
constexpr int k_stages_indent = 2;

// A stage as priced, and as written.
struct WrittenStage {
  const splits::PlacedStage& priced;
  const splits::StageStrategy& written;
};

const Described<WrittenStage>& written_stage_keys() {
  static const Described<WrittenStage> keys{
      {"first", text("its first operator"), [](const auto& of) { return of.written.placements.front().first; }},
      {"last", text("its last operator"), [](const auto& of) { return of.written.placements.back().first; }},
      {"axes", described(list_of(count()), "devices along each axis"), [](const auto& of) { return of.written.axes; }},
      {"time_s", amount("s, of one micro-batch, forward and backward"),
       [](const auto& of) { return core::to_seconds(of.priced.time); }},
      {"memory_bytes", amount("bytes of a device"), [](const auto& of) { return of.priced.memory; }}};
  return keys;
}

std::vector<WrittenStage> written_stages(const Stages& of) {
  std::vector<WrittenStage> result;
  for (std::size_t i = 0; of.answer != nullptr && i < of.answer->stages.size(); ++i)
    result.push_back({.priced = of.answer->stages[i], .written = of.strategy.stages[i]});
  return result;
}

const Described<Stages>& stages_document_keys() {
  static const Described<Stages> keys{
      {"schema", text(), [](const auto&) { return k_stages_schema; }},
      {"tool", tool(), [](const auto& of) { return made_by(of.tool); }},
      {"cluster", text("its name"), [](const auto& of) { return of.cluster; }},
      {"time_s", or_null(amount("s, of a step under 1F1B, without the update of the parameters; null: nothing fits")),
       [](const auto& of) { return seconds_of(of.answer, &splits::NetworkStages::time); }},
      {"time_ps", or_null(count("the same in picoseconds, exactly")),
       [](const auto& of) { return nullable(of.answer, &splits::NetworkStages::time); }},
      {"planned_s",
       or_null(amount("s, the stages' times and the longest for every further micro-batch: what is searched")),
       [](const auto& of) { return seconds_of(of.answer, &splits::NetworkStages::planned); }},
      {"memory_bytes",
       or_null(amount("bytes of the fullest device: parameters, gradients, Adam's state and saved tensors")),
       [](const auto& of) { return nullable(of.answer, &splits::NetworkStages::memory); }},
      {"capacity_bytes", amount("bytes that a device has for that"), [](const auto& of) { return of.capacity.base(); }},
      {"fits", flag("whether it has"), [](const auto& of) { return of.fits(); }},
      {"method", or_null(text("how the stages were searched; null: they were given")),
       [](const auto& of) { return of.searched() ? Json("alpa") : Json(); }},
      {"stages_priced", or_null(count("stages whose placements were searched")),
       [](const auto& of) { return nullable(of.answer, &splits::NetworkStages::priced); }},
      {"stages", described(list_of(written_stage_keys().schema()), "in the order of the network"),
       [](const auto& of) { return written_stage_keys().list(written_stages(of)); }},
      {"strategy",
       described(or_null(Json{{"type", "object"}}),
                 "what ran, as `cairn schema placements` describes it: cairn run "
                 "--strategy-file takes it, and this document, again"),
       [](const auto& of) { return of.answer != nullptr ? Json::parse(config::to_json(of.strategy, -1)) : Json(); }},
      {"assumptions", assumption_list(), [](const auto& of) { return of.assumptions; }},
      {"warnings", warning_list(), [](const auto& of) { return of.warnings; }}};
  return keys;
}

}  // namespace
}  // namespace schema

std::string json(const Stages& of) { return core::json_text(stages_document_keys().json(of), k_stages_indent) + "\n"; }

std::string stages_schema() {
  return core::json_text(document(k_stages_schema, stages_document_keys().schema()), k_schema_indent);
}

}  // namespace cairn::report
