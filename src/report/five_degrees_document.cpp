// What the search for five degrees answers, key by key.
#include "cairn/core/json_text.h"
#include "cairn/report/five_degrees.h"
#include "diagnostic_keys.h"

namespace cairn::report {

using namespace schema;

namespace schema {
namespace {

constexpr const char* k_degrees_schema = "cairn.degrees/1";
constexpr int k_degrees_indent = 2;

// What was found; null where nothing fits.
const allotment::FiveDimensionsAnswer* found_degrees(const Degrees& of) {
  return of.answer.found.best ? &of.answer.found : nullptr;
}

Key<Degrees> degree(const char* name, const char* what, std::int64_t allotment::FiveDimensions::*member) {
  return {name, or_null(count(what)), [member](const auto& of) { return nullable(of.answer.found.best, member); }};
}

const Described<Degrees>& degrees_document_keys() {
  using allotment::FiveDimensions;
  using allotment::FiveDimensionsAnswer;
  static const Described<Degrees> keys{
      {"schema", text(), [](const auto&) { return k_degrees_schema; }},
      {"tool", tool(), [](const auto& of) { return made_by(of.tool); }},
      {"experiment", text("its name"), [](const auto& of) { return of.experiment; }},
      {"accelerators", count("of the cluster"), [](const auto& of) { return of.accelerators; }},
      {"method", text("how the degrees were searched"), [](const auto&) { return "pangu"; }},
      {"time_s", or_null(amount("s, of a step; null: nothing fits")),
       [](const auto& of) { return seconds_of(found_degrees(of), &FiveDimensionsAnswer::time); }},
      {"time_ps", or_null(count("the same in picoseconds, exactly")),
       [](const auto& of) { return nullable(found_degrees(of), &FiveDimensionsAnswer::time); }},
      {"memory_bytes", or_null(amount("bytes of the fullest device at its peak")),
       [](const auto& of) { return nullable(found_degrees(of), &FiveDimensionsAnswer::memory); }},
      {"capacity_bytes", amount("bytes of a device that processes can have"),
       [](const auto& of) { return of.answer.capacity.base(); }},
      {"fits", flag("whether any plan does"), [](const auto& of) { return of.answer.found.best.has_value(); }},
      degree("data", "ranks that hold copies of the parameters", &FiveDimensions::data),
      degree("tensor", "ranks that share each layer", &FiveDimensions::tensor),
      degree("pipeline", "stages of the pipeline", &FiveDimensions::pipeline),
      degree("optimizer", "ranks that shard the optimizer's state among them", &FiveDimensions::optimizer),
      degree("rematerialised", "layers of each stage that run again in backward", &FiveDimensions::rematerialised),
      {"settings",
       texts("of the plan, as --set takes them: cairn run --engine analytic of the experiment with them, after those "
             "that the search was given, takes its time"),
       [](const auto& of) { return of.answer.settings; }},
      {"evaluated", count("plans whose time or memory was asked for"),
       [](const auto& of) { return of.answer.found.evaluated; }},
      {"candidates", count("plans that exist"), [](const auto& of) { return of.answer.found.candidates; }},
      {"refused", or_null(text("why a plan was not allowed, of the first one; null: all were")),
       [](const auto& of) { return nullable(of.answer.refused, &core::Diagnostic::message); }},
      Key<Degrees>{"hint", or_null(text("what would allow that plan")),
                   [](const auto& of) { return hint_of(of.answer.refused); }}
          .left_out(),
      {"assumptions", assumption_list(), [](const auto& of) { return of.answer.assumptions; }},
      {"warnings", warning_list(), [](const auto& of) { return of.warnings; }}};
  return keys;
}

}  // namespace
}  // namespace schema

std::string json(const Degrees& of) {
  return core::json_text(degrees_document_keys().json(of), k_degrees_indent) + "\n";
}

std::string degrees_schema() {
  return core::json_text(document(k_degrees_schema, degrees_document_keys().schema()), k_schema_indent);
}

}  // namespace cairn::report
